"""Checkpoints: resumed equals uninterrupted, damage is noticed, a secure state is not played twice."""

import copy
import os
import pickle
import shutil
import stat
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
import dpcvx
from dpcvx import FTPL, FTRL, CheckpointError, DecisionSet
from dpcvx.checkpoints import checkpoint


def polytope():
    x = cp.Variable(5, nonneg=True, name="x")
    return DecisionSet(x, [cp.sum(x) == 1, x[0] <= 0.4, x[1] + x[2] <= 0.7])


SETS = {"simplex": lambda: ds.simplex(5), "polytope": polytope, "ball": lambda: ds.norm_ball(5, 2)}
STREAM = np.random.default_rng(0).uniform(-1, 1, (40, 5))


def play(learner, stream):
    actions = []
    for loss in stream:
        actions.append(learner.act())
        learner.update(loss)
    return np.array(actions)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("make", [FTRL, FTPL])
@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 1.0},
        {"epsilon": 1.0, "counter": "tree"},
        {"epsilon": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "replicas": 3},
        {},
    ],
)
@pytest.mark.parametrize("horizon", [40, None])
def test_a_resumed_learner_equals_an_uninterrupted_one(tmp_path, name, make, options, horizon):
    X, Y = SETS[name](), box_losses(5)
    whole = play(make(X, Y, horizon, seed=3, **options), STREAM)
    learner = make(X, Y, horizon, seed=3, **options)
    parts = []
    for start in range(0, 40, 13):
        parts.append(play(learner, STREAM[start : start + 13]))
        dpcvx.save(learner, tmp_path / "state")
        learner = dpcvx.load(tmp_path / "state")
    assert np.array_equal(np.concatenate(parts), whole)
    assert learner.certificate.rounds == 40


def test_the_barrier_resumes_too(tmp_path):
    X, Y = ds.cube(5), box_losses(5)
    whole = play(FTRL(X, Y, 40, epsilon=1.0, seed=3, regularizer="barrier", replicas=2), STREAM)
    learner = FTRL(X, Y, 40, epsilon=1.0, seed=3, regularizer="barrier", replicas=2)
    first = play(learner, STREAM[:20])
    dpcvx.save(learner, tmp_path / "state")
    assert np.array_equal(np.concatenate([first, play(dpcvx.load(tmp_path / "state"), STREAM[20:])]), whole)


def test_a_checkpoint_between_act_and_update_keeps_the_turn(tmp_path):
    learner = FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0, seed=1)
    learner.act()
    dpcvx.save(learner, tmp_path / "state")
    with pytest.raises(dpcvx.ProtocolError):
        dpcvx.load(tmp_path / "state").act()


def test_files_are_for_their_owner_and_leave_nothing_behind(tmp_path):
    old = os.umask(0)
    try:
        dpcvx.save(FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0), tmp_path / "state")
    finally:
        os.umask(old)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state", "state.generation"]
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in tmp_path.iterdir())


def test_an_interrupted_write_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    learner = FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0, seed=1)
    dpcvx.save(learner, tmp_path / "state")
    before = (tmp_path / "state").read_bytes()
    play(learner, STREAM[:3])

    def fails(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        dpcvx.save(learner, tmp_path / "state")
    assert [file.name for file in tmp_path.iterdir()] == ["state"] and (tmp_path / "state").read_bytes() == before


def test_damage_and_other_formats_are_noticed(tmp_path):
    path = tmp_path / "state"
    dpcvx.save(FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0, seed=1), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(CheckpointError, match="checksum"):
        dpcvx.load(path)
    path.write_bytes(whole.replace(b'"format": 2', b'"format": 9', 1))
    with pytest.raises(CheckpointError, match="format 9"):
        dpcvx.load(path)
    path.write_bytes(b"hello")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        dpcvx.load(path)


def test_an_own_oracle_that_cannot_be_written_is_named(tmp_path):
    x = cp.Variable(3, name="x")
    X = DecisionSet(x, [cp.abs(x) <= 1], oracle=lambda c: -np.sign(c))
    with pytest.raises(CheckpointError, match="lambda"):
        dpcvx.save(FTPL(X, box_losses(3), 10, epsilon=1.0, seed=0), tmp_path / "state")


@pytest.mark.parametrize("options", [{}, {"delta": 1e-6}])
def test_a_secure_learner_resumes_with_the_release_it_had(tmp_path, options):
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0, **options)
    play(learner, STREAM[:10])
    dpcvx.save(learner, tmp_path / "state")
    resumed = dpcvx.load(tmp_path / "state")
    assert np.array_equal(resumed.act(), learner.act())  # the same release, not a second one
    resumed.update(STREAM[10])
    play(resumed, STREAM[11:])
    assert resumed.certificate.epsilon == 1.0 and resumed.rounds == 40


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


