"""What a learner plays, and which calls it refuses."""

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import HorizonError, ProtocolError
from dpcvx.learners.check.subject import FEW, SEED, Broken, Subject, refused
from dpcvx.sets import DecisionSet

_INSIDE = 1e-7  # by which actions may miss the set
_EPOCHS = 40  # rounds that a learner without a horizon must play: more than two epochs
_LONGEST = 256  # horizons up to which a learner is played to its end


def interface(subject: Subject) -> str | None:
    """It has `act`, `update` and `decision_set`, and says in known words what it sees and for how long it plays."""
    sample, horizon = subject.sample, subject.horizon
    for method in ("act", "update"):
        if not callable(getattr(sample, method, None)):
            raise Broken(f"it has no method {method}.")
    if not isinstance(getattr(sample, "decision_set", None), DecisionSet):
        raise Broken("its decision_set must be a DecisionSet.")
    if getattr(sample, "sees", "loss") not in ("loss", "value"):
        raise Broken(f'sees must be "loss" or "value", not {sample.sees!r}.')
    if horizon is not None and not (isinstance(horizon, int) and horizon >= 1):
        raise Broken(f"its horizon must be None or a whole number of at least 1, not {horizon!r}.")
    return None


def alternation(subject: Subject) -> str | None:
    """`act` and `update` take turns; a call out of turn is refused and changes nothing."""
    clean, tried, secure = subject.make(SEED), subject.make(SEED), subject.make(None)
    for t in range(subject.rounds(3)):
        early = subject.feedback(t, subject.decision_set.center)
        for learner in (tried, secure):
            refused(partial(learner.update, early), (ProtocolError,), "an update before the action")
        expected = _same_action(clean, tried, "a call out of turn changed what it plays.")
        secure.act()
        for learner in (tried, secure):
            refused(learner.act, (ProtocolError,), "a second act in a row")
        for learner in (clean, tried, secure):
            learner.update(subject.feedback(t, expected))
    return None


def actions(subject: Subject) -> str | None:
    """Actions are floating-point arrays in the shape of the variable, and lie in the set."""
    for seed in (SEED, None):
        with suppress(HorizonError):  # of which `horizon` asks whether it comes too early
            for t, action in enumerate(subject.turns(subject.make(seed), subject.rounds(FEW))):
                _check_action(np.asarray(action), t + 1, subject.decision_set)
    return None


def _check_action(action: Array, number: int, X: DecisionSet) -> None:
    if action.shape != X.shape:
        raise Broken(f"the action of round {number} has shape {action.shape}, not {X.shape}.")
    if action.dtype.kind != "f":
        raise Broken(f"the action of round {number} is of type {action.dtype}, not floating-point.")
    if not np.isfinite(action).all() or not X.contains(action, _INSIDE):
        raise Broken(f"the action of round {number} lies outside the {X.name}.")


def arrays(subject: Subject) -> str | None:
    """Who writes to an action, or to a loss after the update, changes nothing in the learner."""
    clean, written = subject.make(SEED), subject.make(SEED)
    for t in range(subject.rounds(FEW)):
        expected, action = clean.act(), written.act()
        if not np.array_equal(expected, action):
            raise Broken("writing to an action, or to a loss after the update, changed what it plays.")
        feedback = subject.feedback(t, expected)
        _overwrite(action)
        clean.update(subject.feedback(t, expected))
        written.update(feedback)
        _overwrite(feedback)
    return None


def _overwrite(array: Any) -> None:
    if isinstance(array, np.ndarray) and array.flags.writeable:
        array[...] = 7.0


def wrong_feedback(subject: Subject) -> str | None:
    """Feedback that is not finite numbers of the right shape is refused and changes nothing."""
    shape = () if subject.sees_values else subject.loss_shape
    nan, infinite = np.full(shape, np.nan), np.zeros(shape)
    infinite[(0,) * len(shape)] = np.inf
    longer = np.zeros((*shape[:-1], shape[-1] + 1) if shape else 3)
    wrong = {"NaN": nan[()], "an infinity": infinite[()], "a wrong shape": longer, "a text": "loss", "None": None}
    clean, tried = subject.make(SEED), subject.make(SEED)
    for t in range(subject.rounds(3)):
        expected = _same_action(clean, tried, "an update that was refused changed what it plays.")
        for name, bad in wrong.items():
            refused(partial(tried.update, bad), (ValueError, TypeError), f"an update with {name}")
        for learner in (clean, tried):
            learner.update(subject.feedback(t, expected))
    return None


def _same_action(clean: Any, tried: Any, otherwise: str) -> Any:
    """The next action of two learners, which must be the same."""
    expected, action = clean.act(), tried.act()
    if not np.array_equal(expected, action):
        raise Broken(otherwise)
    return expected


def horizon(subject: Subject) -> str | None:
    """It plays as many rounds as its horizon has, and no more."""
    length = subject.horizon
    if length is not None and length > _LONGEST:
        return f"its horizon of {length} rounds is too long to be played to its end; make one of up to {_LONGEST}"
    for seed in (SEED, None):
        learner = subject.make(seed)
        subject.run(learner, _EPOCHS if length is None else length)
        if length is not None:
            refused(learner.act, (HorizonError,), f"an act after the {length} rounds of its horizon")
    return None
