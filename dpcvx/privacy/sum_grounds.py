"""From the calibration of private sums to the grounds of their certificate."""

import math

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.clipping import Clipping
from dpcvx.privacy.grounds import Hidden, SumGrounds, box_length
from dpcvx.privacy.noise import KNorm
from dpcvx.privacy.plan import Plan
from dpcvx.sets import LossSet

_FAR = 2.0**40  # units in which the gain of a counter is taken, so that what it adds does not count


def sum_grounds(plans: tuple[Plan, ...], clipping: Clipping, *, known: bool) -> SumGrounds:
    """What the noise of all epochs hides.

    Args:
        plans: of the epochs, the present one last.
        clipping: what comes before rounding.
        known: whether the horizon is known, so that the number of noisy numbers is.
    """
    Y, last = clipping.loss_set, plans[-1]
    lower, upper = box_of(Y)
    numbers = Y.size * (last.touches if last.counter.factors(last.horizon) is None else last.horizon)
    return SumGrounds(
        own=clipping.neighbours.key,
        shape=tuple(Y.shape),
        lower=tuple((lower + 0.0).tolist()),
        upper=tuple((upper + 0.0).tolist()),
        norm=last.law.norm,
        by_entry=clipping.by_entry,
        hidden=tuple(_hidden(plan, clipping) for plan in plans),
        numbers=numbers if known else None,
    )


def box_of(loss_set: LossSet) -> tuple[Array, Array]:
    """The bounding box of a loss set, as vectors."""
    lower, upper = loss_set.bounding_box()
    return loss_set.flatten(lower), loss_set.flatten(upper)


def _hidden(plan: Plan, clipping: Clipping) -> Hidden:
    law, step = plan.law, plan.grid.step
    if isinstance(law, KNorm):
        half = np.array(law.half)
        if law.body == "ball":
            replaced, zeroed = (moved / half.min() for moved in _named(plan, clipping, 2))
        else:
            replaced, zeroed = (box_length(w, half) for w in _by_entry(plan, clipping))
        return Hidden(step, 1.0, replaced, zeroed, half=tuple(half.tolist()))
    Y, counter = clipping.loss_set, plan.counter
    largest = clipping.neighbours.largest(Y) / step + 1
    slip = float(counter.moved(plan.horizon, 0, 1, Y.size, largest))
    gain = (float(counter.moved(plan.horizon, _FAR, 1, Y.size, largest)) - slip) / _FAR
    return Hidden(step, float(plan.sensitivity.units), *_named(plan, clipping, law.norm), gain=gain, slip=slip)


def _named(plan: Plan, clipping: Clipping, norm: int) -> tuple[float, float]:
    """How far a loss moves under "replace" and "zero-out" in units of the grid."""
    if clipping.by_entry:
        replaced, zeroed = (_length(w, norm) for w in _by_entry(plan, clipping))
        return replaced, zeroed
    Y, step = clipping.loss_set, plan.grid.step
    either = [Y.grid_change(norm, step, from_zero=from_zero) for from_zero in (False, True)]
    # where the other one is rounded in another way, a unit for each entry covers it
    slips = [0.0 if one.toward_zero == plan.sensitivity.toward_zero else Y.size ** (1 / norm) for one in either]
    replaced, zeroed = (float(one.units) + slip for one, slip in zip(either, slips, strict=True))
    if clipping.neighbours.to_zero:  # 0 stays 0, in the set or not
        return max(replaced, zeroed), zeroed
    return replaced, min(replaced, zeroed) if Y.contains(np.zeros(Y.shape)) else replaced


def _by_entry(plan: Plan, clipping: Clipping) -> tuple[Array, Array]:
    """The same for each entry, where each is clipped by itself."""
    lower, upper = (np.rint(end / plan.grid.step) for end in box_of(clipping.loss_set))
    whole, size = upper - lower, np.maximum(np.abs(lower), np.abs(upper))
    return (np.maximum(whole, size), size) if clipping.neighbours.to_zero else (whole, np.minimum(whole, size))


def _length(widths: Array, norm: int) -> float:
    """The norm of whole numbers, rounded up."""
    steps = [int(w) for w in widths]
    return float(sum(steps)) if norm == 1 else math.sqrt(sum(w * w for w in steps)) * (1 + 1e-15)