def test_secure_learners_are_not_copied_and_simulations_are(tmp_path):
    secure = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(copy.Error):
            attempt(secure)
    simulated = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0, seed=1)
    twin = copy.copy(simulated)
    assert np.array_equal(play(simulated, STREAM[:5]), play(twin, STREAM[:5]))


def test_files_of_another_kind_and_odd_headers_are_named(tmp_path):
    path = tmp_path / "state"
    checkpoint.write(path, 1, "simulation")
    with pytest.raises(CheckpointError, match="holds a simulation"):
        dpcvx.load(path)
    for header in (b"{}", b"[1]", b"hello"):
        path.write_bytes(b"dpcvx checkpoint\n" + header + b"\n")
        with pytest.raises(CheckpointError):
            dpcvx.load(path)
    with pytest.raises(CheckpointError, match="folder"):
        dpcvx.load(tmp_path)


def test_an_interruption_after_the_loss_was_taken_does_not_take_it_twice(monkeypatch):
    """Whose turn it is follows from the sums: a retry after an interruption at the end is refused."""
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0, seed=0)
    learner.act()
    original = type(learner)._learn

    def interrupted(self, feedback):
        original(self, feedback)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(learner), "_learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.update(STREAM[0])
    with pytest.raises(dpcvx.ProtocolError, match="call act first"):
        learner.update(STREAM[0])
    assert learner.rounds == 1 and learner.decision_set.contains(learner.act())


def test_an_interruption_while_an_epoch_opens_changes_nothing(monkeypatch):
    plain, disturbed = (FTRL(ds.simplex(5), box_losses(5), None, epsilon=1.0, seed=0) for _ in range(2))
    play(plain, STREAM[:16])
    play(disturbed, STREAM[:16])
    with monkeypatch.context() as patch:
        patch.setattr(FTRL, "_epoch_bound", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            disturbed.act()
    assert np.array_equal(play(plain, STREAM[16:]), play(disturbed, STREAM[16:]))
    assert plain.regret_bound == disturbed.regret_bound and plain.learning_rate == disturbed.learning_rate


def test_a_fork_is_refused_at_the_end_of_an_epoch_too(monkeypatch):
    learner = FTRL(ds.simplex(5), box_losses(5), None, epsilon=1.0)
    play(learner, STREAM[:15])
    learner.act()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="fork"):
        learner.update(STREAM[15])
    with pytest.raises(RuntimeError, match="fork"):
        learner._sums.prefix  # noqa: B018


def test_a_secure_checkpoint_goes_on_in_another_process(tmp_path):
    learner = FTRL(ds.simplex(5), box_losses(5), None, epsilon=1.0)
    play(learner, STREAM[:10])
    dpcvx.save(learner, tmp_path / "state")
    code = (
        "import sys, numpy as np, dpcvx\n"
        "learner = dpcvx.load(sys.argv[1])\n"
        "for _ in range(10):\n    learner.act()\n    learner.update(np.zeros(5))\n"
        "print(learner.rounds, learner.certificate.epsilon)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "state")]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.stdout == "20 1.0\n", answer.stderr
