"""A polytope around a body of few dimensions, cut where it sticks out farthest: certified norms as tight as one likes.

Let h be the support function of the body and c a covector of dual norm 1. The body lies in { d : <c, d> <= h(c) }, and
it has a point of norm at least h(c). A polytope of such half-spaces has its farthest point at a vertex d; cut by the
covector with <c, d> = |d|, it loses that vertex, or d was no farther than h(c) and nothing is left to gain.
"""

from collections.abc import Callable

import numpy as np
from scipy.spatial import HalfspaceIntersection, QhullError

from dpcvx.arrays import Array

MOST = 6  # dimensions up to which vertices are few enough
_ENOUGH = 1.01  # ratio of the bound to the norm that some point of the body has
_CUTS = 16  # for each norm and each dimension
_AT_ONCE = 6  # cuts before the vertices are found again
_VERTICES = 3000  # at which there is an end to cutting
_OUTWARD = 1 + 1e-8  # of vertices that Qhull found


class Outline:
    """Half-spaces around { origin + B y : y in a body of R^dim that holds 0 }.

    Args:
        origin, B: of shape (size,) and (size, dim).
        support: for covectors (k, size) certified upper bounds of the maxima, at least 0, of <c, B y> over the body.
        covectors, ends: the first covectors (k, size), enough for a bounded polytope, and these bounds for them.
        symmetric: whether the body is the same as its negative.
    """

    def __init__(
        self,
        origin: Array,
        B: Array,
        support: Callable[[Array], Array],
        covectors: Array,
        ends: Array,
        *,
        symmetric: bool,
    ) -> None:
        self._origin, self._B, self._support, self._symmetric = origin, B, support, symmetric
        self._rows, self._ends = np.zeros((0, B.shape[1])), np.zeros(0)
        self._vertices: Array | None = None
        self._cut(covectors, ends)

    def _cut(self, covectors: Array, ends: Array) -> None:
        """Add half-spaces."""
        rows = covectors @ self._B
        norm = np.linalg.norm(rows, axis=1)
        used = norm > 1e-12 * np.linalg.norm(self._B) * np.linalg.norm(covectors, axis=1)
        rows, limits = rows[used] / norm[used, None], ends[used] / norm[used]
        both = (rows, -rows) if self._symmetric else (rows,)
        self._rows = np.concatenate([self._rows, *both])
        self._ends = np.concatenate([self._ends, *([limits] * len(both))])
        self._vertices = self._intersected()

    def _intersected(self) -> Array | None:
        """All vertices; None where Qhull does not find them, or not enough to reach the half-spaces as bodies do."""
        if self._rows.shape[1] == 1:
            up, down = self._rows[:, 0] > 0, self._rows[:, 0] < 0
            return np.array([[self._ends[up].min()], [-self._ends[down].min()]])
        try:
            found = HalfspaceIntersection(np.column_stack([self._rows, -self._ends]), np.zeros(self._rows.shape[1]))
        except QhullError:
            return None
        vertices = found.intersections[np.isfinite(found.intersections).all(axis=1)]
        reached = (vertices @ self._rows.T).max(axis=0, initial=-np.inf)
        return vertices if np.all(reached >= self._ends * (1 - 1e-6)) else None

    def norm_bound(self, p: float, known: float) -> float:
        """An upper bound of the largest p-norm of a point of the body, at most the one that is known already."""
        reached = 0.0
        for _ in range(1 + _CUTS * self._B.shape[1] // _AT_ONCE):
            if self._vertices is None or known <= _ENOUGH * reached:
                return known
            if len(self._vertices) > _VERTICES:
                break
            points = self._origin + self._vertices @ self._B.T
            sizes = np.linalg.norm(points, p, axis=1)
            if sizes.max() <= _ENOUGH * reached:
                break
            covectors = _distinct(points[np.argsort(-sizes)], p)
            ends = self._support(covectors)
            reached = max(reached, float((covectors @ self._origin + ends).max()))
            self._cut(covectors, ends)
        if self._vertices is None:
            return known
        farthest = float(np.linalg.norm(self._origin + self._vertices @ self._B.T, p, axis=1).max())
        return min(known, farthest * _OUTWARD)


def _distinct(points: Array, p: float) -> Array:
    """The covectors c with <c, d> = |d|_p of the first few points d that do not lie close together, or opposite."""
    chosen: list[Array] = []
    for d in points:
        c = _dual_vector(d, p)
        unit = c / np.linalg.norm(c)
        if all(abs(float(unit @ other) / float(np.linalg.norm(other))) < 0.98 for other in chosen):
            chosen.append(c)
        if len(chosen) == _AT_ONCE:
            break
    return np.array(chosen)


def _dual_vector(d: Array, p: float) -> Array:
    """c of dual norm 1 with <c, d> = |d|_p."""
    if p == 1:
        return np.sign(d)
    steep = (np.abs(d) / np.abs(d).max()) ** (p - 1)
    dual = p / (p - 1)
    return np.asarray(np.copysign(steep / np.linalg.norm(steep, dual), d))
