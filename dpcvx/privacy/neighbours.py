"""Which streams of losses are neighbours: what one person may change in a round.

Whoever wants to know how far a loss, a coordinate or a feedback can move asks the relation. It is chosen by name;
another one, such as a change that the user declares, is another class here.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets import LossSet
from dpcvx.sets.shapes import Measure


class Neighbours(ABC):
    """A neighbouring relation."""

    key: ClassVar[str]  # how users and certificates call it
    to_zero: ClassVar[bool]  # whether one of two neighbouring losses is 0

    @abstractmethod
    def change(self, loss_set: LossSet, norm: float) -> Measure:
        """How far one loss can move, before rounding."""

    @abstractmethod
    def width(self, low: Any, high: Any) -> Any:
        """How far a number between `low` and `high` can move; or each of several."""

    @abstractmethod
    def interval(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Where the feedback lies on both of two neighbouring streams, given its ends over the loss set."""

    @abstractmethod
    def kept(self, losses: Array, clipped: Array) -> Array:
        """The clipped losses, but for those that must stay what they are."""

    @abstractmethod
    def exempt(self, loss: Array) -> bool:
        """Whether a loss may lie outside its set."""


class Replace(Neighbours):
    """One round's loss becomes any other of the set."""

    key = "replace"
    to_zero = False

    def change(self, loss_set: LossSet, norm: float) -> Measure:
        return loss_set.diameter(norm)

    def width(self, low: Any, high: Any) -> Any:
        return high - low

    def interval(self, low: Array, high: Array) -> tuple[Array, Array]:
        return low, high

    def kept(self, losses: Array, clipped: Array) -> Array:
        return clipped

    def exempt(self, loss: Array) -> bool:
        return False


class ZeroOut(Neighbours):
    """One round's loss becomes 0, whether the set holds 0 or not; so 0 stays 0 and is never refused."""

    key = "zero-out"
    to_zero = True

    def change(self, loss_set: LossSet, norm: float) -> Measure:
        return loss_set.radius(norm)

    def width(self, low: Any, high: Any) -> Any:
        return np.maximum(np.abs(low), np.abs(high))

    def interval(self, low: Array, high: Array) -> tuple[Array, Array]:
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def kept(self, losses: Array, clipped: Array) -> Array:
        return np.where(losses.any(axis=-1, keepdims=True), clipped, 0.0)

    def exempt(self, loss: Array) -> bool:
        return not loss.any()


RELATIONS: dict[str, Neighbours] = {relation.key: relation for relation in (Replace(), ZeroOut())}


def relation_named(neighbours: str) -> Neighbours:
    """The relation of a name.

    Raises:
        ValueError: where there is none.
    """
    if not isinstance(neighbours, str) or neighbours not in RELATIONS:
        raise ValueError(f'neighbours must be "replace" or "zero-out", not {neighbours!r}.')
    return RELATIONS[neighbours]
