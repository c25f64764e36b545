"""The coordinates of the diagonal chart."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array, sums_by_column
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.charts.chart import Chart, Factor, stretch_of
from dpcvx.sets.geometry.charts.diagonal.factor import CurvedFactor, DiagonalFactor
from dpcvx.sets.geometry.charts.diagonal.structure import DiagonalStructure
from dpcvx.sets.solvers.factorisations import Factorisation
from dpcvx.sets.sparse_rows import column_squares, rows_times

_LARGE = 500  # coordinates above which nothing square is made


class DiagonalChart(Chart):
    """z = (v - v0)/unit coordinate by coordinate, the equalities kept as rows."""

    name = "diagonal"
    auxiliaries = 0

    @classmethod
    def fit(
        cls, conic: ConicSet, factorisation: Factorisation | None = None
    ) -> "Callable[[Array], DiagonalChart] | None":
        """Sets with a `DiagonalStructure` fit."""
        structure = DiagonalStructure.of(conic)
        return None if structure is None else partial(cls, conic, structure)

    def __init__(self, conic: ConicSet, structure: DiagonalStructure, v0: Array) -> None:
        self.structure = structure
        self.cones = conic.cones
        self.P = conic.P
        self._declared_rows = conic.A
        self.width = conic.columns
        self.dim = self.width - conic.E.shape[0]
        self.v0 = v0
        self.x0 = conic.point(v0)
        self.s0 = conic.slack(v0)
        self._single = len(structure.single) == self.cones.size
        self._set_unit(conic, np.ones(self.width))
        self._set_unit(conic, 1 / self.derivatives(np.zeros(self.width))[1])

    def _set_unit(self, conic: ConicSet, unit: Array) -> None:
        """Measure coordinates in the given units."""
        parts = self.structure
        self.unit = unit
        self.A = sparse.csr_array(conic.A @ sparse.diags_array(unit))
        self._transposed = sparse.csr_array(self.A.T)
        self._dense = self.A[parts.dense].toarray()
        self._balls = [(head, tail, self.A[tail], column_squares(self.A[tail])) for head, tail in parts.balls]
        self._coefficient = parts.coefficient * unit[parts.column]
        self._slope = -self._coefficient  # of the single slacks
        rows = parts.E * unit
        self.equalities = rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(rows) else rows
        self.equality_rows = list(self.equalities)
        self._squares = column_squares(conic.P)
        entries = np.diff(conic.P.indptr) == 1  # every x depends on at most one coordinate
        self._source = np.zeros(len(entries), dtype=int)
        self._source[entries] = conic.P.indices
        self._gain = np.zeros(len(entries))
        self._gain[entries] = conic.P.data * unit[conic.P.indices]
        self._direct = len(entries) == self.width and bool(np.all(self._source == np.arange(self.width)))

    def derivatives(self, z: Array) -> tuple[Array, Array, Array | None]:
        """The gradient, the root of the diagonal D and the few columns U of the Hessian."""
        parts = self.structure
        if self._single and parts.layers == 1:
            scaled = self._coefficient / (self.s0 + z * self._slope)
            return scaled, scaled, None  # a root may have any sign
        slack = self.slack(z)
        if self._single:
            scaled = self._coefficient / slack
            return self._sum(scaled), np.sqrt(self._sum(scaled * scaled)), None
        scaled = self._coefficient / slack[..., parts.single]
        D = self._sum(scaled * scaled)
        gradient = self.gradient_of(self.cones.gradient(slack))
        columns = [self._dense[i] / slack[..., [row]] for i, row in enumerate(parts.dense)]
        for head, tail, block, squares in self._balls:
            t, rest = slack[..., head], slack[..., tail]
            norm = np.sqrt((rest * rest).sum(axis=-1))
            q = (t - norm) * (t + norm)
            D = D + 2 * squares / q[..., None]
            columns.append(rows_times(rest, block) * (2 / q)[..., None])
        return gradient, np.sqrt(D), np.stack(columns, axis=-1) if columns else None

    def _sum(self, values: Array) -> Array:
        """Sums over the single rows of each coordinate."""
        if self.structure.layers == 1:
            return values
        if self.structure.layers:
            N = self.width
            return sum((values[..., i * N : (i + 1) * N] for i in range(1, self.structure.layers)), values[..., :N])
        return sums_by_column(values, self.structure.column, self.width)

    def factor(self, z: Array, *, accurate: bool = False) -> DiagonalFactor:
        gradient, root, U = self.derivatives(z)
        if U is None:
            return DiagonalFactor(z, gradient, root, self.equality_rows)
        return CurvedFactor(z, gradient, root, U, self.equality_rows)

    def slack_step(self, dz: Array) -> Array:
        if self._single:
            spread = dz if self.structure.layers == 1 else dz.take(self.structure.column, axis=-1)
            return np.asarray(spread * self._slope)
        return -rows_times(dz, self._transposed)

    def stretch_at(self, factor: Factor, dy: Array) -> Any:
        if self._single and self.structure.layers == 1 and dy.ndim == 1 and isinstance(factor, DiagonalFactor):
            return stretch_of(dy * factor.root)  # the root is that of one inequality: its rate over its slack
        return super().stretch_at(factor, dy)

    def gradient_of(self, slack_gradient: Array) -> Array:
        if self._single:
            return self._sum(slack_gradient * self._slope)
        return -rows_times(slack_gradient, self.A)

    def lifted(self, z: Array) -> Array:
        return np.asarray(self.v0 + z * self.unit)

    def push(self, dy: Array) -> Array:
        return (dy if self._direct else dy[..., self._source]) * self._gain

    def point(self, z: Array) -> Array:
        return self.x0 + self.push(z)

    def pull(self, c: Array) -> Array:
        c = c * self._gain
        return c if self._direct else sums_by_column(c, self._source, self.width)

    def pull_lifted(self, q: Array) -> Array:
        return q * self.unit

    def spread(self, covector: Array) -> Array:
        d = covector / (self._squares * self.unit)
        E = self.structure.E
        if len(E):
            normals = E / self._squares
            d = d - np.linalg.solve(E @ normals.T, (d @ E.T)[..., None])[..., 0] @ normals
        return self.push(d / self.unit)

    def coordinates(self, x: Array) -> Array:
        return self.tangential(self.pull(x - self.x0) / (self._squares * self.unit**2))

    def slack_rows(self) -> sparse.csr_array:
        return self._declared_rows

    def column_widths(self) -> Array:
        return self.unit

    def tangential(self, covector: Array) -> Array:
        if not len(self.equalities):
            return covector
        gram = self.equalities @ self.equalities.T
        along = np.linalg.solve(gram, (covector @ self.equalities.T)[..., None])[..., 0]
        return np.asarray(covector - along @ self.equalities)

    def tangent_basis(self) -> Array:
        if not len(self.equalities):
            return np.eye(self.width)
        return np.asarray(np.linalg.qr(self.equalities.T, mode="complete")[0][:, len(self.equalities) :])

    def least_width(self) -> float:
        if self.width <= _LARGE:
            return super().least_width()
        return self.factor(np.zeros(self.width)).flattest  # D is the identity here, so only the few columns can squeeze
