"""Bandits over actions that are interrupted anywhere in an update play on as if nothing had happened."""

import sys
from pathlib import Path

import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import Exp2, LogBarrierBandit

ROUNDS = 6
LEARNERS = {
    "Exp2 on arms": Exp2(np.eye(4), box_losses(4), ROUNDS),
    "Exp2 on a cube": Exp2(ds.cube(4), box_losses(4), ROUNDS),
    "log barrier": LogBarrierBandit(4, box_losses(4), ROUNDS),
}


class Interruption(BaseException):
    pass


class InPlace(LogBarrierBandit):
    """Deliberately wrong: it adds to what it knows before the round is over."""

    def _after(self, value):
        after = super()._after(value)
        self._state.inverse[:] = after.inverse
        return after


def interrupted(call, line):
    """Call, and raise at that line of the package, counted from 0; whether there was one."""
    left = line

    def trace(frame, event, argument):
        nonlocal left
        if (
            "dpcvx/learners" not in Path(frame.f_code.co_filename).as_posix()
            and frame.f_code is not InPlace._after.__code__
        ):
            return None
        if event == "line":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise Interruption
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Interruption:
        return True
    finally:
        sys.settrace(before)
    return False


def play(learner, line=None):
    """All actions; one update is interrupted at that line and repeated unless it was over, and whether it was."""
    actions, cut = [], False
    for t in range(ROUNDS):
        action = learner.act()
        actions.append(action)
        value = action.sum(axis=-1) * 0.3 - t
        if t == 2 and line is not None:
            cut = interrupted(lambda value=value: learner.update(value), line)
        if learner.rounds == t:
            learner.update(value)
    return np.array(actions), cut


def harmless(learner, replicas):
    """Whether interruptions at all lines of an update leave the same actions, and how many lines there were."""
    whole, _ = play(learner.simulated(replicas, 0))
    for line in range(1000):
        actions, cut = play(learner.simulated(replicas, 0), line)
        if not cut:
            return True, line
        if not np.array_equal(actions, whole):
            return False, line
    raise AssertionError("The update does not end.")


@pytest.mark.parametrize("replicas", [None, 20])
@pytest.mark.parametrize("name", LEARNERS)
def test_an_interrupted_update_leaves_the_old_state_or_the_new_one(name, replicas):
    same, lines = harmless(LEARNERS[name], replicas)
    assert same and lines > 8


def test_a_learner_that_learns_in_place_is_told_apart():
    same, _ = harmless(InPlace(4, box_losses(4), ROUNDS), 20)
    assert not same
