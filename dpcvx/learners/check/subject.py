"""A learner to be checked: how it is made, and what it is told."""

import inspect
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from dpcvx.arguments import kind_of
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.pairing import Pairing

Make = Callable[[int | None], Any]
SEED = 1
FEW = 8  # rounds that most properties take
_LOSSES = 16  # different ones


class Broken(Exception):
    """A property does not hold; the sentence says in which way."""


class Subject:
    """A learner to be checked, made by a function of a seed."""

    def __init__(self, make: Make) -> None:
        if not callable(make):
            raise ArgumentError(f"make must be a function of a seed that makes a learner, not {kind_of(make)}.")
        try:
            inspect.signature(make).bind(SEED)
        except TypeError:
            raise ArgumentError("make must take one argument, the seed; write lambda seed: ..., seed=seed).") from None
        except ValueError:  # what is not written in Python may have no signature
            pass
        self.make = make

    @cached_property
    def sample(self) -> Any:
        """A learner that is looked at and never played."""
        return self.make(SEED)

    @property
    def name(self) -> str:
        return type(self.sample).__name__

    @property
    def decision_set(self) -> DecisionSet:
        found: DecisionSet = self.sample.decision_set
        return found

    @property
    def horizon(self) -> int | None:
        return getattr(self.sample, "horizon", None)

    @property
    def sees_values(self) -> bool:
        return bool(getattr(self.sample, "sees", "loss") == "value")

    def rounds(self, wanted: int) -> int:
        """As many rounds as wanted, or all that the learner has."""
        return wanted if self.horizon is None else min(wanted, self.horizon)

    @cached_property
    def _losses(self) -> Array:
        """Each with its opposite, so that no action leads by so much that a change of the state would not show."""
        drawn = np.random.default_rng(0).uniform(-1, 1, (_LOSSES // 2, *self.loss_shape))
        pairs = np.stack([drawn, -drawn], axis=1).reshape(_LOSSES, *self.loss_shape)
        declared = self.loss_set
        return pairs if declared is None else declared.clip(declared.center + pairs)

    @property
    def loss_set(self) -> LossSet | None:
        """The declared losses, where there are such."""
        declared = getattr(self.sample, "loss_set", None)
        return declared if isinstance(declared, LossSet) else None

    @property
    def loss_shape(self) -> tuple[int, ...]:
        """Of a loss, which is that of a decision unless the decisions carry a map to what losses are about."""
        return self.decision_set.shape if self.loss_set is None else self.loss_set.shape

    def feedback(self, t: int, action: Any) -> Any:
        """What an action is told in round t, from 0; of replicas on a leading axis, each for itself."""
        loss = self._losses[t % _LOSSES].copy()
        if not self.sees_values:
            return loss
        used = Pairing(self.decision_set, self.loss_shape).usage(action)
        values = used.reshape(-1, loss.size) @ loss.ravel()
        return values if used.ndim > loss.ndim else float(values[0])

    def turns(self, learner: Any, rounds: int, start: int = 0) -> Iterator[Any]:
        """The actions of a learner one by one, each before it is told what it cost."""
        for t in range(start, start + rounds):
            action = learner.act()
            yield action
            learner.update(self.feedback(t, action))

    def run(self, learner: Any, rounds: int, start: int = 0) -> Array:
        """The actions of some rounds."""
        return np.array([np.array(action) for action in self.turns(learner, rounds, start)])


def refused(call: Callable[[], Any], kinds: tuple[type[Exception], ...], what: str) -> None:
    """See that a call raises an error of one of these kinds.

    Raises:
        Broken: where it raises another one, or none.
    """
    wanted = " or ".join(kind.__name__ for kind in kinds)
    try:
        call()
    except kinds:
        return
    except Exception as error:
        raise Broken(f"{what} raised {type(error).__name__}; it must raise {wanted}.") from error
    raise Broken(f"{what} raised nothing; it must raise {wanted}.")
