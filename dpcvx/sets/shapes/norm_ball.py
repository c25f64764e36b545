"""Balls of the q-norm in all coordinates: { |x - center|_q <= scale }."""

from functools import cached_property
from typing import Self

import cvxpy as cp
import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.enumeration import Minimiser
from dpcvx.sets.shapes.declared_ball import around, declared_ball
from dpcvx.sets.shapes.measure import Measure, bound, exact
from dpcvx.sets.shapes.shape import Facts, GridChange, Shape
from dpcvx.sets.shapes.sorted_projection import onto_one_norm_ball

_OUTWARD = 1 + 1e-12  # floating-point arithmetic of a formula, rounded outward


class NormBall(Shape):
    """Its norms and widths are formulas; its oracles are solvers, but losses are clipped to the 1-norm by sorting.

    Attributes:
        center, scale, q: as above.
    """

    def __init__(self, geometry: Geometry, layout: Layout, center: Array, scale: float, q: float) -> None:
        super().__init__(geometry, layout)
        self.center, self.scale, self.q = center, scale, q
        self.middle = center

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        ball = declared_ball(facts.declaration, _order)
        return None if ball is None else cls(facts.geometry, facts.layout, *ball)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        return self.center - self.scale, self.center + self.scale

    def _holds(self, points: Array) -> Bools:
        norms = np.linalg.norm(points - self.center, self.q, axis=-1)
        return np.asarray(norms <= self.scale * (1 + 1e-13))

    def _nearest(self, points: Array) -> Array:
        if self.q != 1:
            return super()._nearest(points)
        return self.center + onto_one_norm_ball(points - self.center, self.scale)

    def surely_holds(self, points: Array) -> Bools:
        if self.center.any():
            return super().surely_holds(points)
        return np.asarray(np.linalg.norm(points, self.q, axis=1) <= self.scale)

    def _stretch(self, p: float) -> float:
        """max |d|_p over |d|_q <= 1."""
        n = len(self.center)
        inverse_p, inverse_q = (0.0 if np.isinf(s) else 1 / s for s in (p, self.q))
        return float(n ** max(0.0, inverse_p - inverse_q))

    def radius(self, p: float) -> Measure:
        reach = float(np.linalg.norm(self.center, p))
        if self.q == 1:  # the vertices are center +- scale e_i
            signs = np.where(self.center < 0, -1.0, 1.0)
            if np.isinf(p):
                return exact(float((np.abs(self.center)).max() + self.scale))
            powers = np.abs(self.center) ** p
            moved = np.abs(self.center + self.scale * signs) ** p
            return exact(float((powers.sum() - powers + moved).max()) ** (1 / p) * _OUTWARD)
        value = reach + self.scale * self._stretch(p)
        attained = not self.center.any() or p == self.q or p == 1
        return exact(value) if attained else bound(value)

    def diameter(self, p: float) -> Measure:
        return exact(2 * self.scale * self._stretch(p))

    def interval(self, x: Array) -> tuple[Array, Array]:
        dual = 1.0 if np.isinf(self.q) else np.inf if self.q == 1 else self.q / (self.q - 1)
        half = self.scale * np.linalg.norm(x, dual, axis=-1) * (1 + 1e-15 * x.shape[-1])
        return around(self.center, x, half)

    def _reaches(self) -> list[float]:
        return [float(self.diameter(2)) / 2]

    def grid_change(self, p: int, step: float, *, from_zero: bool) -> GridChange:
        """Around the origin, rounding toward zero stays in the ball: nothing is added to the diameter."""
        if self.center.any():
            return super().grid_change(p, step, from_zero=from_zero)
        steps = self._clipped_steps(p, step, from_zero)
        return GridChange(int(np.floor(steps)) if p == 1 else steps, self._measure(p, from_zero).kind, True)

    def difference_body(self, *, from_zero: bool) -> tuple[str, Array] | None:
        if self.q != 2 or self.center.any():
            return None
        return "ball", np.full(self.layout.size, (1 if from_zero else 2) * self.scale)

    def centered_radius(self, q: float) -> float | None:
        return self.scale if q == self.q and not self.center.any() else None

    def extremes(self, rng: np.random.Generator, count: int) -> Array | None:
        """Points of the sphere for q = 2, corners +-scale e_i for q = 1."""
        if self.center.any() or self.q not in (1, 2):
            return None
        if self.q == 2:
            points = rng.standard_normal((count, *self.layout.shape))
            flat = points.reshape(count, -1)
            flat *= self.scale / np.linalg.norm(flat, axis=1, keepdims=True)
        else:
            points = np.zeros((count, *self.layout.shape))
            flat = points.reshape(count, -1)
            signs = np.where(rng.random(count) < 0.5, -self.scale, self.scale)
            flat[np.arange(count), rng.integers(flat.shape[1], size=count)] = signs
        return self.layout.flatten(points)

    def _listed(self, minimise: Minimiser, most: int) -> Array:
        if self.q != 1:
            return super()._listed(minimise, most)
        ends = self.scale * np.eye(self.layout.size)
        return np.concatenate([self.center + ends, self.center - ends])


def _order(atom: cp.Expression) -> float | None:
    kind = type(atom).__name__
    if kind == "norm1":
        return 1.0
    if kind == "norm_inf":
        return np.inf
    if kind in ("Pnorm", "PnormApprox") and atom.p >= 1:
        return float(atom.p) if float(atom.p).is_integer() or kind == "Pnorm" else None
    return None
