"""Balls of the q-norm, all coordinates in units of their own: { |(x - center)/axes|_q <= 1 }."""

from functools import cached_property
from typing import Self

import cvxpy as cp
import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.sets.geometry.envelopes import epigraphs
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.enumeration import Minimiser
from dpcvx.sets.shapes.declared_ball import around, declared_ball
from dpcvx.sets.shapes.measure import Measure, bound, exact
from dpcvx.sets.shapes.power_projection import onto_power_ball
from dpcvx.sets.shapes.shape import Facts, GridChange, Shape
from dpcvx.sets.shapes.sorted_projection import onto_one_norm_ball, onto_weighted_ball

_OUTWARD = 1 + 1e-12  # floating-point arithmetic of a formula, rounded outward


class NormBall(Shape):
    """Its sizes, widths and minimisers are formulas, and projections where q = 1 or all axes are the same.

    Attributes:
        center, axes, q: as above.
        scale: the longest axis.
        is_uniform: whether all axes are the same.
    """

    def __init__(self, geometry: Geometry, layout: Layout, center: Array, axes: Array, q: float) -> None:
        super().__init__(geometry, layout)
        self.center, self.axes, self.q = center, axes, q
        self.scale = float(axes.max())
        self.is_uniform = bool(np.ptp(axes) <= 1e-15 * self.scale)
        self.middle = center
        self._projects = q == 1 or (self.is_uniform and q < np.inf)

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        ball = declared_ball(facts.declaration, _order) or weighted_one_norm(facts.geometry)
        return None if ball is None else cls(facts.geometry, facts.layout, *ball)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        return self.center - self.axes, self.center + self.axes

    # oracles

    argmin_name = "closed form (norm ball)"

    @property
    def project_name(self) -> str:
        return "closed form (norm ball)" if self._projects else super().project_name

    def argmin(self, c: Array) -> Array:
        """Where Hölder's inequality <c, a u> >= -|a c|_dual |u|_q is tight."""
        steep = np.abs(c) * self.axes
        largest = steep.max(axis=-1, keepdims=True)
        steep = steep / np.where(largest > 0, largest, 1.0)
        if self.q == 1:
            u = np.zeros_like(steep)
            np.put_along_axis(u, steep.argmax(axis=-1)[..., None], 1.0, -1)
        elif np.isinf(self.q):
            u = np.ones_like(steep)
        else:
            u = steep ** (1 / (self.q - 1))
            u /= np.maximum((u**self.q).sum(axis=-1, keepdims=True), 1.0) ** (1 / self.q)
        u = np.where(largest > 0, u, 0.0)
        return np.asarray(self.center - self.axes * np.sign(c) * u)

    def support_bound(self, c: Array) -> float:
        return float(self.interval(c)[1])

    def project(self, p: Array) -> Array:
        return self._nearest(p) if self._projects else super().project(p)

    def projections(self, points: Array) -> Array:
        return self._nearest(points) if self._projects else super().projections(points)

    def _holds(self, points: Array) -> Bools:
        norms = np.linalg.norm((points - self.center) / self.axes, self.q, axis=-1)
        return np.asarray(norms <= 1 + 1e-13)

    def _nearest(self, points: Array) -> Array:
        if not self._projects:
            return super()._nearest(points)
        if self.q != 1:
            return self.center + onto_power_ball(points - self.center, self.scale, self.q)
        if self.is_uniform:
            return self.center + onto_one_norm_ball(points - self.center, self.scale)
        return self.center + onto_weighted_ball(points - self.center, self.axes)

    def surely_holds(self, points: Array) -> Bools:
        if self.center.any() or not self.is_uniform:
            return super().surely_holds(points)
        return np.asarray(np.linalg.norm(points, self.q, axis=1) <= self.scale)

    # sizes

    def _stretch(self, p: float) -> float:
        """max |a u|_p over |u|_q <= 1: the longest axis for p >= q, otherwise |a|_s with 1/s = 1/p - 1/q."""
        inverse_p, inverse_q = (0.0 if np.isinf(s) else 1 / s for s in (p, self.q))
        if inverse_p <= inverse_q:
            return self.scale
        if self.is_uniform:
            return float(self.scale * len(self.axes) ** (inverse_p - inverse_q))
        return float(np.linalg.norm(self.axes, 1 / (inverse_p - inverse_q)))

    def norm_bound(self, p: float) -> float:
        return float(self.radius(p)) * _OUTWARD

    def radius(self, p: float) -> Measure:
        corner = np.abs(self.center) + self.axes
        if np.isinf(p):
            return exact(float(corner.max()))
        if self.q == 1:  # the vertices are center +- axis e_i
            unit = float(corner.max())
            powers = (np.abs(self.center) / unit) ** p
            moved = (corner / unit) ** p
            return exact(unit * float((powers.sum() - powers + moved).max()) ** (1 / p) * _OUTWARD)
        value = float(np.linalg.norm(self.center, p)) + self._stretch(p)
        if not self.center.any() or p == 1 or (p == self.q and self.is_uniform):
            return exact(value)
        return bound(min(value, Shape.norm_bound(self, p)))

    def diameter(self, p: float) -> Measure:
        return exact(2 * self._stretch(p))

    def interval(self, x: Array) -> tuple[Array, Array]:
        dual = 1.0 if np.isinf(self.q) else np.inf if self.q == 1 else self.q / (self.q - 1)
        steep = np.abs(x) * self.axes
        largest = steep.max(axis=-1)  # powers must not overflow
        scaled = steep / np.where(largest > 0, largest, 1.0)[..., None]
        half = largest * np.linalg.norm(scaled, dual, axis=-1) * (1 + 1e-15 * (x.shape[-1] + 10))
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
        if self.q != 2 or self.center.any() or not self.is_uniform:
            return None
        return "ball", np.full(self.layout.size, (1 if from_zero else 2) * self.scale)

    def centered_radius(self, q: float) -> float | None:
        return self.scale if q == self.q and self.is_uniform and not self.center.any() else None

    def extremes(self, rng: np.random.Generator, count: int) -> Array | None:
        """Points of the sphere for q = 2, corners +-scale e_i for q = 1."""
        if self.center.any() or not self.is_uniform or self.q not in (1, 2):
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
        ends = np.diag(self.axes)
        return np.concatenate([self.center + ends, self.center - ends])


