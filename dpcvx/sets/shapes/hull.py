"""The convex hull of listed points, declared by weights: x = sum w_i p_i, w >= 0, sum w_i = 1."""

from typing import Self

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.enumeration import Minimiser
from dpcvx.sets.shapes.polytope import Polytope
from dpcvx.sets.shapes.shape import Facts


class Hull(Polytope):
    """The hull of the rows of `points`."""

    _margin = 0.0

    def __init__(self, geometry: Geometry, layout: Layout, points: Array) -> None:
        super().__init__(geometry, layout)
        self.points = points

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        points = hull_points(facts.geometry.conic)
        return None if points is None else cls(facts.geometry, facts.layout, points)

    def _listed(self, minimise: Minimiser, most: int) -> Array:
        assert self.points is not None
        return np.unique(self.points, axis=0)


def hull_points(conic: ConicSet) -> Array | None:
    """The points of a hull declared by weights, one a row; None for any other set.

    All rows must be w_j >= 0 on the auxiliary columns, the equalities must determine x from w and fix one positive
    sum of w.
    """
    weights = np.flatnonzero(conic.auxiliary)
    others = np.flatnonzero(~conic.auxiliary)
    single = np.diff(conic.A.indptr) == 1
    if not len(weights) or not conic.is_polyhedral or not single.all() or conic.columns > DENSE_LIMIT:
        return None
    if not np.array_equal(np.sort(conic.A.indices), weights) or np.any(conic.A.data >= 0) or conic.b.any():
        return None
    E, e = conic.E.toarray(), conic.e
    Q, R = np.linalg.qr(E[:, others], mode="complete")
    k = len(others)
    if E.shape[0] != k + 1 or (k and np.abs(np.diagonal(R)).min() < 1e-4 * np.abs(R).max()):
        return None
    total, value = Q[:, k] @ E[:, weights], float(Q[:, k] @ e)
    if np.any(total * value <= 1e-12 * np.abs(total).max() * abs(value)):
        return None
    columns = np.zeros((conic.columns, len(weights)))
    columns[weights, np.arange(len(weights))] = value / total  # all weight on one point
    right = e[:, None] - E[:, weights] @ columns[weights]
    columns[others] = np.linalg.lstsq(E[:, others], right, rcond=None)[0]
    return conic.point(columns.T)
