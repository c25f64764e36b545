"""The lineage of a secure learner: its latest state goes on, an older one only as a rollback that is certified."""

import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
from loss_sets import box_losses
from playing import play

import decision_sets as ds
import dpcvx
from dpcvx import FTRL, CheckpointError, Exp2, PrivateBandit, ProtocolError
from dpcvx.checkpoints.lineage import Lineage, _folders
from dpcvx.privacy.feedback import SecureFeedback
from dpcvx.privacy.noise.sources import SecureSource

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


def learner_after(rounds):
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0)
    play(learner, STREAM[:rounds])
    return learner


def files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


FORKED = """
import os, sys
import numpy as np
import decision_sets as ds
import dpcvx
import cvxpy as cp

loss = cp.Variable(2, name="loss")
X, Y = ds.simplex(2), dpcvx.LossSet(loss, [cp.abs(loss) <= 1])
for learner in (dpcvx.FTRL(X, Y, 9, epsilon=1.0), dpcvx.PrivateBandit(dpcvx.Exp2(X, Y, 9), 1.0, batch=1)):
    learner.act()
    learner.update(np.zeros(2) if learner.sees == "loss" else 0.0)
    if os.fork() == 0:
        for call in (lambda: dpcvx.save(learner, sys.argv[1]), learner.act):
            try:
                call()
                print("passed", flush=True)
            except dpcvx.ProtocolError as error:
                print(error, flush=True)
        os._exit(0)
    os.wait()
    learner.act()
    print(os.listdir(os.path.dirname(sys.argv[1])), flush=True)
"""


def test_a_forked_child_cannot_save(tmp_path):
    """A child saved the state that its parent plays on from; loaded, it released it a second time."""
    command = [sys.executable, "-c", FORKED, str(tmp_path / "state")]
    answer = subprocess.run(command, capture_output=True, text=True)
    refused = "A private learner was used after a fork; its state would be released twice. Make one in each process."
    assert answer.stdout.splitlines() == [refused, refused, "[]"] * 2, answer.stderr


def test_nothing_passes_the_lineage_after_a_fork_and_a_loaded_one_is_at_home(tmp_path, monkeypatch):
    learner = learner_after(2)
    dpcvx.save(learner, tmp_path / "state")
    before = files(tmp_path)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for call in (
        lambda: dpcvx.save(learner, tmp_path / "state"),
        lambda: learner.lineage.before_action(2),
        learner.lineage.before_release,
    ):
        with pytest.raises(ProtocolError, match="after a fork"):
            call()
    assert files(tmp_path) == before
    pickle.loads(pickle.dumps(learner.lineage)).guard.check()
    dpcvx.save(dpcvx.load(tmp_path / "state"), tmp_path / "state")


def move(folder):
    (folder / "other").mkdir()
    for name in ("state", "state.generation"):
        (folder / name).rename(folder / "other" / "moved".join(name.split("state")))
    return folder / "other" / "moved"


def remove(folder):
    for name in ("state", "state.generation"):
        (folder / name).unlink()


def remove_mark(folder):
    (folder / "state.generation").unlink()


def move_folder(folder):
    folder.rename(folder.with_name("moved"))
    return folder.with_name("moved") / "state"


def remove_folder(folder):
    shutil.rmtree(folder)


@pytest.mark.parametrize("happens", [move, remove, remove_mark, move_folder, remove_folder])
@pytest.mark.parametrize("losses", [0, 1])
def test_a_learner_whose_mark_is_gone_stops(tmp_path, happens, losses):
    """A checkpoint that was moved could be loaded, while the learner that had been saved in it went on."""
    folder = tmp_path / "folder"
    folder.mkdir()
    learner = learner_after(3)
    dpcvx.save(learner, folder / "state")
    play(learner, STREAM[3 : 3 + losses])
    moved = happens(folder)
    for _ in range(2):
        with pytest.raises(CheckpointError, match=r"state\.generation is missing: .* releases nothing more\.$"):
            learner.act()
    if folder.exists() and losses:
        for name in ("state", "elsewhere"):
            with pytest.raises(CheckpointError, match="is missing"):
                dpcvx.save(learner, folder / name)
    if moved is not None:
        loaded = dpcvx.load(moved)
        play(loaded, STREAM[3:6])
        dpcvx.save(loaded, moved)
        assert dpcvx.load(moved).rounds == 6 and loaded.certificate.epsilon == 1.0


