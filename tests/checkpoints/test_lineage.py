"""The lineage of a secure learner: its latest state goes on, an older one only as a rollback that is certified."""

import os
import shutil

import numpy as np
import pytest
from loss_sets import box_losses
from playing import play

import decision_sets as ds
import dpcvx
from dpcvx import FTRL, CheckpointError

STREAM = np.random.default_rng(0).uniform(-1, 1, (40, 5))


def test_saving_after_every_loss_never_needs_a_rollback(tmp_path):
    path = tmp_path / "state"
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0)
    dpcvx.save(learner, path)
    for loss in STREAM[:15]:
        learner = dpcvx.load(path)  # as after a crash
        learner.act()
        learner.update(loss)
        dpcvx.save(learner, path)
    assert dpcvx.load(path).rounds == 15


def test_a_state_is_not_continued_twice(tmp_path):
    path = tmp_path / "state"
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0)
    play(learner, STREAM[:10])
    dpcvx.save(learner, path)
    twin = dpcvx.load(path)
    play(learner, STREAM[10:12])  # new noise was released that the checkpoint does not hold
    with pytest.raises(CheckpointError, match="generation"):
        dpcvx.load(path)
    twin.act()
    twin.update(STREAM[10])
    with pytest.raises(CheckpointError, match="another learner"):
        twin.act()
    with pytest.raises(CheckpointError, match="another learner"):
        dpcvx.save(twin, path)


def test_an_older_copy_is_refused_and_a_rollback_is_certified(tmp_path):
    path = tmp_path / "state"
    for options, twice in (({}, 2.0), ({"delta": 1e-6}, None)):
        learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0, **options)
        play(learner, STREAM[:5])
        dpcvx.save(learner, path)
        shutil.copy(path, tmp_path / "old")
        play(learner, STREAM[5:10])
        dpcvx.save(learner, path)
        shutil.copy(tmp_path / "old", path)
        with pytest.raises(CheckpointError, match="exists"):
            dpcvx.load(path)
        back = dpcvx.load(path, allow_rollback=True)
        certificate = back.certificate
        assert "rollback" in str(certificate)
        assert certificate.epsilon == twice if twice else 1.0 < certificate.epsilon < 2.0
        (tmp_path / "state.generation").unlink()
        with pytest.raises(CheckpointError, match="side file"):
            dpcvx.load(path)


def test_a_checkpoint_in_another_place_is_outdated_too(tmp_path):
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0)
    dpcvx.save(learner, tmp_path / "first")
    play(learner, STREAM[:4])
    dpcvx.save(learner, tmp_path / "second")
    play(learner, STREAM[4:6])
    dpcvx.save(learner, tmp_path / "second")
    with pytest.raises(CheckpointError, match="generation"):
        dpcvx.load(tmp_path / "first")
    assert dpcvx.load(tmp_path / "second").rounds == 6


def test_a_simulation_may_be_loaded_as_often_as_wanted(tmp_path):
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0, seed=1)
    dpcvx.save(learner, tmp_path / "state")
    runs = [play(dpcvx.load(tmp_path / "state"), STREAM) for _ in range(2)]
    assert np.array_equal(*runs)


def test_every_rollback_from_one_file_is_counted(tmp_path):
    path = tmp_path / "state"
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0)
    play(learner, STREAM[:3])
    dpcvx.save(learner, path)
    play(learner, STREAM[3:6])
    epsilons = [dpcvx.load(path, allow_rollback=True).certificate.epsilon for _ in range(3)]
    assert epsilons == [2.0, 3.0, 4.0]


def test_a_failed_save_does_not_open_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "state"
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0)
    dpcvx.save(learner, path)
    play(learner, STREAM[:1])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            dpcvx.save(learner, path)
    learner.act()  # an action that no checkpoint holds
    with pytest.raises(CheckpointError, match="exists"):
        dpcvx.load(path)
    learner.update(STREAM[1])
    dpcvx.save(learner, path)
    assert dpcvx.load(path).rounds == 2
