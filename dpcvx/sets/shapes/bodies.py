"""What a declared set is, as far as its size goes: the shapes whose norms and widths are known exactly, and the rest.

A body answers for its largest norm from the origin, its diameter, and the interval of <l, x>. `Measure` is a number
that says whether it is exact or a certified upper bound.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.spatial import HalfspaceIntersection, QhullError

from dpcvx.arrays import Array
from dpcvx.sets.decision_set import DecisionSet
from dpcvx.sets.geometry.charts import Chart
from dpcvx.sets.shapes.closed_forms import Ball, Knapsack, Point

_OUTWARD = 1 + 1e-12  # floating-point arithmetic of a formula, rounded outward
_PAIRS = 200_000_000  # entries of differences of points that are compared exactly
_ROWS_BY_DIM = {2: 2000, 3: 600, 4: 200, 5: 60, 6: 40, 7: 24, 8: 20}  # rows up to which vertices are enumerated


class Measure(float):
    """A number with its standing: `kind` is "exact" or "bound" (a certified upper bound)."""

    kind: str

    def __new__(cls, value: float, kind: str) -> "Measure":
        number = super().__new__(cls, value)
        number.kind = kind
        return number

    def __repr__(self) -> str:
        return f"{float(self):.12g} ({self.kind})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Measure, (float(self), self.kind))


def exact(value: float) -> Measure:
    return Measure(float(value), "exact")


def bound(value: float) -> Measure:
    return Measure(float(value), "bound")


class Body(ABC):
    """The size of a set; `l` is a point of it."""

    @abstractmethod
    def radius(self, p: float) -> Measure:
        """max |l|_p."""

    @abstractmethod
    def diameter(self, p: float) -> Measure:
        """max |l - l'|_p."""

    @abstractmethod
    def interval(self, x: Array) -> tuple[Array, Array]:
        """[min, max] of <l, x> for x (..., N), a solver's error added outward."""


class BoxBody(Body):
    """lower <= l <= upper."""

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        size = np.maximum(np.abs(lower), np.abs(upper))
        self._middle = lower / 2 + upper / 2
        self._half = upper / 2 - lower / 2 + 2.3e-16 * (len(lower) + 5) * size  # with what rounding can take away

    def radius(self, p: float) -> Measure:
        return exact(float(np.linalg.norm(np.maximum(np.abs(self.lower), np.abs(self.upper)), p)))

    def diameter(self, p: float) -> Measure:
        return exact(float(np.linalg.norm(self.upper - self.lower, p)))

    def interval(self, x: Array) -> tuple[Array, Array]:
        middle, half = x @ self._middle, np.abs(x) @ self._half
        return middle - half, middle + half


class PointsBody(Body):
    """The convex hull of finitely many points, one a row."""

    def __init__(self, points: Array, margin: float = 0.0) -> None:
        self.points = points
        self._margin = margin  # relative error of the points themselves; then nothing is exact

    def _measure(self, value: float) -> Measure:
        return bound(value * (1 + self._margin)) if self._margin else exact(value)

    def radius(self, p: float) -> Measure:
        return self._measure(float(np.linalg.norm(self.points, p, axis=1).max()))

    def diameter(self, p: float) -> Measure:
        points = self.points
        if len(points) ** 2 * points.shape[1] > _PAIRS:
            center = points.mean(axis=0)
            return bound(2 * float(np.linalg.norm(points - center, p, axis=1).max()) * (1 + self._margin))
        largest = 0.0
        for i, point in enumerate(points):
            largest = max(largest, float(np.linalg.norm(points[i:] - point, p, axis=1).max()))
        return self._measure(largest)

    def interval(self, x: Array) -> tuple[Array, Array]:
        values = x @ self.points.T
        slip = (1e-15 * self.points.shape[1] + self._margin) * (np.abs(x) @ np.abs(self.points).T).max(axis=-1)
        return values.min(axis=-1) - slip, values.max(axis=-1) + slip


class SimplexBody(Body):
    """l >= 0 with a fixed sum."""

    def __init__(self, size: int, total: float) -> None:
        self.size, self.total = size, total

    def radius(self, p: float) -> Measure:
        return exact(self.total)

    def diameter(self, p: float) -> Measure:
        if self.size < 2:
            return exact(0.0)
        return exact(self.total * (1.0 if np.isinf(p) else 2 ** (1 / p)))

    def interval(self, x: Array) -> tuple[Array, Array]:
        slip = 1e-15 * self.total * np.abs(x).max(axis=-1)
        return self.total * x.min(axis=-1) - slip, self.total * x.max(axis=-1) + slip


