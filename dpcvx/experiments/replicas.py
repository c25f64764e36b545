"""The replicas of a learner that a simulation plays together."""

from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.streams import stream


class Replicas:
    """Learners of one replica each, which play side by side as one learner of many replicas does."""

    def __init__(self, learners: list[Any]) -> None:
        self.learners = learners

    def act(self) -> Array:
        return np.stack([learner.act() for learner in self.learners])

    @property
    def sees(self) -> str:
        return str(getattr(self.learners[0], "sees", "loss"))

    def update(self, feedback: Array) -> None:
        each = feedback if self.sees == "value" else [feedback] * len(self.learners)
        for learner, seen in zip(self.learners, each, strict=True):
            learner.update(seen)

    @property
    def regret_bound(self) -> Any:
        return getattr(self.learners[0], "regret_bound", None)

    @property
    def certificate(self) -> Any:
        return getattr(self.learners[0], "certificate", None)


def players(learner: Any, replicas: int, seed: int) -> tuple[Any, Any]:
    """The learner that describes the run, and the one that plays all its replicas.

    Args:
        learner: a learner with a method `simulated(replicas, seed)`, or a function of a seed that makes one replica.
        replicas: how many.
        seed: what their seeds come from.

    Raises:
        ValueError: where the learner is neither.
    """
    if hasattr(learner, "simulated"):
        return learner, learner.simulated(replicas, _seeds(seed, 1)[0])
    if not callable(learner):
        raise ArgumentError(f"learner must have a method simulated(replicas, seed) or be a function, not {learner!r}.")
    made = [learner(each) for each in _seeds(seed, replicas)]
    return made[0], Replicas(made)


def _seeds(seed: int, count: int) -> list[int]:
    """Seeds for learners, so that one that draws from `default_rng` of its seed shares nothing with the caller's."""
    return [int(each) for each in stream(seed, "simulate: learners").integers(2**63, size=count)]
