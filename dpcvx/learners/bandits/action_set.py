"""What an action learner plays: a decision set and the finite family of its corners."""

from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

import cvxpy as cp
import numpy as np

from dpcvx.actions import ActionFamily, Arms, PointList
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, UnsupportedConeError
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.geometry.charts import DENSE_LIMIT
from dpcvx.sets.sizes import Sizes

Family = TypeVar("Family", bound=ActionFamily, covariant=True)


@dataclass
class ActionSet(Generic[Family]):
    """Finitely many actions and the set whose corners they are."""

    decision_set: DecisionSet
    family: Family
    _measured: tuple[LossSet, tuple[float, float]] | None = field(default=None, repr=False)

    def values(self, loss_set: LossSet, sizes: Sizes) -> tuple[float, float]:
        """The least and the largest <loss, action>, from outside, remembered for one loss set."""
        if self._measured is None or self._measured[0] is not loss_set:
            self._measured = loss_set, self._values(sizes)
        return self._measured[1]

    def _values(self, sizes: Sizes) -> tuple[float, float]:
        def ranges(points: Array) -> tuple[Array, Array]:
            return losses.ranges(self.decision_set.unflatten(points))

        losses = sizes.losses
        lower, upper = (losses.flatten(end) for end in losses.bounding_box())
        known = self.family.values((lower, upper), ranges)
        return sizes.values if known is None else known


def action_set(actions: Any) -> ActionSet[ActionFamily]:
    """The actions of a declared polytope, or those listed in an array (k, N).

    Raises:
        ValueError: where an array is none of finite numbers of that shape.
        UnsupportedConeError: where a set is no polytope, or there are too many actions.
    """
    if isinstance(actions, ActionSet):
        return actions
    if isinstance(actions, DecisionSet):
        return _corners(actions)
    points = np.asarray(actions)
    if points.dtype.kind not in "biuf" or points.ndim != 2 or not points.size or not np.isfinite(points).all():
        came = f"an array of shape {points.shape}" if points.dtype.kind in "biuf" else repr(actions)
        raise ArgumentError(
            f"actions must be a DecisionSet or a finite array (count, size), one action a row, not {came}."
        )
    points = points.astype(float)
    if len(points) > 1 and np.array_equal(points, np.eye(len(points))):
        return ActionSet(arm_simplex(len(points)), Arms(len(points)))
    return ActionSet(_hull(points), PointList(points))


@lru_cache(maxsize=16)
def _corners(decision_set: DecisionSet) -> ActionSet[ActionFamily]:
    """The corners of a declared polytope, found once for all learners on it."""
    return ActionSet(decision_set, decision_set.action_family())


def arm_simplex(arms: int) -> DecisionSet:
    """The distributions over so many arms."""
    x = cp.Variable(arms, nonneg=True)
    return DecisionSet(x, [cp.sum(x) == 1], name=f"{arms} arms")


def _hull(points: Array) -> DecisionSet:
    """The convex hull of the rows."""
    count, size = points.shape
    x = cp.Variable(size)
    if (points == points[0]).all():
        return DecisionSet(x, [x == points[0]], name="one action")
    if count + size > DENSE_LIMIT:
        raise UnsupportedConeError(
            f"The hull of {count} actions of size {size} is too large to be declared by their weights: "
            f"that is done up to {DENSE_LIMIT - size} of them. Declare it by inequalities."
        )
    weights = cp.Variable(count, nonneg=True)
    oracle = partial(_cheapest, points)
    constraints = [x == points.T @ weights, cp.sum(weights) == 1]
    return DecisionSet(x, constraints, oracle=oracle, name=f"hull of {count} actions")


def _cheapest(points: Array, c: Array) -> Array:
    """The row with the least <c, row>."""
    row: Array = points[np.argmin(points @ c)].copy()
    return row
