"""Balls of the nuclear and of the spectral norm around a matrix, in all its entries."""

from functools import cached_property
from typing import Self

import cvxpy as cp
import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.shapes.declared_ball import around, declared_ball
from dpcvx.sets.shapes.measure import Measure, bound, exact
from dpcvx.sets.shapes.shape import Facts, Shape
from dpcvx.sets.shapes.sorted_projection import onto_one_norm_ball

_ORDERS = {"normNuc": 1.0, "sigma_max": np.inf}  # q: the norm is the q-norm of the singular values
_OUTWARD = 1 + 1e-12  # arithmetic of a formula


class MatrixBall(Shape):
    """The ball of radius `scale` of the nuclear norm (q = 1) or the spectral norm (q = infinity)."""

    def __init__(self, geometry: Geometry, layout: Layout, center: Array, scale: float, q: float) -> None:
        super().__init__(geometry, layout)
        self.center, self.scale, self.q = center, scale, q
        self.middle = center

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        ball = declared_ball(facts.declaration, _order)
        if ball is None or np.ptp(ball[1]) > 1e-12 * ball[1][0]:
            return None
        return cls(facts.geometry, facts.layout, ball[0], float(ball[1][0]), ball[2])

    @cached_property
    def box(self) -> tuple[Array, Array]:
        return self.center - self.scale, self.center + self.scale

    def _matrices(self, x: Array) -> Array:
        """Vectors as matrices, transposed: they list them column by column."""
        return x.reshape(*x.shape[:-1], *self.layout.shape[::-1])

    def _holds(self, points: Array) -> Bools:
        values = np.linalg.svd(self._matrices(points - self.center), compute_uv=False)
        norms = values.sum(axis=-1) if self.q == 1 else values.max(axis=-1)
        return np.asarray(norms <= self.scale * (1 + 1e-13))

    def _nearest(self, points: Array) -> Array:
        """Both norms see singular values alone: these are projected, and the singular vectors stay."""
        u, values, v = np.linalg.svd(self._matrices(points - self.center), full_matrices=False)
        inside = onto_one_norm_ball(values, self.scale) if self.q == 1 else np.minimum(values, self.scale)
        return np.asarray(self.center + ((u * inside[..., None, :]) @ v).reshape(points.shape))

    def _stretch(self, p: float) -> Measure:
        """max |D|_p, entry by entry, over the ball of radius 1 around 0.

        Nuclear: its extreme points u v' have |u v'|_p = |u|_p |v|_p. Spectral: no column is longer than 1, and the
        Frobenius norm is at most the square root of the rank.
        """
        m, n = self.layout.shape
        inverse = 0.0 if np.isinf(p) else 1 / p
        if self.q == 1:
            return exact(float((m * n) ** max(0.0, inverse - 0.5)))
        if np.isinf(p):
            return exact(1.0)
        frobenius = min(m, n) ** 0.5
        if p == 2:
            return exact(frobenius)
        return bound(frobenius * float((m * n) ** max(0.0, inverse - 0.5)))

    def norm_bound(self, p: float) -> float:
        return float(self.radius(p)) * _OUTWARD

    def radius(self, p: float) -> Measure:
        stretch = self._stretch(p)
        value = float(np.linalg.norm(self.center, p)) + self.scale * float(stretch)
        if stretch.kind == "exact" and not self.center.any():
            return exact(value)
        return bound(min(value, super().norm_bound(p)))

    def diameter(self, p: float) -> Measure:
        stretch = self._stretch(p)
        value = 2 * self.scale * float(stretch)
        return exact(value) if stretch.kind == "exact" else bound(min(value, super().diameter(p)))

    def support_bound(self, c: Array) -> float:
        return float(self.interval(c)[1])

    def interval(self, x: Array) -> tuple[Array, Array]:
        values = np.linalg.svd(self._matrices(x), compute_uv=False)
        dual = values.max(axis=-1) if self.q == 1 else values.sum(axis=-1)
        return around(self.center, x, self.scale * dual * (1 + 1e-13 * x.shape[-1]))

    def _reaches(self) -> list[float]:
        return [float(self.diameter(2)) / 2]


def _order(atom: cp.Expression) -> float | None:
    return _ORDERS.get(type(atom).__name__)
