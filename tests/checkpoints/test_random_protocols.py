"""Calls in any order, right and wrong, on every learner: no state is continued twice, no round is lost or changed.

Runs are drawn from fixed seeds. `StateTree` holds what all learners that come from one have released.
"""

import copy
import os
import shutil

import numpy as np
import pytest
from loss_sets import box_losses
from state_tree import StateTree, failing

import decision_sets as ds
import dpcvx
from dpcvx import FTPL, FTRL, Exp2, LogBarrierBandit, PrivateBandit, SCRiBLe
from dpcvx.checkpoints.lineage import Lineage
from dpcvx.privacy.noise.sources import SecureSource

X, Y = ds.simplex(3), box_losses(3)
HORIZON = 14
SECURE = {
    "FTRL": lambda seed: FTRL(X, Y, HORIZON, epsilon=1.0, seed=seed),
    "FTRL, Gaussian": lambda seed: FTRL(X, Y, None, epsilon=1.0, delta=1e-6, seed=seed),
    "FTPL": lambda seed: FTPL(X, Y, HORIZON, epsilon=1.0, seed=seed),
    "Exp2": lambda seed: PrivateBandit(Exp2(X, Y, HORIZON, seed=seed), 1.0, batch=2, seed=seed),
    "LogBarrier": lambda seed: PrivateBandit(LogBarrierBandit(X, Y, HORIZON, seed=seed), 1.0, batch=1, seed=seed),
    "SCRiBLe": lambda seed: PrivateBandit(SCRiBLe(X, Y, HORIZON, seed=seed), 1.0, batch=3, seed=seed),
}
WRONG = {
    "loss": [
        np.full(3, np.nan),
        np.array([0, np.inf, 0]),
        np.zeros(4),
        np.zeros(3) + 1j,
        "text",
        None,
        [[0.0] * 3] * 2,
    ],
    "value": [np.nan, -np.inf, np.zeros(2), 1j, "text", None],
}
REFUSALS = (dpcvx.DpcvxError, ValueError, TypeError)


def view(learner):
    """All that a call may change."""
    inside = learner._turn if isinstance(learner, PrivateBandit) else learner._sums._epoch.counter.items
    return repr((learner.rounds, learner._acted_in, learner.lineage, inside, vars(learner.certificate)))


