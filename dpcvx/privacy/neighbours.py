"""Which streams of losses are neighbours: what one person may change in a round.

Whoever wants to know how far a loss, a coordinate or a feedback can move asks the relation, and so does whoever clips
or rounds a loss: that must not enlarge what one person may change. A relation is chosen by name, or declared as a
`Change`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.certificate_words import DeclaredChange
from dpcvx.sets import LossSet
from dpcvx.sets.shapes import GridChange, Measure
from dpcvx.sets.sizes import Sizes


class Neighbours(ABC):
    """A neighbouring relation."""

    key: ClassVar[str]  # how certificates call it, and users where it has a name
    to_zero: ClassVar[bool] = False  # whether one of two neighbouring losses is 0
    declared_change: ClassVar[bool] = False  # whether two neighbouring losses differ by a little, as somebody declared

    @property
    def fingerprint(self) -> str:
        """One text that tells relations apart: the name, where that does."""
        return self.key

    def refusal(self, loss_set: LossSet) -> str | None:
        """Why it does not go with a loss set, in a sentence; None where it does."""
        return None

    @property
    def declaration(self) -> DeclaredChange | None:
        """What was declared, as a certificate keeps it; None where the relation has a name."""
        return None

    def notes(self, loss_set: LossSet) -> tuple[str, ...]:
        """What the reader of a certificate must know of it besides its name."""
        return ()

    # running sums

    @abstractmethod
    def change(self, loss_set: LossSet, norm: float) -> Measure:
        """How far one loss can move once it is clipped, before rounding."""

    def clipper(self, loss_set: LossSet, leading: tuple[int, ...] = ()) -> Callable[[Array], Array]:
        """What brings vectors into bounds, so that neighbours are no further apart than `change` says."""
        return loss_set.clipper(leading)

    def clips_by_entry(self, loss_set: LossSet) -> bool:
        """Whether `clipper` takes each entry by itself to the bounding box; otherwise to the nearest point."""
        return loss_set.clips_by_entry

    def grid_change(self, loss_set: LossSet, norm: int, step: float) -> GridChange:
        """How far one loss can move, clipped and rounded to multiples of step, in the 1-norm or the 2-norm.

        Raises:
            OverflowError: where the grid is too coarse to tell.
        """
        return loss_set.grid_change(norm, step, from_zero=self.to_zero)

    def largest(self, loss_set: LossSet) -> float:
        """The largest absolute entry of a clipped loss."""
        return float(loss_set.radius(np.inf))

    def fine_step(self, loss_set: LossSet, norm: int, roundings: int) -> float:
        """The step of a grid on which rounding costs next to nothing, where each entry is rounded so many times."""
        return self.largest(loss_set) * 2.0**-30

    def difference_body(self, loss_set: LossSet) -> tuple[str, Array] | None:
        """A box or a ball around 0 that holds every change of a clipped loss; see `Shape.difference_body`."""
        return loss_set.recognised.difference_body(from_zero=self.to_zero)

    def grid_widths(self, loss_set: LossSet, step: float) -> list[int] | None:
        """How far each entry of a clipped loss moves in whole steps of a grid, where `difference_body` is a box."""
        return loss_set.recognised.grid_widths(step, from_zero=self.to_zero)

    # feedback

    @abstractmethod
    def feedback_change(self, sizes: Sizes) -> float:
        """How far one loss can move its value at any action, before rounding."""

    def feedback_units(self, sizes: Sizes, step: float) -> int | None:
        """The same in whole units of a grid, where it is to hold for every action; None where each has its own."""
        return None

    # both neighbours lie in the loss set, unless a relation says otherwise

    def width(self, low: Any, high: Any) -> Any:
        """How far a number between `low` and `high` can move; or each of several."""
        return high - low

    def interval(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Where the feedback lies on both of two neighbouring streams, given its ends over the loss set."""
        return low, high

    def kept(self, losses: Array, clipped: Array) -> Array:
        """The clipped losses, but for those that must stay what they are."""
        return clipped

    def exempt(self, loss: Array) -> bool:
        """Whether a loss may lie outside its set."""
        return False


class Replace(Neighbours):
    """One round's loss becomes any other of the set."""

    key = "replace"

    def change(self, loss_set: LossSet, norm: float) -> Measure:
        return loss_set.diameter(norm)

    def feedback_change(self, sizes: Sizes) -> float:
        return sizes.feedback_range


class ZeroOut(Neighbours):
    """One round's loss becomes 0, whether the set holds 0 or not; so 0 stays 0 and is never refused."""

    key = "zero-out"
    to_zero = True

    def change(self, loss_set: LossSet, norm: float) -> Measure:
        return loss_set.radius(norm)

    def feedback_change(self, sizes: Sizes) -> float:
        return sizes.magnitude

    def width(self, low: Any, high: Any) -> Any:
        return np.maximum(np.abs(low), np.abs(high))

    def interval(self, low: Array, high: Array) -> tuple[Array, Array]:
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def kept(self, losses: Array, clipped: Array) -> Array:
        return np.where(losses.any(axis=-1, keepdims=True), clipped, 0.0)

    def exempt(self, loss: Array) -> bool:
        return not loss.any()


RELATIONS: dict[str, Neighbours] = {relation.key: relation for relation in (Replace(), ZeroOut())}


def relation_for(neighbours: "str | Neighbours", loss_set: LossSet) -> Neighbours:
    """The relation of a name, or a declared one, for losses of a set.

    Raises:
        ValueError: where there is none of that name, or it does not go with the set.
    """
    if isinstance(neighbours, str) and neighbours in RELATIONS:
        return RELATIONS[neighbours]
    if not isinstance(neighbours, Neighbours):
        raise ArgumentError(f'neighbours must be "replace", "zero-out" or a Change, not {_shown(neighbours)}.')
    refusal = neighbours.refusal(loss_set)
    if refusal is not None:
        raise ArgumentError(refusal)
    return neighbours


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