def test_a_mark_that_comes_back_lets_the_learner_go_on(tmp_path):
    learner = learner_after(3)
    dpcvx.save(learner, tmp_path / "state")
    mark = tmp_path / "state.generation"
    mark.rename(tmp_path / "away")
    with pytest.raises(CheckpointError, match="is missing"):
        learner.act()
    (tmp_path / "away").rename(mark)
    assert len(play(learner, STREAM[3:])) == 37


def test_old_checkpoints_may_be_removed_once_they_are_outdated(tmp_path):
    learner = learner_after(1)
    for k in range(4):
        dpcvx.save(learner, tmp_path / f"state-{k}")
        play(learner, STREAM[k : k + 2])
        for name in (f"state-{k}", f"state-{k}.generation"):
            (tmp_path / name).unlink()
    dpcvx.save(learner, tmp_path / "state-0")
    assert learner.rounds == dpcvx.load(tmp_path / "state-0").rounds == 9


def test_a_copy_of_both_files_goes_on_once_while_the_original_is_there(tmp_path):
    dpcvx.save(learner_after(3), tmp_path / "state")
    for name in ("state", "state.generation"):
        shutil.copy(tmp_path / name, tmp_path / "copy".join(name.split("state")))
    first, second = dpcvx.load(tmp_path / "copy"), dpcvx.load(tmp_path / "state")
    play(first, STREAM[3:5])
    with pytest.raises(CheckpointError, match="another learner"):
        play(second, STREAM[3:5])


def test_a_new_learner_in_an_old_place_does_not_open_the_old_checkpoint(tmp_path):
    """Its mark was removed, so that numbers would start again below those of the old file."""
    path = tmp_path / "state"
    old = learner_after(0)
    for k in range(4):
        dpcvx.save(old, path)
        play(old, STREAM[k : k + 1])
    play(old, STREAM[4:6])
    shutil.copy(path, tmp_path / "kept")
    (tmp_path / "state.generation").unlink()
    dpcvx.save(learner_after(1), path)
    shutil.copy(tmp_path / "kept", path)
    with pytest.raises(CheckpointError, match="belongs to another checkpoint"):
        dpcvx.load(path)


def bandit_saved_before_a_release(path, batch):
    learner = PrivateBandit(Exp2(ds.simplex(3), box_losses(3), 12), 1.0, batch=batch)
    for _ in range(batch - 1):
        learner.act()
        learner.update(0.5)
    learner.act()
    dpcvx.save(learner, path)


@pytest.mark.parametrize("batch", [1, 3])
def test_two_loads_of_one_bandit_do_not_both_release_in_an_update(tmp_path, monkeypatch, batch):
    """Each gave the learner inside a release of the same sum; the lineage was asked at the next action only."""
    bandit_saved_before_a_release(tmp_path / "state", batch)
    releases = []
    release = SecureFeedback.release
    monkeypatch.setattr(SecureFeedback, "release", lambda *given: (releases.append(given), release(*given))[1])
    first, second = (dpcvx.load(tmp_path / "state") for _ in range(2))
    first.update(0.5)
    before = (second.rounds, second._turn)
    with pytest.raises(CheckpointError, match="another learner"):
        second.update(0.5)
    assert (second.rounds, second._turn) == before and len(releases) == 1
    with pytest.raises(CheckpointError, match="exists"):
        dpcvx.load(tmp_path / "state")
    first.act()
    assert first.rounds == batch


def test_that_two_loads_would_be_noticed(tmp_path, monkeypatch):
    bandit_saved_before_a_release(tmp_path / "state", 1)
    first, second = (dpcvx.load(tmp_path / "state") for _ in range(2))
    monkeypatch.setattr(Lineage, "before_release", lambda _: None)
    first.update(0.5)
    second.update(0.5)


