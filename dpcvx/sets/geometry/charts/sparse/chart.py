"""The coordinates of the sparse chart."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy import sparse

from dpcvx.arrays import Array, sums_by_column
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.geometry.charts.chart import Chart, Factor, stretch_of
from dpcvx.sets.geometry.charts.sparse.factor import SparseFactor, SparseFactors
from dpcvx.sets.geometry.charts.sparse.structure import SparseStructure
from dpcvx.sets.solvers.factorisations import Factorisation
from dpcvx.sets.solvers.normal_equations import Lease, NormalEquations
from dpcvx.sets.sparse_rows import column_squares, rows_times

_TANGENTS = 4  # random tangent vectors along which rows are compared


class SparseChart(Chart):
    """z = (v - v0)/unit coordinate by coordinate, the equalities kept as sparse rows."""

    name = "sparse"
    auxiliaries = 0
    centered = 1e-9
    rounding = 1e-12

    @classmethod
    def fit(
        cls, conic: ConicSet, factorisation: Factorisation | None = None
    ) -> "Callable[[Array], SparseChart] | None":
        """Sets with a `SparseStructure` fit."""
        structure = SparseStructure.of(conic, factorisation)
        return None if structure is None else partial(cls, conic, structure)

    def __init__(self, conic: ConicSet, structure: SparseStructure, v0: Array) -> None:
        self.structure = structure
        self.cones, self.P = conic.cones, conic.P
        self.width = conic.columns
        self.dim = self.width - len(structure.equalities.kept)
        self.v0, self.x0, self.s0 = v0, conic.point(v0), conic.slack(v0)
        rate = structure.coefficient / self.s0
        D = np.bincount(structure.column, structure.weights * rate * rate, self.width) + structure.idle
        self.unit = 1 / np.sqrt(D)
        self._rate = structure.coefficient * self.unit[structure.column]  # by which slacks fall along z
        self._slope, self._reach, self._heavy = -self._rate, self.s0 / self._rate, 1 / np.sqrt(structure.weights)
        self._system = structure.equalities.system.scaled(self.unit)
        self._squares = column_squares(conic.P)
        entries = np.diff(conic.P.indptr) == 1  # every x depends on at most one coordinate
        self._source = np.zeros(len(entries), dtype=int)
        self._source[entries] = conic.P.indices
        self._gain = np.zeros(len(entries))
        self._moving = self.unit * (structure.idle == 0)  # fixed coordinates stay where they are, to the last digit
        self._gain[entries] = conic.P.data * self._moving[conic.P.indices]
        self._direct = len(entries) == self.width and bool(np.all(self._source == np.arange(self.width)))

    def factor(self, z: Array, *, accurate: bool = False) -> Factor:
        if z.ndim > 1:
            made = [self._factor(one, accurate) for one in z.reshape(-1, self.width)]
            return SparseFactors(z, made, self.dim)
        return self._factor(z, accurate)

    def _factor(self, z: Array, accurate: bool) -> SparseFactor:
        parts = self.structure
        if parts.layers == 1:
            room = self._reach - z  # slack over rate
            return SparseFactor(self._system, z, parts.weights / room, room * self._heavy, accurate, room)
        scaled = self._rate / self.slack(z)
        weighted = parts.weights * scaled
        root = 1 / np.sqrt(self._sum(weighted * scaled) + parts.idle)
        return SparseFactor(self._system, z, self._sum(weighted), root, accurate)

    def curved(self, z: Array, curvature: Array) -> SparseFactor:
        """The matrix G' diag(curvature) G in place of the Hessian, factorised, for slacks s0 - G z."""
        D = self._sum(curvature * self._rate * self._rate) + self.structure.idle
        return SparseFactor(self._system, z, np.zeros(self.width), 1 / np.sqrt(D), accurate=False)

    def _sum(self, values: Array) -> Array:
        """Sums over the rows of each coordinate."""
        layers, N = self.structure.layers, self.width
        if layers == 1:
            return values
        if layers:
            return sum((values[..., i * N : (i + 1) * N] for i in range(1, layers)), values[..., :N])
        return sums_by_column(values, self.structure.column, N)

    def slack_step(self, dz: Array) -> Array:
        spread = dz if self.structure.layers == 1 else dz.take(self.structure.column, axis=-1)
        return np.asarray(spread * self._slope)

    def stretch(self, z: Array, dy: Array) -> Any:
        if z.ndim > 1:
            return super().stretch(z, dy)
        return stretch_of(self.slack_step(dy) / self.slack(z))

    def stretch_at(self, factor: Factor, dy: Array) -> Any:
        room = factor.room if isinstance(factor, SparseFactor) else None
        return super().stretch_at(factor, dy) if room is None else stretch_of(dy / room)

    def gradient_of(self, slack_gradient: Array) -> Array:
        return self._sum(slack_gradient * self._slope)

    def lifted(self, z: Array) -> Array:
        return np.asarray(self.v0 + z * self._moving)

    def push(self, dy: Array) -> Array:
        return (dy if self._direct else dy[..., self._source]) * self._gain

    def pull(self, c: Array) -> Array:
        c = c * self._gain
        return c if self._direct else sums_by_column(c, self._source, self.width)

    def pull_lifted(self, q: Array) -> Array:
        return q * self.unit

    @cached_property
    def _at_center(self) -> Lease:
        """The normal equations in the units of the center, in which D is the identity."""
        return self._system.factorise(np.ones(self.width))

    def tangential(self, covector: Array) -> Array:
        for _ in range(2):
            covector = covector - self._projected(self._system, self._at_center, covector)
        return covector

    @staticmethod
    def _projected(system: NormalEquations, solver: Lease, vectors: Array) -> Array:
        """The part of each vector along the rows of the system."""
        across = rows_times(vectors, system.transposed)
        flat = across.reshape(-1, across.shape[-1])
        y = np.array([solver.solve(one) for one in flat]).reshape(across.shape)
        return rows_times(y, system.E)

    @cached_property
    def _in_x(self) -> tuple[NormalEquations, Lease]:
        """The normal equations in the units of x: with rows E P^+ and their products."""
        system = self.structure.equalities.system.scaled(1 / np.sqrt(self._squares))
        return system, system.factorise(np.ones(self.width))

    def spread(self, covector: Array) -> Array:
        root = np.sqrt(self._squares)
        d = covector / (root * self.unit)
        for _ in range(2):
            d = d - self._projected(*self._in_x, d)
        return self.push(d / (root * self.unit))

    def coordinates(self, x: Array) -> Array:
        return self.tangential(self.pull(x - self.x0) / (self._squares * self.unit**2))

    @cached_property
    def _signature(self) -> Array:
        """How the slacks change, relative to their size, along a few random tangent vectors, (rows, vectors)."""
        u = self.tangential(np.random.default_rng(0).standard_normal((_TANGENTS, self.width)))
        return np.asarray((self.slack_step(self.tangential(u)) / self.s0).T)

    def slack_rows(self) -> sparse.csr_array:
        return sparse.csr_array(self._signature)

    def column_widths(self) -> Array:
        return self.unit

    def tangent_basis(self) -> Array:
        if self.width > DENSE_LIMIT:
            raise UnsupportedConeError(
                f"A basis of a tangent space in {self.width} coordinates is not made; dense matrices are made up to "
                f"{DENSE_LIMIT}."
            )
        return np.asarray(scipy.linalg.null_space(self._system.E.toarray()))

    def least_width(self) -> float:
        """At least 1: D is the identity here, so the ellipsoid is a ball of the tangent space, cut out of its box."""
        return 1.0

    def __getstate__(self) -> dict[str, object]:
        """Without what holds the numbers of a solver."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_at_center", "_in_x")}
