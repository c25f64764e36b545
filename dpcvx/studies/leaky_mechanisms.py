"""Deliberately wrong mechanisms whose mistakes sampling does not see: a coupling must flag every one.

Like those of `broken_mechanisms` they show that the audit has power, and are used for nothing else. All of them are
secure but for one mistake: a sensitivity a little short, a bit of the true sum, a value that is not clipped, a release
made twice, a text or an exception that depends on the losses; or a declared change that is taken for less than it is.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.learners import PrivateBandit
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.change import Change
from dpcvx.privacy.feedback import Interval, SecureFeedback
from dpcvx.privacy.plan import Plan
from dpcvx.privacy.private_sums import PrivateSums
from dpcvx.sets import LossSet
from dpcvx.sets.shapes import GridChange
from dpcvx.sets.sizes import Sizes

_TINY = 2.0**-10  # of the grid


class ShortSensitivity(PrivateSums):
    """A scale that is a thousandth too small."""

    def planned(self, horizon: int) -> Plan:
        right = super().planned(horizon)
        return replace(right, law=replace(right.law, scale=right.law.scale * 0.999))


class LowBitShown(PrivateSums):
    """Prefixes whose lowest bits are those of the true sum."""

    @property
    def prefix(self) -> Array:
        odd = self.loss_set.unflatten((self._epoch.counter.total % 2).astype(float))
        return np.asarray(super().prefix + odd * self.plan.grid.step * _TINY)


class SumInTheCertificate(PrivateSums):
    """A certificate that mentions whether the true sum is positive."""

    @property
    def certificate(self) -> Certificate:
        right = super().certificate
        return replace(right, notes=(*right.notes, f"positive: {bool((self._epoch.counter.total > 0).all())}"))


class LossInTheException(PrivateSums):
    """Losses of large entries are refused by an exception, although they lie in the set."""

    def update(self, loss: Any) -> None:
        if np.max(loss) > 0.9:
            raise ValueError("The loss is large.")
        super().update(loss)


class UnclippedFeedback(SecureFeedback):
    """Feedback that is summed as it comes."""

    def clipped(self, value: Any, interval: Interval) -> int:
        return round(float(value) / self.grid.step)


class RepeatedFeedback(SecureFeedback):
    """Every sum of a batch is released twice, and the mean is handed on: less noise for twice the epsilon."""

    def release(self, total: int, action: Array, interval: Interval) -> float:
        return (super().release(total, action, interval) + super().release(total, action, interval)) / 2


class HundredthShort(Change):
    """A declared change that is taken for a hundredth less than it is."""

    def grid_change(self, loss_set: LossSet, norm: int, step: float) -> GridChange:
        right = super().grid_change(loss_set, norm, step)
        return replace(right, units=int(right.units * 0.99) if norm == 1 else right.units * 0.99)

    def feedback_units(self, sizes: Sizes, step: float) -> int:
        return int(super().feedback_units(sizes, step) * 0.99)


class UnitForgotten(Change):
    """A declared change in units of the grid without what rounding adds to it."""

    def grid_change(self, loss_set: LossSet, norm: int, step: float) -> GridChange:
        right = super().grid_change(loss_set, norm, step)
        return replace(right, units=min(right.units, int(float(self.norm(norm)) / step)))


class NearestLoss(Change):
    """A declared change under which losses go to the nearest point of their set, not entry by entry to its box."""

    def clipper(self, loss_set: LossSet, leading: tuple[int, ...] = ()) -> Callable[[Array], Array]:
        return loss_set.clipper(leading)


class LeakyBandit(PrivateBandit):
    """A private bandit with another feedback than it was calibrated with."""

    def __init__(self, learner: Any, epsilon: float, kind: type[SecureFeedback], **options: Any) -> None:
        super().__init__(learner, epsilon, **options)
        right = self._feedback
        assert isinstance(right, SecureFeedback)
        change = None if right.change is None else int(right.change)
        people = (right.neighbours, right.rounds_per_person, change)
        self._feedback = kind(right.loss_set, right.epsilon, right.grid, *people)