class Protocol:
    """Random calls on all learners that come from one, in one folder.

    Args:
        gentle: whether nothing is interrupted, dropped or moved, so that in the end somebody can go on.
    """

    def __init__(self, make, folder, patch, seed, *, secure=True, gentle=False):
        self.rng, self.patch, self.secure = np.random.default_rng(seed), patch, secure
        self.tree = StateTree()
        self.tree.watch(patch)
        self.places = [folder / "first", folder / "second"]
        self.learners = [self.tree.root(make(None if secure else 7))]
        self.shown = {}  # the action of a simulation in each round
        calls = [self.turn] * 6 + [self.save, self.load] * 2 + [self.wrong_turn, self.wrong_feedback, self.wrong_place]
        calls += [self.fork, self.copy]
        if not gentle:
            calls += [self.interrupt_files] * 2 + [self.interrupt_noise, self.drop, self.move]
        self.calls = calls

    def run(self, steps):
        for _ in range(steps):
            self.calls[self.rng.integers(len(self.calls))]()
            for learner in self.learners:
                assert learner.rounds == self.tree.depth(learner.node)
            if self.secure and self.tree.twice:
                return

    def any_learner(self):
        return self.learners[self.rng.integers(len(self.learners))] if self.learners else None

    def any_place(self):
        return self.places[self.rng.integers(2)]

    # calls that are right, if nobody else went on

    def turn(self):
        learner = self.any_learner()
        if learner is not None:
            self.attempt(learner, lambda: self.turn_of(learner))

    def turn_of(self, learner):
        t = learner.rounds
        if learner._acted_in == t:
            loss = np.cos(np.arange(3) + t)
            self.tree.update(learner, loss if learner.sees == "loss" else float(loss[0]))
            return
        action = self.tree.act(learner)
        if not self.secure:
            assert np.array_equal(action, self.shown.setdefault(t, action))

    def save(self):
        learner, place = self.any_learner(), self.any_place()
        if learner is None or not self.attempt(learner, lambda: dpcvx.save(learner, place)):
            return
        again = dpcvx.load(place)
        assert (again.rounds, again._acted_in, again.node) == (learner.rounds, learner._acted_in, learner.node)

    def load(self):
        place = self.any_place()
        before = contents(place.parent)
        try:
            loaded = dpcvx.load(place)
        except dpcvx.CheckpointError as error:
            sentence(error)
            assert contents(place.parent) == before
            return
        if len(self.learners) < 4:
            self.learners.append(loaded)

    def attempt(self, learner, call):
        """Whether a call passed; an error is a sentence, and changes at most what is known of the marks."""
        before = learner.rounds, learner._acted_in
        try:
            call()
        except REFUSALS as error:
            sentence(error)
            assert (learner.rounds, learner._acted_in) == before
            return False
        return True

    # calls that are wrong

    def wrong(self, learner, call, kinds=REFUSALS):
        before, files = view(learner), contents(self.places[0].parent)
        with pytest.raises(kinds) as caught:
            call()
        sentence(caught.value)
        assert view(learner) == before and contents(self.places[0].parent) == files

    def wrong_turn(self):
        learner = self.any_learner()
        if learner is None:
            return
        due = learner._acted_in == learner.rounds
        zero = np.zeros(3) if learner.sees == "loss" else 0.0
        self.wrong(learner, learner.act if due else lambda: learner.update(zero), (dpcvx.ProtocolError,))

    def wrong_feedback(self):
        learner = self.any_learner()
        if learner is not None:
            offered = WRONG[learner.sees]
            self.wrong(learner, lambda: learner.update(offered[self.rng.integers(len(offered))]))

    def wrong_place(self):
        learner, folder = self.any_learner(), self.places[0].parent
        if learner is not None:
            for place in (folder, folder / "nowhere" / "state", None, 7, "a\0b"):
                self.wrong(learner, lambda place=place: dpcvx.save(learner, place))
                self.wrong(learner, lambda place=place: dpcvx.load(place))

    def fork(self):
        learner = self.any_learner()
        if learner is None or not self.secure:
            return
        due = learner._acted_in == learner.rounds
        zero = np.zeros(3) if learner.sees == "loss" else 0.0
        with self.patch.context() as patch:
            patch.setattr(os, "getpid", lambda: -1)
            for call in (
                (lambda: learner.update(zero)) if due else learner.act,
                lambda: dpcvx.save(learner, self.any_place()),
            ):
                self.wrong(learner, call, (dpcvx.ProtocolError, dpcvx.HorizonError))

    def copy(self):
        learner = self.any_learner()
        if learner is None:
            return
        if self.secure:
            for call in (copy.copy, copy.deepcopy):
                self.wrong(learner, lambda call=call: call(learner), (copy.Error,))
        elif len(self.learners) < 4:
            self.learners.append(copy.copy(learner))

    # what happens to them

    def interrupt_files(self):
        learner = self.any_learner()
        if learner is None:
            return
        error = KeyboardInterrupt() if self.rng.random() < 0.5 else OSError("disk full")
        call = self.turn_of if self.rng.random() < 0.5 else lambda learner: dpcvx.save(learner, self.any_place())
        after, lasting = self.rng.random(2) < 0.5
        with failing(self.patch, int(self.rng.integers(1, 4)), error, after=after, lasting=lasting):
            self.interrupted(learner, lambda: call(learner))

    def interrupt_noise(self):
        learner, after = self.any_learner(), self.rng.random() < 0.5
        if learner is None or not self.secure:
            return
        draw = SecureSource.draw

        def interrupted(source, values):
            if after:
                draw(source, values)
            raise KeyboardInterrupt

        with self.patch.context() as patch:
            patch.setattr(SecureSource, "draw", interrupted)
            if not self.interrupted(learner, lambda: self.turn_of(learner)):
                return
        if self.released_half(learner):  # it is of no use any more, and says so
            self.learners.remove(learner)
            for call in (learner.act, lambda: learner.update(np.zeros(3) if learner.sees == "loss" else 0.0)):
                self.wrong(learner, call, (dpcvx.ProtocolError,))

    def released_half(self, learner):
        return learner.rounds > self.tree.depth(learner.node) or (learner.sees == "value" and learner._turn.releasing)

    def interrupted(self, learner, call):
        try:
            self.attempt(learner, call)
        except (KeyboardInterrupt, OSError):
            return True
        return False

    def drop(self):
        if len(self.learners) > 1:
            self.learners.pop(self.rng.integers(len(self.learners)))

    def move(self):
        """Move both files to the other place, or the marks away from it."""
        place, other = self.places if self.rng.random() < 0.5 else self.places[::-1]
        for suffix in ("", ".generation"):
            source = place.with_name(place.name + suffix)
            if source.exists():
                shutil.move(source, other.with_name(other.name + suffix))

    def can_go_on(self, learner):
        released = len(self.tree.released)
        for _ in range(4 * HORIZON):
            if learner.rounds == HORIZON or not self.attempt(learner, lambda: self.turn_of(learner)):
                break
        return learner.rounds == HORIZON or len(self.tree.released) > released + 1


