"""Whatever interrupts a save or an outdating: of the learner and all its checkpoints one goes on, and one can."""

import itertools
import os
from contextlib import suppress

import numpy as np
import pytest
from loss_sets import box_losses
from state_tree import Miniature, StateTree, failing

import decision_sets as ds
import dpcvx
from dpcvx import FTRL, CheckpointError
from dpcvx.checkpoints.lineage import Lineage

LOSS = np.array([1.0, -0.5])
FAULTS = [OSError("disk full"), KeyboardInterrupt()]


class Scene:
    """A learner, two places for its checkpoints, and the states that were released."""

    def __init__(self, folder, make=Miniature):
        self.tree = StateTree()
        self.learner = self.tree.root(make())
        folder.mkdir()
        self.first, self.second = folder / "first", folder / "second"

    def save(self, path):
        dpcvx.save(self.learner, path)

    def round(self, learner=None):
        learner = learner or self.learner
        self.tree.act(learner)
        self.tree.update(learner, LOSS)

    def loaded(self):
        """All that can be loaded."""
        found = []
        for path in (self.first, self.second):
            try:
                found.append(dpcvx.load(path))
            except CheckpointError:
                continue
        return found

    def goes_on(self, learner):
        """Whether a learner gets to release something new, twice."""
        start = learner.rounds
        with suppress(CheckpointError):
            if learner._acted_in == learner.rounds:
                self.tree.update(learner, LOSS)
            for _ in range(2):
                self.round(learner)
            self.tree.act(learner)
        return learner.rounds >= start + 2


def a_first_save(scene):
    scene.round()
    scene.save(scene.first)


def again_after_a_loss(scene):
    scene.save(scene.first)
    scene.round()
    scene.save(scene.first)


def again_after_a_release(scene):
    scene.save(scene.first)
    for _ in range(3):
        scene.round()
    scene.save(scene.first)


def again_at_once(scene):
    scene.round()
    scene.save(scene.first)
    scene.save(scene.first)


def elsewhere_after_a_loss(scene):
    scene.save(scene.first)
    scene.round()
    scene.save(scene.second)


def elsewhere_at_once(scene):
    scene.save(scene.first)
    scene.save(scene.second)


def both_places_then_one(scene):
    scene.save(scene.first)
    scene.save(scene.second)
    scene.round()
    scene.save(scene.second)


def an_action_that_outdates_both(scene):
    scene.save(scene.first)
    scene.save(scene.second)
    scene.round()
    scene.tree.act(scene.learner)


SCENES = [
    a_first_save,
    again_after_a_loss,
    again_after_a_release,
    again_at_once,
    elsewhere_after_a_loss,
    elsewhere_at_once,
    both_places_then_one,
    an_action_that_outdates_both,
]
NUMBERS = itertools.count()


