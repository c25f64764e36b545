"""Euclidean balls, in all coordinates or within an affine hull along them."""

from typing import Self

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.shapes.box import bound_at
from dpcvx.sets.shapes.columns import Columns
from dpcvx.sets.shapes.measure import Measure, exact
from dpcvx.sets.shapes.norm_ball import NormBall
from dpcvx.sets.shapes.shape import Facts, Shape
from dpcvx.sets.shapes.stretched_ball import ball_stretch_moment


class BallFormulas(Shape):
    """Oracles of the Euclidean ball of radius `scale` around `center`, within the range of P."""

    batched = True
    has_formulas = True
    argmin_name = project_name = "closed form (ball)"

    center: Array
    scale: float
    _columns: Columns

    def _tangent(self, d: Array) -> Array:
        columns = self._columns
        return d if columns.is_identity else columns.to_x(columns.pull(d) / columns.squares) - columns.offset

    def argmin(self, c: Array) -> Array:
        largest = np.abs(c).max(axis=-1, keepdims=True)
        c = self._tangent(c / np.where(largest > 0, largest, 1.0))  # squares must neither overflow nor vanish
        norm = np.sqrt((c * c).sum(axis=-1, keepdims=True))
        return self.center - c * (self.scale / np.where(norm > 0, norm, 1.0))

    def support_bound(self, c: Array) -> float:
        return bound_at(c, self.argmin(-c))

    def project(self, p: Array) -> Array:
        d = self._tangent(p - self.center)
        largest = np.maximum(np.abs(d).max(axis=-1, keepdims=True), self.scale)
        d = d / largest  # squares must not overflow
        norm = np.sqrt((d * d).sum(axis=-1, keepdims=True))
        return np.asarray(self.center + d * np.minimum(largest, self.scale / np.where(norm > 0, norm, 1.0)))

    def _sides(self) -> tuple[Array, Array]:
        reach = self.scale * self._columns.row_shares()
        return self.center - reach, self.center + reach

    @property
    def stretch_moment(self) -> float:
        return 1.0 if self.geometry.chart.auxiliaries else ball_stretch_moment(self.geometry.dim)

    def norm_bound(self, p: float) -> float:
        if p == 2:
            return float(np.linalg.norm(self.center) + self.scale) * (1 + 1e-14)
        return super().norm_bound(p)


class EuclideanBall(BallFormulas, NormBall):
    """A ball in all coordinates."""

    def __init__(self, geometry: Geometry, layout: Layout, columns: Columns, center: Array, scale: float) -> None:
        super().__init__(geometry, layout, center, np.full(layout.size, scale), 2.0)
        self._columns = columns
        self.box = self._sides()

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        found = _ball(facts.geometry.conic) if facts.geometry.dim == facts.layout.size else None
        return None if found is None else cls(facts.geometry, facts.layout, *found)


class FlatBall(BallFormulas):
    """A ball within an affine hull of lower dimension."""

    def __init__(self, geometry: Geometry, layout: Layout, columns: Columns, center: Array, scale: float) -> None:
        super().__init__(geometry, layout)
        self.center, self.scale, self._columns = center, scale, columns
        self.middle = center
        self.box = self._sides()

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        found = _ball(facts.geometry.conic)
        return None if found is None else cls(facts.geometry, facts.layout, *found)

    def diameter(self, p: float) -> Measure:
        return exact(2 * self.scale * (1 + 1e-14)) if p == 2 else super().diameter(p)

    def _reaches(self) -> list[float]:
        return [self.scale * (1 + 1e-14)]


def _ball(conic: ConicSet) -> tuple[Columns, Array, float] | None:
    """(the map to x, center, radius) of one second-order cone with a constant head and equal axes."""
    cones = conic.cones.cones
    if conic.E.shape[0] or len(cones) != 1 or not cones[0].is_ball or cones[0].count != 1:
        return None
    columns = Columns.of(conic)
    if columns is None or conic.A.indptr[1] > 0:  # the head is not constant
        return None
    tail, t = conic.A[1:], conic.b[1:]
    gram = sparse.csr_array(tail.T @ tail)
    diagonal = gram.diagonal()
    scale = diagonal / columns.squares
    off = gram - sparse.diags_array(diagonal)
    if np.ptp(scale) > 1e-12 * scale[0] or abs(off).max() > 1e-13 * diagonal.max():
        return None
    center = (tail.T @ t) / diagonal
    rest = t - tail @ center
    radius = np.sqrt(max(conic.b[0] ** 2 - rest @ rest, 0.0) / scale[0])
    return columns, columns.to_x(center), float(radius)
