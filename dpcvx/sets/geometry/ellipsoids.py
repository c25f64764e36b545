"""Ellipsoids { center + M u : |u|_2 <= 1 } as bodies: their norms, and those around a set that its own cones name."""

import itertools
from functools import cached_property

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts import Chart
from dpcvx.sets.geometry.geometry import Geometry

LARGE = 600  # entries above which no singular values are taken
_SIGNS = 12  # entries up to which all signs are tried for the 1-norm
_RANK = 1e-9  # relative size below which a direction counts as one that a ball does not see


class EllipsoidBody:
    """The image of a ball: M has the singular values `lengths`, and the columns of `axes` (size, dim) belong to them.

    What speaks of single entries is asked of M, whose rows have all their digits whatever units the entries are in.
    """

    def __init__(self, center: Array, M: Array, dim: int) -> None:
        self.center, self.M = center, M
        axes, lengths, turned = np.linalg.svd(M, full_matrices=False)
        self.axes, self.lengths = axes[:, :dim], lengths[:dim]
        self.images = turned[:dim] @ M.T  # of the points of the ball that go to the ends of the axes, one a row
        self.rows = np.linalg.norm(M, axis=1) * (1 + 1e-14 * M.shape[1])  # how far each entry goes

    @cached_property
    def _is_aligned(self) -> bool:
        """Whether the axes are those of the coordinates: M u moves every entry by a coordinate of its own."""
        gram = self.M @ self.M.T
        off = gram - np.diag(np.diagonal(gram))
        return bool(np.abs(off).max() <= 1e-14 * np.diagonal(gram).min())

    @cached_property
    def _one_norm(self) -> tuple[float, bool]:
        """max |M u|_1 = max |M's|_2 over all signs s, where there are few; otherwise the best of several bounds.

        D - M M' is positive semidefinite for D = the row sums of |M M'|, so that |M's|^2 <= the sum of D.
        """
        n = len(self.rows)
        if n <= _SIGNS:
            signs = np.array([(1.0, *others) for others in itertools.product((1.0, -1.0), repeat=n - 1)])
            return float(np.linalg.norm(signs @ self.M, axis=1).max()), True
        dominant = float(np.sqrt(np.abs(self.M @ self.M.T).sum()))
        return min(dominant, float(self.lengths.max()) * np.sqrt(n), float(self.rows.sum())), self._is_aligned

    def stretch(self, p: float) -> tuple[float, bool]:
        """max |M u|_p over the ball, or an upper bound, and whether it is the maximum.

        The longest axis for p = 2, the widest entry for p = infinity; between and beyond them by Hölder.
        """
        longest, widest = float(self.lengths.max()), float(self.rows.max())
        if np.isinf(p):
            return widest, True
        if p == 2:
            return longest, True
        if p == 1:
            return self._one_norm
        if self._is_aligned:
            return (widest if p > 2 else float(np.linalg.norm(self.rows, 2 * p / (2 - p)))), True
        corner = float(np.linalg.norm(self.rows, p))
        if p > 2:  # |y|_p^p <= |y|_2^2 |y|_inf^(p-2)
            return min(corner, longest ** (2 / p) * widest ** (1 - 2 / p)), False
        interpolated = self._one_norm[0] ** (2 / p - 1) * longest ** (2 - 2 / p)
        return min(corner, interpolated, longest * len(self.rows) ** (1 / p - 0.5)), False

    def farthest(self) -> float:
        """max |x|_2. With a the center along the axes, S the lengths, and any m > max S^2,

        |a + S u|^2 <= m + sum a_i^2 m/(m - S_i^2) for |u| <= 1, with equality for the best m.
        """
        a = self.center @ self.axes
        beside = self.center - self.axes @ a
        squares, top = self.lengths**2, float(self.lengths.max()) ** 2
        seen = np.abs(a) > 0
        a, squares = a[seen], squares[seen]
        if not len(a):
            return float(np.sqrt(top + beside @ beside))
        low, high = 1e-18 * top, float(np.linalg.norm(a * np.sqrt(squares)))
        for _ in range(200):  # the slope 1 - sum a^2 S^2/(m - S^2)^2 changes its sign in between
            middle = np.sqrt(low * high)
            gaps = middle + (top - squares)
            if float(((a / gaps) ** 2 * squares).sum()) > 1:
                low = middle
            else:
                high = middle
        m = top + high
        value = m + float((a * a * (m / (high + (top - squares)))).sum())
        return float(np.sqrt(value + beside @ beside))


def tangents(chart: Chart) -> Array:
    """A basis of the directions of the lifted set, one a row, scaled by the barrier at the center."""
    joint = np.eye(chart.size) if chart.auxiliaries else chart.tangent_basis().T
    return chart.lifted(joint) - chart.v0


def ellipsoids_around(geometry: Geometry) -> list[EllipsoidBody]:
    """The ellipsoids that hold the set because one of its cones says |tail| <= a constant head.

    Along the directions W of the lifted set the tail is t - T z; where T sees all that moves x, z is within a ball of
    the metric T'T, and x in the image of that ball.
    """
    conic, chart = geometry.conic, geometry.chart
    if geometry.size > LARGE or not geometry.dim or chart.size > LARGE:
        return []
    balls = [
        slice(rows.start + k * cone.block, rows.start + (k + 1) * cone.block)
        for cone, rows in conic.cones
        if cone.is_ball
        for k in range(cone.count)
    ]
    if not balls:
        return []
    W = tangents(chart)
    slack, B = conic.slack(chart.v0), np.asarray(W @ conic.P.T)  # B of shape (directions, entries)
    found = []
    for rows in balls:
        T = np.asarray(conic.A[rows] @ W.T)
        head, T, t = T[0], T[1:], slack[rows][1:]
        if np.abs(head).max(initial=0.0) > 1e-14 * np.abs(T).max(initial=0.0):
            continue
        U, sizes, V = np.linalg.svd(T, full_matrices=False)
        seen = sizes > _RANK * sizes.max(initial=0.0)
        if not seen.any():
            continue
        V = V[seen]
        missed = B - V.T @ (V @ B)  # how x moves beside what the ball sees
        if np.any(np.linalg.norm(missed, axis=0) > 1e-12 * np.linalg.norm(B, axis=0)):
            continue
        along = U[:, seen].T @ t
        rest = float(t @ t - along @ along)
        radius = np.sqrt(max(float(slack[rows.start]) ** 2 - max(rest, 0.0), 0.0))
        to_x = (V @ B).T / sizes[seen]
        found.append(EllipsoidBody(geometry.center + to_x @ along, radius * to_x, geometry.dim))
    return found
