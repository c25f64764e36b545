"""What a learner remembers: runs from one seed, replicas, and checkpoints."""

import itertools
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.checkpoints import load, save
from dpcvx.errors import CheckpointError, ProtocolError
from dpcvx.learners.check.subject import FEW, SEED, Broken, Subject, refused

REPLICAS = 16
_SEEDS = 64  # that are tried until one of them makes another run
_PART = 3  # rounds between two checkpoints
_APART = 1e-6  # by which replicas may differ through the rounding of a common computation


def reproducibility(subject: Subject) -> str | None:
    """One seed makes one run; and where runs without a seed differ, so do runs with different seeds."""
    rounds = subject.rounds(FEW)
    first, again = (subject.run(subject.make(SEED), rounds) for _ in range(2))
    if not np.array_equal(first, again):
        raise Broken(f"two runs with the seed {SEED} differ.")
    if not _all_differ([subject.run(subject.make(None), rounds) for _ in range(3)]):
        return None  # it is not random, or seldom
    for seed in range(SEED + 1, SEED + _SEEDS):
        if not np.array_equal(first, subject.run(subject.make(seed), rounds)):
            return None
    raise Broken(f"runs without a seed differ, but those with {_SEEDS} different seeds are all the same.")


def _all_differ(runs: list[Array]) -> bool:
    return not any(np.array_equal(*pair) for pair in itertools.combinations(runs, 2))


def simulated(learner: Any, count: int, seed: int) -> Any | None:
    """Replicas of a learner that has seen nothing; None where it makes none."""
    if not callable(getattr(learner, "simulated", None)):
        return None
    try:
        return learner.simulated(count, seed)
    except ValueError:  # a learner that wraps another one, which makes none
        return None


def replicas(subject: Subject) -> str | None:
    """Replicas stand on a leading axis, start anew, draw for themselves and learn for themselves."""
    X, rounds = subject.decision_set, subject.rounds(FEW)
    many = simulated(subject.sample, REPLICAS, SEED)
    if many is None:
        return "it makes no replicas by simulated(replicas, seed)"
    runs = subject.run(many, rounds)
    if runs.shape != (rounds, REPLICAS, *X.shape):
        raise Broken(f"actions of {REPLICAS} replicas have shape {runs.shape[1:]}, not {(REPLICAS, *X.shape)}.")
    played = subject.make(SEED)
    subject.run(played, 1)
    if not np.array_equal(runs, subject.run(played.simulated(REPLICAS, SEED), rounds)):
        raise Broken(f"replicas with the seed {SEED}, made before and after it played, differ.")
    single = [subject.run(subject.sample.simulated(1, SEED + k), rounds) for k in range(4)]
    if _all_differ(single) and (runs == runs[:, :1]).all():
        raise Broken(f"all {REPLICAS} replicas play the same, but runs with different seeds differ.")
    if subject.sees_values:
        _learn_for_themselves(subject)
    return None


def _learn_for_themselves(subject: Subject) -> None:
    """Tell the first replica otherwise: the others must play the same."""
    told, otherwise = (subject.sample.simulated(REPLICAS, SEED) for _ in range(2))
    for t in range(subject.rounds(5 * FEW)):
        expected, action = told.act(), otherwise.act()
        if np.abs(expected - action)[1:].max() > _APART:
            raise Broken("what one replica is told changes what others play.")
        values = subject.feedback(t, expected)
        told.update(values)
        otherwise.update(np.append(subject.feedback(t + 1, action)[:1], values[1:]))


def checkpoint(subject: Subject) -> str | None:
    """A learner that is saved and loaded goes on as if nothing had happened; a secure one does so once."""
    if not hasattr(subject.sample, "lineage"):
        return "it has no attribute lineage, so it cannot be saved"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner"
        _goes_on(subject, path)
        _keeps_the_turn(subject, path)
        _goes_on_once(subject, path)
    return None


def _goes_on(subject: Subject, path: Path) -> None:
    rounds, learner, parts = subject.rounds(FEW), subject.make(SEED), []
    for start in range(0, rounds, _PART):
        save(learner, path)
        learner = load(path)
        parts.append(subject.run(learner, min(_PART, rounds - start), start))
    if not np.array_equal(np.concatenate(parts), subject.run(subject.make(SEED), rounds)):
        raise Broken("it plays on otherwise after it was saved and loaded.")


def _keeps_the_turn(subject: Subject, path: Path) -> None:
    learner = subject.make(SEED)
    action = learner.act()
    save(learner, path)
    loaded = load(path)
    refused(loaded.act, (ProtocolError,), "an act of a learner that was saved between act and update")
    loaded.update(subject.feedback(0, action))


def _goes_on_once(subject: Subject, path: Path) -> None:
    secure = subject.make(None)
    if secure.lineage is None or subject.rounds(2) < 2:
        return
    save(secure, path)
    loaded = load(path)
    subject.run(loaded, 1)
    loaded.act()  # which the checkpoint does not hold
    refused(partial(load, path), (CheckpointError,), "loading a secure learner again, which went on")