@pytest.fixture
def quick_disk(monkeypatch):
    """Nothing here is about a loss of power."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def interrupted(folder, patch, play, call, fault, after, lasting=False, make=Miniature):
    """The scene after the k-th file of a play failed; None where the play takes fewer files."""
    scene = Scene(folder / str(next(NUMBERS)), make)
    with failing(patch, call, fault, after=after, lasting=lasting) as names:
        try:
            play(scene)
            return None if len(names) < call else scene
        except (OSError, KeyboardInterrupt, CheckpointError):
            return scene


def cases(faults=None):
    """The file that fails, how, and whether after it took its place; without faults to choose from, each in turn."""
    for call, after in itertools.product(range(1, 9), (False, True)):
        for fault in faults or [FAULTS[(call + after) % 2]]:
            yield call, fault, after


def continued_twice(folder, patch, play, faults=None, make=Miniature):
    """The cases in which two learners went on from one state."""
    broken = []
    for call, fault, after in cases(faults):
        for order in ("learner first", "loaded first", "loaded twice", "while it lasts"):
            scene = interrupted(folder, patch, play, call, fault, after, order == "while it lasts", make)
            if scene is None:
                continue
            loaded = scene.loaded() + (scene.loaded() if order == "loaded twice" else [])
            all_of_them = [scene.learner, *loaded] if order == "learner first" else [*loaded, scene.learner]
            if order == "while it lasts":  # the disk stays full for the learner, not for who loads
                with failing(patch, 1, fault, lasting=True), suppress(KeyboardInterrupt):
                    scene.goes_on(scene.learner)
            for learner in [*all_of_them, *scene.loaded()]:
                scene.goes_on(learner)
            if scene.tree.twice:
                broken.append((call, type(fault).__name__, after, order))
    return broken


@pytest.mark.parametrize("play", SCENES)
def test_one_goes_on_after_any_interruption(tmp_path, monkeypatch, quick_disk, play):
    """A save whose mark could not be written restored the lineage, although the newer checkpoint could be loaded."""
    assert continued_twice(tmp_path, monkeypatch, play) == []


@pytest.mark.slow
@pytest.mark.parametrize("play", SCENES)
def test_one_learner_of_the_package_goes_on_after_any_interruption(tmp_path, monkeypatch, quick_disk, play):
    X, Y = ds.simplex(2), box_losses(2)
    assert continued_twice(tmp_path, monkeypatch, play, FAULTS, lambda: FTRL(X, Y, 16, epsilon=1.0)) == []


@pytest.mark.parametrize("play", SCENES)
def test_the_learner_can_go_on_after_any_interruption_that_passed(tmp_path, monkeypatch, quick_disk, play):
    for call, fault, after in cases():
        scene = interrupted(tmp_path, monkeypatch, play, call, fault, after)
        if scene is not None:
            rounds = scene.learner.rounds
            assert scene.goes_on(scene.learner), (call, fault, after)
            scene.save(scene.first)
            assert scene.learner.rounds == rounds + 2 and dpcvx.load(scene.first).rounds == rounds + 2


@pytest.mark.parametrize("play", [again_after_a_loss, again_at_once, elsewhere_at_once])
def test_a_crash_during_a_save_leaves_a_checkpoint_that_goes_on(tmp_path, monkeypatch, quick_disk, play):
    """Nothing was released after the old checkpoint, so the old one or the new one must do; the process is gone."""
    for call, fault, after in cases(FAULTS[1:]):
        scene = interrupted(tmp_path, monkeypatch, play, call, fault, after)
        if scene is not None and (call > 3 or (call, after) == (3, True)):  # the first save takes three files
            assert any(scene.goes_on(learner) for learner in scene.loaded()), (call, after)


def test_a_crash_between_the_first_file_and_its_mark_leaves_a_checkpoint(tmp_path, monkeypatch):
    scene = interrupted(tmp_path, monkeypatch, a_first_save, 3, KeyboardInterrupt(), after=False)
    [loaded] = scene.loaded()
    assert scene.goes_on(loaded) and not scene.goes_on(scene.learner)


def test_a_learner_that_cannot_outdate_says_so_and_releases_nothing(tmp_path, monkeypatch):
    scene = interrupted(tmp_path, monkeypatch, again_after_a_loss, 5, OSError(28, "No space left on device"), False)
    with failing(monkeypatch, 1, OSError(28, "No space left on device"), lasting=True):
        for _ in range(3):
            with pytest.raises(CheckpointError, match=r"cannot be outdated \(No space left on device\), so nothing is"):
                scene.learner.act()
    [loaded] = scene.loaded()
    assert scene.goes_on(scene.learner) and not scene.goes_on(loaded) and not scene.tree.twice


def test_a_learner_on_a_full_disk_may_play_on_while_no_checkpoint_can_be_continued(tmp_path, monkeypatch):
    """The checkpoint there is outdated, and the new one surely did not take its place."""
    scene = Scene(tmp_path / "folder")
    scene.save(scene.first)
    scene.round()
    scene.round()
    with failing(monkeypatch, 1, OSError("disk full"), lasting=True):
        with pytest.raises(OSError, match="disk full"):
            scene.save(scene.first)
        assert scene.goes_on(scene.learner)
    assert scene.loaded() == []


def test_a_learner_that_cannot_be_pickled_plays_on(tmp_path):
    scene = Scene(tmp_path / "folder")
    scene.save(scene.first)
    scene.learner.note = lambda: None
    with pytest.raises(CheckpointError, match="cannot be written"):
        scene.save(scene.first)
    del scene.learner.note
    before = scene.learner.lineage.places[str(scene.first)]
    assert not before.unsure and dpcvx.load(scene.first).rounds == 0
    assert scene.goes_on(scene.learner)


def restored(self, place, before, *_):
    """What a failed save did: as if nothing had been written."""
    self.places[place] = before


@pytest.mark.parametrize(
    ("method", "broken", "play"),
    [
        ("_settle", restored, again_after_a_release),
        ("before_action", lambda *_: None, again_after_a_loss),
        ("outdate", lambda *_, **__: None, elsewhere_after_a_loss),
    ],
)
def test_that_search_would_notice(tmp_path, monkeypatch, quick_disk, method, broken, play):
    monkeypatch.setattr(Lineage, method, broken)
    assert continued_twice(tmp_path, monkeypatch, play)
