"""Ellipsoids { center + M u : |u|_2 <= 1 }, flat ones included: what one ball of the lifted coordinates is in x."""

import itertools
from functools import cached_property
from typing import Self

import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.shapes.declared_ball import around
from dpcvx.sets.shapes.measure import Measure, bound, exact
from dpcvx.sets.shapes.shape import Facts, Shape
from dpcvx.sets.shapes.tangents import tangents

_LARGE = 600  # entries above which no singular values are taken
_SIGNS = 12  # entries up to which all signs are tried for the 1-norm
_OUTWARD = 1 + 1e-12  # arithmetic of a formula


class Ellipsoid(Shape):
    """The image of a ball: M has the singular values `lengths`, and the columns of `axes` (size, dim) belong to them.

    What speaks of single entries is asked of M, whose rows have all their digits whatever units the entries are in.
    """

    batched = True
    has_formulas = True
    argmin_name = project_name = "closed form (ellipsoid)"

    def __init__(self, geometry: Geometry, layout: Layout, center: Array, M: Array) -> None:
        super().__init__(geometry, layout)
        self.center, self._M = center, M
        axes, lengths, _ = np.linalg.svd(M, full_matrices=False)
        self.axes, self.lengths = axes[:, : geometry.dim], lengths[: geometry.dim]
        self.middle = center
        self._rows = np.linalg.norm(self._M, axis=1) * _OUTWARD  # how far each entry goes
        self.box = center - self._rows, center + self._rows

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        found = _ellipsoid(facts.geometry)
        return None if found is None else cls(facts.geometry, facts.layout, *found)

    def argmin(self, c: Array) -> Array:
        largest = np.abs(c).max(axis=-1, keepdims=True)
        g = (c / np.where(largest > 0, largest, 1.0)) @ self._M
        norm = np.sqrt((g * g).sum(axis=-1, keepdims=True))
        return np.asarray(self.center - (g / np.where(norm > 0, norm, 1.0)) @ self._M.T)

    def support_bound(self, c: Array) -> float:
        return float(self.interval(c)[1])

    def interval(self, x: Array) -> tuple[Array, Array]:
        return around(self.center, x, np.linalg.norm(x @ self._M, axis=-1) * _OUTWARD)

    def project(self, p: Array) -> Array:
        """Along each axis q_i S_i^2/(S_i^2 + mu), with the multiplier mu that makes it a boundary point, 0 inside.

        Newton's method on 1/|point| as a function of mu goes up to it from below; the end is brought inside.
        """
        largest = float(self.lengths.max())
        squares = (self.lengths / largest) ** 2
        far = np.abs(p - self.center).max(axis=-1, keepdims=True)
        near = ((p - self.center) / np.maximum(far, largest)) @ self.axes
        q = near * np.clip(far / largest, 1.0, 1e100)  # beyond that only the direction counts
        weighted = q * np.sqrt(squares)  # of which |weighted/(squares + mu)| = 1
        mu = np.maximum(np.linalg.norm(weighted, axis=-1, keepdims=True) - 1.0, 0.0)
        for _ in range(60):
            ratio = weighted / (squares + mu)
            norm = np.sqrt((ratio * ratio).sum(axis=-1, keepdims=True))
            slope = (ratio * ratio / (squares + mu)).sum(axis=-1, keepdims=True)
            step = np.where(norm > 1, (norm - 1) * norm**2 / np.where(slope > 0, slope, 1.0), 0.0)
            mu = mu + step
            if np.all(step <= 1e-15 * (1 + mu)):
                break
        ratio = weighted / (squares + mu)
        norm = np.sqrt((ratio * ratio).sum(axis=-1, keepdims=True))
        inside = largest * q * (squares / (squares + mu)) / np.maximum(norm, 1.0)
        return np.asarray(self.center + inside @ self.axes.T)

    def _holds(self, points: Array) -> Bools:
        if self._M.shape[1] != self.layout.size:
            return super()._holds(points)
        away = ((points - self.center) / self._rows) @ self._inverse.T
        return np.asarray((away * away).sum(axis=-1) <= 1 + 1e-13)

    @cached_property
    def _inverse(self) -> Array:
        """Of M, every entry in units of its own width."""
        return np.linalg.inv(self._M / self._rows[:, None])

    # sizes

    @cached_property
    def _is_aligned(self) -> bool:
        """Whether the axes are those of the coordinates: M u moves every entry by a coordinate of its own."""
        gram = self._M @ self._M.T
        off = gram - np.diag(np.diagonal(gram))
        return bool(np.abs(off).max() <= 1e-14 * np.diagonal(gram).min())

    @cached_property
    def _one_norm(self) -> Measure:
        """max |M u|_1 = max |M's|_2 over all signs s, where there are few; otherwise the best of several bounds.

        D - M M' is positive semidefinite for D = the row sums of |M M'|, so that |M's|^2 <= the sum of D.
        """
        n = self.layout.size
        if n <= _SIGNS:
            signs = np.array(list(itertools.product((1.0, -1.0), repeat=n - 1))).reshape(-1, n - 1)
            signs = np.concatenate([np.ones((len(signs), 1)), signs], axis=1)
            return exact(float(np.linalg.norm(signs @ self._M, axis=1).max()))
        dominant = float(np.sqrt(np.abs(self._M @ self._M.T).sum()))
        return bound(min(dominant, float(self.lengths.max()) * np.sqrt(n), float(self._rows.sum())))

    def _stretch(self, p: float) -> Measure:
        """max |M u|_p over the ball: the longest axis for p = 2, the widest entry for p = infinity, and by Hölder."""
        longest, widest = float(self.lengths.max()), float(self._rows.max())
        if np.isinf(p):
            return exact(widest)
        if p == 2:
            return exact(longest)
        if p == 1:
            return self._one_norm
        if self._is_aligned:
            return exact(widest if p > 2 else float(np.linalg.norm(self._rows, 2 * p / (2 - p))))
        corner = float(np.linalg.norm(self._rows, p))
        if p > 2:  # |y|_p^p <= |y|_2^2 |y|_inf^(p-2)
            return bound(min(corner, longest ** (2 / p) * widest ** (1 - 2 / p)))
        interpolated = float(self._one_norm) ** (2 / p - 1) * longest ** (2 - 2 / p)
        return bound(min(corner, interpolated, longest * self.layout.size ** (1 / p - 0.5)))

    def diameter(self, p: float) -> Measure:
        stretch = self._stretch(p)
        return Measure(2 * float(stretch) * _OUTWARD, stretch.kind)

    def norm_bound(self, p: float) -> float:
        return float(self.radius(p))

    def radius(self, p: float) -> Measure:
        if np.isinf(p):
            return exact(float(np.maximum(*map(np.abs, self.box)).max()))
        if p == 2:
            return exact(self._farthest() * _OUTWARD)
        stretch = self._stretch(p)
        value = (float(np.linalg.norm(self.center, p)) + float(stretch)) * _OUTWARD
        if not self.center.any():
            return Measure(value, stretch.kind)
        euclidean = self._farthest() * self.layout.size ** max(0.0, 1 / p - 0.5) * _OUTWARD
        return bound(min(value, euclidean, super().norm_bound(p)))

    def _farthest(self) -> float:
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

    def _reaches(self) -> list[float]:
        return [float(self.lengths.max()) * _OUTWARD]


def _ellipsoid(geometry: Geometry) -> tuple[Array, Array] | None:
    """(center, M) where the set is one second-order cone with a constant head; None for any other."""
    conic, cones = geometry.conic, geometry.conic.cones.cones
    if len(cones) != 1 or not cones[0].is_ball or cones[0].count != 1 or not geometry.dim or geometry.size > _LARGE:
        return None
    if conic.A.indptr[1] > 0 and np.abs(conic.A[[0]] @ tangents(geometry.chart).T).max() > 0:
        return None
    W = tangents(geometry.chart)  # (directions, lifted coordinates)
    slack = conic.slack(geometry.chart.v0)
    T = -(conic.A[1:] @ W.T)
    Q, R = np.linalg.qr(T)
    if np.abs(np.diagonal(R)).min() <= 1e-10 * np.abs(R).max():
        return None
    to_center = -np.linalg.solve(R, Q.T @ slack[1:])
    rest = slack[1:] + T @ to_center
    radius = np.sqrt(max(float(slack[0] ** 2 - rest @ rest), 0.0))
    B = np.asarray(W @ conic.P.T)  # (directions, entries)
    M = radius * np.linalg.solve(R.T, B).T
    return geometry.center + to_center @ B, M
