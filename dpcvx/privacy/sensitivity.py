"""How far one person's losses can move what is summed: the sensitivity, on the grid on which the sum runs.

Losses are rounded to multiples of a power of two and summed as integers, so the sensitivity that counts is that of the
rounded losses:

    a box            sum of rounded upper minus rounded lower ends: rounding is monotone, nothing is added;
    a centered ball  rounding toward zero stays in the ball: the diameter, in whole units;
    any other set    the diameter in units, plus 1 for each entry that can move (half a unit on either side).

Under "zero-out" the neighbour of a loss is 0, which stays 0: the radius replaces the diameter and 1/2 replaces 1. Under
a declared change it is what was declared, plus 1 for each entry that can move; see `Change`.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.sets import LossSet

_OUTWARD = 1 + 1e-9  # of certified sizes, relative
_FLOATS = 2.0**-50  # of the largest entry: the rounding of losses that were computed


@dataclass(frozen=True)
class Grid:
    """Multiples of step = 2^exponent."""

    exponent: int

    @cached_property
    def step(self) -> float:
        return float(2.0**self.exponent)

    def round(self, losses: Array, toward_zero: bool) -> Array:
        """Losses in whole units, as 64-bit integers."""
        units = losses / self.step  # exact: a power of two
        return (np.trunc(units) if toward_zero else np.rint(units)).astype(np.int64)


@dataclass(frozen=True)
class Sensitivity:
    """The largest change of a rounded loss: in units of the grid, and in the units of the loss."""

    norm: int  # 1 or 2
    units: int | float  # whole for the 1-norm
    grid: Grid
    kind: str  # "exact" or "bound"
    toward_zero: bool

    @property
    def value(self) -> float:
        return float(self.units) * self.grid.step


def sensitivity(loss_set: LossSet, norm: int, neighbours: Neighbours, grid: Grid) -> Sensitivity:
    """The sensitivity of losses clipped and rounded to the grid, in the 1-norm or the 2-norm."""
    change = neighbours.grid_change(loss_set, norm, grid.step)
    return Sensitivity(norm, change.units, grid, change.kind, change.toward_zero)


def choose_grid(
    loss_set: LossSet, horizon: int, noise: float, *, largest: float | None = None, fine: float | None = None
) -> Grid:
    """A grid fine against what one person changes, and coarse enough that no sum of 64-bit integers can overflow.

    Args:
        loss_set: where the losses lie.
        horizon: how many of them are summed.
        noise: the scale of the noise of one release in the units of the loss.
        largest: absolute entry of a loss; by default that of the set.
        fine: the step that is fine enough; by default 2^-30 of the largest entry.

    Raises:
        OverflowError: where losses, horizon and noise are too far apart for 64-bit integers.
    """
    largest = float(loss_set.radius(np.inf)) if largest is None else largest
    if largest == 0:
        return Grid(-30)  # the only loss is 0
    if not np.isfinite(noise):
        raise OverflowError(f"Losses up to {largest:.3g} would need noise beyond the range of numbers; raise epsilon.")
    fine = largest * 2.0**-30 if fine is None else fine
    coarse = max(largest * horizon, noise * 64) * 2.0**-58  # sums below 2^58 units, noise below 2^52
    exponent = int(np.ceil(np.log2(max(fine, coarse, largest * 2.0**-52))))
    step = 2.0**exponent
    if step > largest * 2.0**-8:
        raise OverflowError(
            f"Sums of {horizon} losses up to {largest:.3g} with noise {noise:.3g} do not fit into 64-bit integers "
            "on any useful grid; shorten the horizon, scale the losses or raise epsilon."
        )
    if not -1000 < exponent < 1000:
        raise OverflowError(f"The losses, of size {largest:.3g}, are outside the range in which the grid is exact.")
    return Grid(exponent)


def changed_entries(widths: Array, lower: Array, upper: Array, step: float) -> Array:
    """How far each entry of a loss moves that is clipped to a box, entry by entry, and rounded, in units of the grid.

    Args:
        widths: how far it moves at most when the loss is handed over.
        lower, upper: the box.
        step: the unit.
    """
    units = np.floor((widths * _OUTWARD + _blur(lower, upper)) / step) + 1
    return np.where(widths > 0, np.minimum(units, np.rint(upper / step) - np.rint(lower / step)), 0.0)


def changed_units(units: Array, largest: float, lower: Array, upper: Array, step: float, norm: int) -> int | float:
    """How far such a loss moves in the 1-norm or the 2-norm, given its entries and the largest norm of a change."""
    moving = [int(w) for w in units if w]
    rounding = float(len(moving) ** (1 / norm))
    steps = (largest * _OUTWARD + _blur(lower, upper) * rounding) / step
    if norm == 1:
        return min(sum(moving), math.floor(steps) + len(moving))
    return min(math.sqrt(sum(w * w for w in moving)), steps + rounding) * (1 + 1e-15)


def _blur(lower: Array, upper: Array) -> float:
    """By how much losses may be off that were computed in floating-point numbers."""
    return _FLOATS * float(np.abs([lower, upper]).max())
