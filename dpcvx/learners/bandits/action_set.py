"""What an action learner plays: a decision set and the finite family of its corners."""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import cvxpy as cp
import numpy as np

from dpcvx.actions.families import ActionFamily, Arms, BoxCorners, KSets, PointList
from dpcvx.actions.paths import Paths
from dpcvx.arrays import Array
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry.charts import DENSE_LIMIT
from dpcvx.sets.oracles.enumeration import vertices
from dpcvx.sets.shapes.closed_forms import Knapsack
from dpcvx.sets.sizes import Sizes

_LISTED = math.log(500)  # ln of the number of k-sets or paths up to which a list is faster than the formula
_OUTWARD = 1 + 1e-15  # the product of a scale and a radius, rounded outward
Family = TypeVar("Family", bound=ActionFamily, covariant=True)


@dataclass
class ActionSet(Generic[Family]):
    """Finitely many actions and the set whose corners they are."""

    decision_set: DecisionSet
    family: Family
    _measured: tuple[LossSet, float] | None = field(default=None, repr=False)

    def magnitude(self, loss_set: LossSet, sizes: Sizes) -> float:
        """M: an upper bound of |<loss, action>|, remembered for one loss set."""
        if self._measured is None or self._measured[0] is not loss_set:
            self._measured = loss_set, self._magnitude(loss_set, sizes)
        return self._measured[1]

    def _magnitude(self, loss_set: LossSet, sizes: Sizes) -> float:
        if isinstance(self.family, Arms):
            return self.family.scale * float(loss_set.radius(np.inf)) * _OUTWARD
        if not isinstance(self.family, PointList):
            return sizes.magnitude
        ends = loss_set.ranges(self.decision_set.unflatten(self.family.points))
        return max(float(np.abs(end).max()) for end in ends)


def action_set(actions: Any) -> ActionSet[ActionFamily]:
    """The actions of a declared polytope, or those listed in an array (k, N).

    Raises:
        ValueError: where an array is none of finite numbers of that shape.
        UnsupportedConeError: where a set is no polytope, or there are too many actions.
    """
    if isinstance(actions, ActionSet):
        return actions
    if isinstance(actions, DecisionSet):
        return ActionSet(actions, _known_family(actions) or PointList(vertices(actions)))
    points = np.asarray(actions)
    if points.dtype.kind not in "biuf" or points.ndim != 2 or not points.size or not np.isfinite(points).all():
        came = f"an array of shape {points.shape}" if points.dtype.kind in "biuf" else repr(actions)
        raise ValueError(
            f"actions must be a DecisionSet or a finite array (count, size), one action a row, not {came}."
        )
    points = points.astype(float)
    if len(points) > 1 and np.array_equal(points, np.eye(len(points))):
        return ActionSet(arm_simplex(len(points)), Arms(len(points)))
    return ActionSet(_hull(points), PointList(points))


def arm_simplex(arms: int) -> DecisionSet:
    """The distributions over so many arms."""
    x = cp.Variable(arms, nonneg=True)
    return DecisionSet(x, [cp.sum(x) == 1], name=f"{arms} arms")


def arms_of(decision_set: DecisionSet) -> Arms | None:
    """The corners of a simplex { x >= 0, sum x = scale }, otherwise None."""
    form = decision_set.closed_form
    plain = form.plain() if isinstance(form, Knapsack) and form.is_simplex else None
    return None if plain is None or plain[2] is None else Arms(decision_set.size, plain[2])


def paths_of(decision_set: DecisionSet) -> Paths | None:
    """The paths of unit flows { x >= 0, outflow - inflow = 1 at a source, -1 at a target, 0 elsewhere }, or None.

    One node may be left out, whose equation follows from the others.
    """
    if not decision_set.is_polytope or decision_set.closed_form is not None:
        return None
    form = lift(declare(decision_set.variable, decision_set.constraints))
    entries = np.arange(decision_set.size)
    plain = form.columns == len(entries) == form.P.nnz and (form.P.data == 1).all() and not form.offset.any()
    single = form.A.shape[0] == form.A.nnz and (form.A.data < 0).all() and not form.b.any()
    if not plain or not single or len(np.unique(form.A.indices)) < len(entries) or not form.E.shape[0]:
        return None
    flow = form.E.toarray()[:, form.P.indices]
    flow, demand = np.vstack([flow, -flow.sum(axis=0)]), np.append(form.e, -form.e.sum())
    for values, count in ((flow, np.ones(len(entries))), (demand, 1)):
        if not np.isin(values, (-1, 0, 1)).all():
            return None
        if not all(np.array_equal((values == sign).sum(axis=0), count) for sign in (1, -1)):
            return None
    tails, heads = (np.argmax(flow == sign, axis=0) for sign in (1, -1))
    source, target = (int(np.argmax(demand == sign)) for sign in (1, -1))
    return Paths(tails, heads, source, target)


def _known_family(decision_set: DecisionSet) -> ActionFamily | None:
    """The family of a recognised box, simplex, k-set or flow polytope."""
    form = decision_set.closed_form
    paths = paths_of(decision_set)
    if paths is not None:
        return PointList(paths.listed()) if paths.log_count <= _LISTED else paths
    plain = form.plain() if isinstance(form, Knapsack) else None
    if plain is None:
        return None
    lower, upper, total = plain
    if total is None:
        return BoxCorners(lower, upper)
    arms = arms_of(decision_set)
    if arms is not None:
        return arms
    k = total / upper[0]
    capped = not lower.any() and np.ptp(upper) <= 1e-14 * upper[0] and abs(k - round(k)) <= 1e-12 * k
    if not capped or not 0 < round(k) < decision_set.size:
        return None
    sets = KSets(decision_set.size, round(k), float(upper[0]))
    return PointList(sets.listed()) if sets.log_count <= _LISTED else sets


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
