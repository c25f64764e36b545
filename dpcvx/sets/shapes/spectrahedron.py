"""Density matrices { X symmetric, X >= 0, trace(X) = total }: the hull of total v v', |v|_2 = 1."""

from typing import Self

import numpy as np

from dpcvx.arrays import Array
from dpcvx.barriers import Semidefinite
from dpcvx.sets.geometry.ellipsoids import tangents
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.shapes.measure import Measure, bound, exact
from dpcvx.sets.shapes.shape import Facts, Shape
from dpcvx.sets.shapes.sorted_projection import onto_simplex

_OUTWARD = 1 + 1e-12  # arithmetic of a formula
_SAME = 1e-11  # relative difference of maps that are the same
_LARGE = 50  # order above which the directions are not compared one by one


class Spectrahedron(Shape):
    """All questions are answered by eigenvalues.

    Attributes:
        order: of the matrices.
        total: their trace.
    """

    batched = True
    has_formulas = True
    argmin_name = project_name = "closed form (spectrahedron)"

    def __init__(self, geometry: Geometry, layout: Layout, total: float) -> None:
        super().__init__(geometry, layout)
        self.order, self.total = layout.shape[0], total
        unit = np.eye(self.order)
        self.middle = (total / self.order * unit).ravel()
        half = total * (1 + unit) / 2 * _OUTWARD
        self.box = ((unit - 1) * half).ravel(), half.ravel()

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        total = _total(facts.geometry, facts.layout)
        return None if total is None else cls(facts.geometry, facts.layout, total)

    def _matrices(self, x: Array) -> Array:
        """The symmetric parts of vectors, as matrices."""
        M = x.reshape(*x.shape[:-1], self.order, self.order)
        return np.asarray(M / 2 + np.swapaxes(M, -1, -2) / 2)

    def argmin(self, c: Array) -> Array:
        v = np.linalg.eigh(self._matrices(c)).eigenvectors[..., 0]
        return np.asarray(self.total * (v[..., :, None] * v[..., None, :]).reshape(c.shape))

    def project(self, p: Array) -> Array:
        """The nearest matrix has the same eigenvectors, and the nearest point of the simplex as its eigenvalues."""
        values, vectors = np.linalg.eigh(self._matrices(p))
        inside = onto_simplex(values, self.total)[..., None, :]
        return np.asarray(((vectors * inside) @ np.swapaxes(vectors, -1, -2)).reshape(p.shape))

    def support_bound(self, c: Array) -> float:
        return float(self.interval(c)[1])

    def interval(self, x: Array) -> tuple[Array, Array]:
        values = np.linalg.eigvalsh(self._matrices(x))
        slip = 1e-14 * self.order * np.abs(values).max(axis=-1)
        return self.total * (values[..., 0] - slip), self.total * (values[..., -1] + slip)

    def norm_bound(self, p: float) -> float:
        return float(self.radius(p))

    def radius(self, p: float) -> Measure:
        """|v v'|_p = |v|_p^2, largest for equal entries where p < 2, for a unit vector otherwise."""
        inverse = 0.0 if np.isinf(p) else 1 / p
        return exact(self.total * self.order ** max(0.0, 2 * inverse - 1) * _OUTWARD)

    def diameter(self, p: float) -> Measure:
        """Two orthogonal v v' are sqrt 2 apart, no entry moves by more than 1, and |D|_p^p <= |D|_2^2 |D|_inf^(p-2)."""
        if p >= 2:
            return exact(self.total * (1.0 if np.isinf(p) else 2 ** (1 / p)) * _OUTWARD)
        value = self.total * 2**0.5 * self.order ** (2 / p - 1) * _OUTWARD
        return bound(min(value, super().diameter(p)))

    def _reaches(self) -> list[float]:
        return [self.total * float(np.sqrt(1 - 1 / self.order)) * _OUTWARD]


def _total(geometry: Geometry, layout: Layout) -> float | None:
    """The trace where the one cone says that the matrix itself is positive semidefinite, and the one equality that.

    Compared are the slack and the matrix at the center and along all directions of the set: the directions number as
    many as those of symmetric matrices of one trace.
    """
    conic, cones = geometry.conic, geometry.conic.cones.cones
    if len(cones) != 1 or not isinstance(cones[0], Semidefinite) or cones[0].count != 1 or geometry.chart.auxiliaries:
        return None
    cone, order = cones[0], cones[0].order
    if layout.shape != (order, order) or geometry.dim != cone.block - 1 or order > _LARGE:
        return None
    W = tangents(geometry.chart)
    slacks = np.vstack([conic.slack(geometry.chart.v0), -(conic.A @ W.T).T])
    points = np.vstack([geometry.center, np.asarray(W @ conic.P.T)]).reshape(-1, order, order)
    traces = np.trace(points, axis1=1, axis2=2)
    if traces[0] <= 0 or np.abs(traces[1:]).max() > _SAME * traces[0]:
        return None
    matrices = cone.matrix(slacks)
    scale = float(traces[0]) / float(np.trace(matrices[0]))
    if np.abs(scale * matrices - points).max() > _SAME * float(np.abs(points).max()):
        return None
    return float(traces[0])
