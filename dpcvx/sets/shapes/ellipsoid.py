"""Ellipsoids, flat ones included: sets whose one cone is a ball of the lifted coordinates."""

from functools import cached_property
from typing import Self

import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.sets.geometry.ellipsoids import EllipsoidBody, ellipsoids_around
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.shapes.declared_ball import around
from dpcvx.sets.shapes.measure import Measure, bound, exact
from dpcvx.sets.shapes.shape import Facts, Shape
from dpcvx.sets.shapes.stretched_ball import ball_stretch_moment

_OUTWARD = 1 + 1e-12  # arithmetic of a formula


class Ellipsoid(Shape):
    """{ center + M u : |u|_2 <= 1 }, of which `body` knows the axes."""

    batched = True
    has_formulas = True
    argmin_name = project_name = "closed form (ellipsoid)"

    def __init__(self, geometry: Geometry, layout: Layout, body: EllipsoidBody) -> None:
        super().__init__(geometry, layout)
        self.body, self.center, self.middle = body, body.center, body.center
        self.box = body.center - body.rows * _OUTWARD, body.center + body.rows * _OUTWARD

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        cones = facts.geometry.conic.cones.cones
        if len(cones) != 1 or cones[0].count != 1 or not cones[0].is_ball:
            return None
        found = ellipsoids_around(facts.geometry)
        return cls(facts.geometry, facts.layout, found[0]) if found else None

    @property
    def stretch_moment(self) -> float:
        return 1.0 if self.geometry.chart.auxiliaries else ball_stretch_moment(self.geometry.dim)

    def argmin(self, c: Array) -> Array:
        largest = np.abs(c).max(axis=-1, keepdims=True)
        g = (c / np.where(largest > 0, largest, 1.0)) @ self.body.M
        norm = np.sqrt((g * g).sum(axis=-1, keepdims=True))
        return np.asarray(self.center - (g / np.where(norm > 0, norm, 1.0)) @ self.body.M.T)

    def support_bound(self, c: Array) -> float:
        return float(self.interval(c)[1])

    def interval(self, x: Array) -> tuple[Array, Array]:
        return around(self.center, x, np.linalg.norm(x @ self.body.M, axis=-1) * _OUTWARD)

    def project(self, p: Array) -> Array:
        """Along each axis q_i S_i^2/(S_i^2 + mu), with the multiplier mu that makes it a boundary point, 0 inside.

        Newton's method on 1/|point| as a function of mu goes up to it from below; the end is brought inside.
        """
        largest = float(self.body.lengths.max())
        squares = (self.body.lengths / largest) ** 2
        far = np.abs(p - self.center).max(axis=-1, keepdims=True)
        near = ((p - self.center) / np.maximum(far, largest)) @ self.body.axes
        q = near * np.clip(far / largest, 1.0, 1e100)  # beyond that only the direction counts
        weighted = q * np.sqrt(squares)  # of which |weighted/(squares + mu)| = 1
        beyond = (np.abs(weighted) - squares).max(axis=-1, keepdims=True)  # mu is above it, by the longest ratio alone
        mu = np.maximum(np.maximum(np.linalg.norm(weighted, axis=-1, keepdims=True) - 1.0, beyond), 0.0)
        for _ in range(60):
            ratio = weighted / (squares + mu)
            norm = np.sqrt((ratio * ratio).sum(axis=-1, keepdims=True))
            slope = (ratio * ratio / (squares + mu)).sum(axis=-1, keepdims=True)
            step = np.where(norm > 1, (norm - 1) * norm**2 / np.where(slope > 0, slope, 1.0), 0.0)
            mu = mu + step
            if np.all(step <= 1e-15 * mu):  # which is as small as the shortest axis, squared
                break
        ratio = weighted / (squares + mu)
        norm = np.sqrt((ratio * ratio).sum(axis=-1, keepdims=True))
        return np.asarray(self.center + (ratio / np.maximum(norm, 1.0)) @ self.body.images)

    def _holds(self, points: Array) -> Bools:
        if self.body.M.shape[1] != self.layout.size:
            return super()._holds(points)
        away = ((points - self.center) / self.body.rows) @ self._inverse.T
        return np.asarray((away * away).sum(axis=-1) <= 1 + 1e-13)

    @cached_property
    def _inverse(self) -> Array:
        """Of M, every entry in units of its own width."""
        return np.linalg.inv(self.body.M / self.body.rows[:, None])

    # sizes

    def diameter(self, p: float) -> Measure:
        stretch, is_exact = self.body.stretch(p)
        value = 2 * stretch * _OUTWARD
        return exact(value) if is_exact else bound(min(value, super().diameter(p)))

    def norm_bound(self, p: float) -> float:
        return float(self.radius(p))

    def radius(self, p: float) -> Measure:
        if np.isinf(p):
            return exact(float(np.maximum(*map(np.abs, self.box)).max()))
        if p == 2:
            return exact(self.body.farthest() * _OUTWARD)
        stretch, is_exact = self.body.stretch(p)
        value = (float(np.linalg.norm(self.center, p)) + stretch) * _OUTWARD
        if is_exact and not self.center.any():
            return exact(value)
        return bound(min(value, super().norm_bound(p)))

    def _reaches(self) -> list[float]:
        return [float(self.body.lengths.max()) * _OUTWARD]