def test_feedback_that_releases_nothing_outdates_nothing(tmp_path):
    learner = PrivateBandit(Exp2(ds.simplex(3), box_losses(3), 6), 1.0, batch=3)
    for t in range(6):
        learner.act()
        dpcvx.save(learner, tmp_path / "state")
        learner.update(0.5)
        if t in (2, 3, 4, 5):
            outdated = not learner.lineage.places[str((tmp_path / "state").resolve())].open
            assert outdated == (t == 2)  # the feedback of the last batch is released nowhere


def test_a_rollback_goes_on_though_the_state_was_saved_elsewhere_too(tmp_path):
    learner = learner_after(2)
    for name in ("first", "second"):
        dpcvx.save(learner, tmp_path / name)
    play(learner, STREAM[2:5])
    back = dpcvx.load(tmp_path / "second", allow_rollback=True)
    play(back, STREAM[2:6])
    assert back.rounds == 6 and back.certificate.epsilon == 2.0


@pytest.mark.parametrize("end", ["horizon", "interruption"])
def test_a_learner_that_cannot_act_outdates_no_checkpoint(tmp_path, monkeypatch, end):
    """Its refusal came after its checkpoint had been outdated, and the state was lost with it."""
    learner = FTRL(ds.simplex(5), box_losses(5), 4 if end == "horizon" else 8, epsilon=1.0)
    play(learner, STREAM[:3])
    learner.act()
    dpcvx.save(learner, tmp_path / "state")
    if end == "interruption":
        with monkeypatch.context() as patch:
            patch.setattr(SecureSource, "draw", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                learner.update(STREAM[3])
    else:
        learner.update(STREAM[3])
    with pytest.raises((ProtocolError, dpcvx.HorizonError)):
        learner.act()
    loaded = dpcvx.load(tmp_path / "state")
    loaded.update(STREAM[3])
    assert loaded.rounds == 4


def over(folder, source, target):
    for suffix in ("", ".generation"):
        (folder / f"{source}{suffix}").replace(folder / f"{target}{suffix}")


def test_a_checkpoint_moved_over_another_of_its_learner_is_refused(tmp_path):
    """The other one had been continued, which only the side file knew that was overwritten."""
    learner = learner_after(2)
    dpcvx.save(learner, tmp_path / "first")
    other = dpcvx.load(tmp_path / "first")
    dpcvx.save(learner, tmp_path / "second")
    play(other, STREAM[2:5])
    over(tmp_path, "second", "first")
    with pytest.raises(CheckpointError, match="it lies over another checkpoint of its learner"):
        dpcvx.load(tmp_path / "first")
    assert dpcvx.load(tmp_path / "first", allow_rollback=True).certificate.epsilon == 2.0


def test_a_checkpoint_may_be_moved_there_and_back(tmp_path):
    dpcvx.save(learner_after(2), tmp_path / "first")
    for source, target in (("first", "second"), ("second", "first")) * 2:
        over(tmp_path, source, target)
        dpcvx.save(dpcvx.load(tmp_path / target), tmp_path / target)
    play(dpcvx.load(tmp_path / "first"), STREAM[2:])


def test_a_learner_that_may_not_go_on_keeps_no_other_from_it(tmp_path):
    """It saved over a checkpoint of the other, or outdated the first of two before it found the second taken."""
    learner = learner_after(2)
    dpcvx.save(learner, tmp_path / "first")
    twin = dpcvx.load(tmp_path / "first")
    for each in (learner, twin):
        dpcvx.save(each, tmp_path / "second")
    before = files(tmp_path)
    for call in (lambda: play(learner, STREAM[2:5]), lambda: dpcvx.save(learner, tmp_path / "first")):
        with pytest.raises(CheckpointError, match="second was continued by another learner"):
            call()
    assert files(tmp_path) == before
    play(twin, STREAM[2:5])


def test_one_folder_under_two_names_is_locked_once(tmp_path):
    (tmp_path / "folder").mkdir()
    learner = learner_after(1)
    for name in ("first", "second"):
        dpcvx.save(learner, tmp_path / "folder" / name)
    names = ["folder/first", "folder/second", "folder/../folder/first", "nowhere/state"]
    assert len(_folders([f"{tmp_path}/{name}" for name in names])) == 1  # who waits for himself waits forever
    play(learner, STREAM[1:4])