def sentence(error):
    assert str(error).strip().endswith("."), repr(error)


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """Nothing here is about a loss of power."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def run(make, folder, patch, seed, steps, **options):
    folder = folder / str(seed)
    folder.mkdir()
    with patch.context() as inner:
        protocol = Protocol(make, folder, inner, seed, **options)
        protocol.run(steps)
        if options.get("gentle") and options.get("secure", True):
            loaded = [dpcvx.load(place) for place in protocol.places if can_be_loaded(place)]
            went_on = [protocol.can_go_on(learner) for learner in [*protocol.learners, *loaded]]
            assert any(went_on), seed
    return protocol


def can_be_loaded(place):
    try:
        dpcvx.load(place)
    except dpcvx.CheckpointError:
        return False
    return True


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", SECURE.values(), ids=SECURE)
@pytest.mark.parametrize("gentle", [False, True])
def test_no_state_is_continued_twice(tmp_path, monkeypatch, make, gentle):
    for seed in range(3):
        assert run(make, tmp_path, monkeypatch, seed, 40, gentle=gentle).tree.twice == []


@pytest.mark.slow
@pytest.mark.parametrize("make", SECURE.values(), ids=SECURE)
@pytest.mark.parametrize("gentle", [False, True])
def test_no_state_is_continued_twice_in_long_runs(tmp_path, monkeypatch, make, gentle):
    for seed in range(100, 140):
        assert run(make, tmp_path, monkeypatch, seed, 120, gentle=gentle).tree.twice == []


@pytest.mark.parametrize("make", SECURE.values(), ids=SECURE)
def test_simulations_go_on_from_everywhere_alike(tmp_path, monkeypatch, make):
    for seed in range(2):
        run(make, tmp_path, monkeypatch, seed, 40, secure=False)


@pytest.mark.parametrize(("method", "broken"), [("before_action", lambda *_: None), ("before_release", lambda _: None)])
def test_these_runs_would_notice(tmp_path, monkeypatch, method, broken):
    monkeypatch.setattr(Lineage, method, broken)
    make = SECURE["FTRL" if method == "before_action" else "LogBarrier"]
    assert any(run(make, tmp_path, monkeypatch, seed, 60).tree.twice for seed in range(20))