class NormBallBody(Body):
    """|l - center|_q <= radius, in all coordinates."""

    def __init__(self, center: Array, size: float, q: float) -> None:
        self.center, self.size, self.q = center, size, q

    def holds(self, losses: Array) -> Array:
        """Which losses lie in the ball, up to rounding."""
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(losses - self.center, self.q, axis=-1)
        return np.asarray(norms <= self.size * (1 + 1e-13))

    def _stretch(self, p: float) -> float:
        """max |d|_p over |d|_q <= 1."""
        n = len(self.center)
        inverse_p, inverse_q = (0.0 if np.isinf(s) else 1 / s for s in (p, self.q))
        return float(n ** max(0.0, inverse_p - inverse_q))

    def radius(self, p: float) -> Measure:
        reach = float(np.linalg.norm(self.center, p))
        if self.q == 1:  # the vertices are center +- size e_i
            signs = np.where(self.center < 0, -1.0, 1.0)
            if np.isinf(p):
                return exact(float((np.abs(self.center)).max() + self.size))
            powers = np.abs(self.center) ** p
            moved = np.abs(self.center + self.size * signs) ** p
            return exact(float((powers.sum() - powers + moved).max()) ** (1 / p) * _OUTWARD)
        value = reach + self.size * self._stretch(p)
        attained = not self.center.any() or p == self.q or p == 1
        return exact(value) if attained else bound(value)

    def diameter(self, p: float) -> Measure:
        return exact(2 * self.size * self._stretch(p))

    def interval(self, x: Array) -> tuple[Array, Array]:
        dual = 1.0 if np.isinf(self.q) else np.inf if self.q == 1 else self.q / (self.q - 1)
        half = self.size * np.linalg.norm(x, dual, axis=-1) * (1 + 1e-15 * x.shape[-1])
        return _around(self.center, x, half)


class MatrixBallBody(Body):
    """The ball of the nuclear norm (q = 1) or the spectral norm (q = infinity) around a matrix, in all its entries."""

    def __init__(self, center: Array, size: float, q: float, shape: tuple[int, ...]) -> None:
        self.center, self.size, self.q, self.shape = center, size, q, shape

    def _stretch(self, p: float) -> Measure:
        """max |D|_p, entry by entry, over the ball of radius 1 around 0.

        Nuclear: its extreme points u v' have |u v'|_p = |u|_p |v|_p. Spectral: no column is longer than 1, and the
        Frobenius norm is at most the square root of the rank.
        """
        m, n = self.shape
        inverse = 0.0 if np.isinf(p) else 1 / p
        if self.q == 1:
            return exact(float((m * n) ** max(0.0, inverse - 0.5)))
        if np.isinf(p):
            return exact(1.0)
        frobenius = min(m, n) ** 0.5
        if p == 2:
            return exact(frobenius)
        return bound(frobenius * float((m * n) ** max(0.0, inverse - 0.5)))

    def radius(self, p: float) -> Measure:
        stretch = self._stretch(p)
        value = float(np.linalg.norm(self.center, p)) + self.size * float(stretch)
        return Measure(value, stretch.kind if not self.center.any() else "bound")

    def diameter(self, p: float) -> Measure:
        stretch = self._stretch(p)
        return Measure(2 * self.size * float(stretch), stretch.kind)

    def interval(self, x: Array) -> tuple[Array, Array]:
        matrices = x.reshape(*x.shape[:-1], *self.shape[::-1])  # transposed: column by column
        values = np.linalg.svd(matrices, compute_uv=False)
        dual = values.max(axis=-1) if self.q == 1 else values.sum(axis=-1)
        return _around(self.center, x, self.size * dual * (1 + 1e-13 * x.shape[-1]))