def weighted_one_norm(geometry: Geometry) -> tuple[Array, Array, float] | None:
    """(center, axes, 1) of a set whose inequalities are |x_i - c_i| <= t_i for each entry, with t on a hyperplane.

    That is what `sum(abs(x))` is in cones, with any weights: two inequalities for each entry, and t_i free but for
    sum w_i t_i = r with positive weights. Then the set is { sum w_i |x_i - c_i| <= r }.
    """
    conic, n = geometry.conic, geometry.size
    if not conic.is_polyhedral or conic.E.shape[0] or conic.A.shape[0] != 2 * n or geometry.dim != n:
        return None
    if conic.columns != 2 * n - 1 or int(conic.auxiliary.sum()) != n - 1:
        return None
    above, middles = epigraphs(conic)
    order = np.argsort(above.entry, kind="stable")
    if not np.array_equal(above.entry[order], np.arange(n)):
        return None
    slope, value = above.slope[order].toarray(), above.value[order]
    along = slope[:, ~conic.auxiliary]
    if np.abs(along).max(initial=0.0) > 0:
        return None
    # the n functions of n - 1 auxiliaries: one combination of them is constant
    left, sizes, _ = np.linalg.svd(slope[:, conic.auxiliary])
    weights = left[:, -1] * np.sign(left[:, -1].sum())
    if not np.all(weights > 1e-9 * weights.max()) or (n > 1 and sizes[-1] <= 1e-9 * sizes[0]):
        return None
    total = float(weights @ value)
    return (middles[order], total / weights, 1.0) if total > 0 else None


def _order(atom: cp.Expression) -> float | None:
    kind = type(atom).__name__
    if kind == "norm1":
        return 1.0
    if kind == "norm_inf":
        return np.inf
    if kind in ("Pnorm", "PnormApprox") and atom.p >= 1:
        return float(atom.p)
    return None