class GeneralBody(Body):
    """Any other set: the best of several certified bounds."""

    def __init__(self, declared: DecisionSet) -> None:
        self._set = declared

    def radius(self, p: float) -> Measure:
        return bound(self._set.norm_bound(p))

    def diameter(self, p: float) -> Measure:
        lower, upper = (self._set.flatten(end) for end in self._set.bounding_box())
        width = upper - lower
        box = float(np.linalg.norm(width, p))
        if np.isinf(p) or not self._set.dim:
            return bound(box)
        # |x - x'|_1 <= |x - lower|_1 + |x' - lower|_1, and |d|_p^p <= |d|_1 |d|_inf^(p-1)
        mass = 2 * (self._set.support_bound(np.ones(self._set.shape)) - float(lower.sum()))
        box = min(box, mass ** (1 / p) * float(width.max()) ** (1 - 1 / p))
        moving = int((width > 0).sum())
        euclidean = min(float(np.linalg.norm(width)), self._rotated(), 2 * self._set.central_radius)
        if p == 2:
            return bound(min(box, euclidean))
        return bound(min(box, euclidean * moving ** max(0.0, 1 / p - 0.5)))

    def _rotated(self) -> float:
        """The box bound along the axes of the Dikin ellipsoid at the center."""
        if self._set.size > 60:
            return np.inf
        axes = np.linalg.svd(self._set.chart.push(self._set.chart.tangent_basis().T).T, full_matrices=False)[0]
        low, high = self.interval(axes.T)
        return float(np.linalg.norm(high - low))

    def interval(self, x: Array) -> tuple[Array, Array]:
        ends = [
            (-self._set.support_bound(self._set.unflatten(-c)), self._set.support_bound(self._set.unflatten(c)))
            for c in x.reshape(-1, x.shape[-1])
        ]
        low, high = np.array(ends).T
        return low.reshape(x.shape[:-1]), high.reshape(x.shape[:-1])


def body_of(declared: DecisionSet) -> Body:
    """The most exact body known for a declared set."""
    form = declared.closed_form
    if isinstance(form, Point):
        return BoxBody(*form.box())
    if isinstance(form, Knapsack) and form.a is None:
        return BoxBody(*form.box())
    if (
        isinstance(form, Knapsack)
        and form.is_simplex
        and declared.size == len(form.lower)
        and declared.dim == declared.size - 1
    ):
        return SimplexBody(declared.size, form.total)
    if isinstance(form, Ball) and declared.dim == declared.size:
        return NormBallBody(form.center, form.radius, 2.0)
    ball = declared.norm_ball
    if ball is not None:
        return NormBallBody(*ball)
    matrix_ball = declared.matrix_norm_ball
    if matrix_ball is not None:
        return MatrixBallBody(*matrix_ball, declared.shape)
    points = declared.hull_points
    if points is not None:
        return PointsBody(points)
    vertices = _vertices(declared)
    return GeneralBody(declared) if vertices is None else PointsBody(vertices, margin=1e-9)


def _vertices(body: DecisionSet) -> Array | None:
    """The vertices of a small polytope without auxiliary variables."""
    chart = body.chart
    if not body.is_polytope or chart.auxiliaries or len(chart.s0) > _ROWS_BY_DIM.get(body.dim, 0):
        return None
    corners = _enumerate(chart)
    if corners is None:
        return None
    # Qhull may lose a corner: the corners must reach as far as the certified bounds, along the axes and at random
    directions = np.concatenate(
        [np.eye(body.size), np.random.default_rng(0).standard_normal((2 * body.size, body.size))]
    )
    for c in (*directions, *-directions):
        reach = float((corners @ c).max())
        if body.support_bound(body.unflatten(c)) > reach + 1e-7 * float(np.ptp(corners @ c)) + 1e-9 * abs(reach):
            return None
    return corners


def _enumerate(chart: Chart) -> Array | None:
    tangents = chart.tangent_basis()
    G = -chart.slack_step(tangents.T).T
    halfspaces = np.column_stack([G, -chart.s0]) / np.linalg.norm(G, axis=1, keepdims=True)
    try:
        corners = HalfspaceIntersection(halfspaces, np.zeros(tangents.shape[1])).intersections
    except QhullError:
        return None
    if not np.isfinite(corners).all():
        return None
    return chart.x0 + chart.push(corners @ tangents.T)


def _around(center: Array, x: Array, half: Array) -> tuple[Array, Array]:
    """The interval of half-width `half` around <center, x>, rounded outward."""
    middle = x @ center
    slip = 1e-15 * x.shape[-1] * (np.abs(x) @ np.abs(center))
    return middle - half - slip, middle + half + slip
