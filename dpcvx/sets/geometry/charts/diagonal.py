"""The diagonal chart: bounds on single coordinates, with a few equalities, dense rows and axis-parallel balls.

A round costs O(N).

The Hessian is H = D + U U' with D diagonal and few columns U. With V = D^-1/2 U and F = D^1/2 (I + V V')^1/2 one has
H = F F', and the tangent space {d : E d = 0} is {F'^-1 w : w orthogonal to the rows of E F'^-1}, which a few
reflections straighten.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, SecondOrder
from dpcvx.sets.conic.canonical import ConicSet, rows_times
from dpcvx.sets.geometry.charts.chart import Chart, Factor, length

FEW = 8  # equalities, and dense rows and balls together, up to which the chart is worth its while
WORTH = 64  # coordinates below which dense rows and balls are better left to the dense chart, which is more accurate
LARGE = 500  # coordinates above which nothing square is made


class DiagonalStructure:
    """Which rows are diagonal and which are the few others; `of` finds it, or finds that there is none."""

    def __init__(self, conic: ConicSet, single: Array, dense: Array, balls: list[tuple[int, slice]]) -> None:
        self.single, self.dense, self.balls = single, dense, balls
        A = conic.A[single]
        self.column, self.coefficient = A.indices.copy(), A.data.copy()
        layers, rest = divmod(len(self.column), conic.columns)  # rows for each coordinate, where they come in order
        in_order = not rest and np.array_equal(self.column, np.tile(np.arange(conic.columns), layers))
        self.layers = layers if in_order else 0
        self.rank = len(dense) + len(balls)
        self.E = conic.E.toarray()

    @staticmethod
    def of(conic: ConicSet) -> "DiagonalStructure | None":
        if conic.auxiliary.any() or conic.E.shape[0] > FEW or np.any(np.diff(conic.P.indptr) > 1):
            return None
        entries = np.diff(conic.A.indptr)
        single = np.flatnonzero(conic.polyhedral & (entries == 1))
        dense = np.flatnonzero(conic.polyhedral & (entries > 1))
        covered = np.zeros(conic.columns, dtype=bool)
        covered[conic.A[single].indices] = True
        balls: list[tuple[int, slice]] = []
        for cone, rows in conic.cones:
            if isinstance(cone, Nonnegative):
                continue
            if not isinstance(cone, SecondOrder) or cone.count + len(balls) > FEW:
                return None
            for k in range(cone.count):
                head = rows.start + k * cone.block
                tail = slice(head + 1, head + cone.block)
                block = sparse.csc_array(conic.A[tail])
                if entries[head] or entries[tail].max() > 1 or np.diff(block.indptr).max() > 1:
                    return None
                covered |= np.diff(block.indptr) > 0
                balls.append((head, tail))
        few = len(dense) + len(balls)
        if few > FEW or not covered.all() or (few and conic.columns < WORTH):
            return None
        if conic.E.shape[0] and np.linalg.matrix_rank(conic.E.toarray()) < conic.E.shape[0]:
            return None
        return DiagonalStructure(conic, single, dense, balls)


class DiagonalFactor(Factor):
    """H = D at a point, with the tangent space straightened: H = F F' with F = D^1/2."""

    def __init__(self, chart: "DiagonalChart", z: Array) -> None:
        self.chart, self.dim, self.z = chart, chart.dim, z
        self.gradient, self.root, self.U = chart.derivatives(z)
        self._normals: list[tuple[Array, Any]] = []  # of the straightened tangent space, orthogonal, and 1/|normal|^2
        for row in chart.equality_rows:
            normal = self._straight(row)
            if self._normals:
                normal = self._projected(normal)
            self._normals.append((normal, 1 / _dot(normal, normal)))
        self._reflectors: list[tuple[Array, Array | float]] | None = None

    def _straight(self, g: Array) -> Array:
        """F^-1 g."""
        return g / self.root

    def _displacement(self, w: Array) -> Array:
        """F'^-1 w."""
        return w / self.root

    def _measure(self, w: Array) -> Array:
        """F w."""
        return w * self.root

    def _projected(self, w: Array) -> Array:
        """The part of w in the straightened tangent space, which may take the place of w."""
        return self._less_normals(self._less_normals(w))  # what goes may be far larger than what is left

    def _less_normals(self, w: Array) -> Array:
        """w less its parts along the normals, which may take the place of w."""
        if w.ndim == 1:
            for normal, scale in self._normals:
                w = blas.daxpy(normal, w, a=-scale * blas.ddot(w, normal))
            return w
        for normal, scale in self._normals:
            w = w - (scale * (w * normal).sum(axis=-1, keepdims=True)) * normal
        return w

    def solve(self, g: Array) -> Array:
        return self._displacement(self._projected(self._straight(g)))

    def solve_schur(self, c: Array) -> Array:
        return self.solve(c)

    def apply(self, d: Array) -> Array:
        return np.asarray(self.root * self.root * d)

    def _embed(self, w: Array) -> Array:
        """An isometry from R^dim onto the straightened tangent space: zeros first, then reflections."""
        if not self._normals:
            return w
        if self._reflectors is None:
            self._reflectors = _reflectors([normal * np.sqrt(scale) for normal, scale in self._normals])
        straight = np.zeros((*w.shape[:-1], self.chart.width))
        straight[..., len(self._normals) :] = w
        for vector, factor in self._reflectors[::-1]:
            straight = _subtract(straight, factor * _dot(vector, straight), vector)
        return straight

    def half_solve(self, w: Array) -> Array:
        return self._displacement(self._embed(w))

    def half_apply(self, w: Array) -> Array:
        return self._measure(self._embed(w))

    def sample(self, rng: np.random.Generator, radius: float) -> tuple[Array, Array]:
        w = rng.standard_normal(self.z.shape)
        w = self._less_normals(w)  # what is left is normally distributed on the tangent space
        w *= radius / length(w)
        return self._displacement(w), self._measure(w)


class CurvedFactor(DiagonalFactor):
    """H = D + U U' = F F' with F = D^1/2 (I + V V')^1/2."""

    U: Array

    @cached_property
    def V(self) -> Array:
        return self.U / self.root[..., None]

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of V'V."""
        kappa, Q = np.linalg.eigh(np.swapaxes(self.V, -1, -2) @ self.V)
        return np.maximum(kappa, 1e-300), Q

    def _curve(self, w: Array, power: float) -> Array:
        """(I + V V')^power w."""
        kappa, Q = self._spectrum
        gain = np.expm1(power * np.log1p(kappa)) / kappa
        inner = np.swapaxes(Q, -1, -2) @ (np.swapaxes(self.V, -1, -2) @ w[..., None])
        return np.asarray(w + (self.V @ (Q @ (gain[..., None] * inner)))[..., 0])

    def _straight(self, g: Array) -> Array:
        return self._curve(g / self.root, -0.5)

    def _displacement(self, w: Array) -> Array:
        return self._curve(w, -0.5) / self.root

    def _measure(self, w: Array) -> Array:
        return self._curve(w, 0.5) * self.root

    def apply(self, d: Array) -> Array:
        along = (self.U @ (np.swapaxes(self.U, -1, -2) @ d[..., None]))[..., 0]
        return np.asarray(super().apply(d) + along)

    @property
    def flattest(self) -> float:
        """The least eigenvalue of (I + V V')^-1/2."""
        return float(1 / np.sqrt(1 + self._spectrum[0].max()))


class DiagonalChart(Chart):
    """z = (v - v0)/unit coordinate by coordinate, the equalities kept as rows."""

    auxiliaries = 0

    def __init__(self, conic: ConicSet, structure: DiagonalStructure, v0: Array) -> None:
        self.structure = structure
        self.cones = conic.cones
        self.P = conic.P
        self.width = conic.columns
        self.dim = self.width - conic.E.shape[0]
        self.v0 = v0
        self.x0 = conic.point(v0)
        self.s0 = conic.slack(v0)
        self._single = not structure.rank and len(structure.single) == self.cones.size
        self._set_unit(conic, np.ones(self.width))
        self._set_unit(conic, 1 / self.derivatives(np.zeros(self.width))[1])

    def _set_unit(self, conic: ConicSet, unit: Array) -> None:
        """Measure coordinates in the given units."""
        parts = self.structure
        self.unit = unit
        self.A = sparse.csr_array(conic.A @ sparse.diags_array(unit))
        self._transposed = sparse.csr_array(self.A.T)
        self._dense = self.A[parts.dense].toarray()
        self._balls = [(head, tail, self.A[tail], _column_squares(self.A[tail])) for head, tail in parts.balls]
        self._coefficient = parts.coefficient * unit[parts.column]
        self._slope = -self._coefficient  # of the single slacks
        rows = parts.E * unit
        self.equalities = rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(rows) else rows
        self.equality_rows = list(self.equalities)
        self._squares = _column_squares(conic.P)
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
        return _scatter(values, self.structure.column, self.width)

    def factor(self, z: Array, *, accurate: bool = False) -> DiagonalFactor:
        return CurvedFactor(self, z) if self.structure.rank else DiagonalFactor(self, z)

    def slack_step(self, dz: Array) -> Array:
        if self._single:
            spread = dz if self.structure.layers == 1 else dz.take(self.structure.column, axis=-1)
            return np.asarray(spread * self._slope)
        return -rows_times(dz, self._transposed)

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
        return c if self._direct else _scatter(c, self._source, self.width)

    def spread(self, covector: Array) -> Array:
        d = covector / (self._squares * self.unit)
        E = self.structure.E
        if len(E):
            normals = E / self._squares
            d = d - np.linalg.solve(E @ normals.T, (d @ E.T)[..., None])[..., 0] @ normals
        return self.push(d / self.unit)

    def coordinates(self, x: Array) -> Array:
        return self.tangential(self.pull(x - self.x0) / (self._squares * self.unit**2))

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
        if self.width <= LARGE:
            return super().least_width()
        factor = self.factor(np.zeros(self.width))  # D is the identity here, so only the few columns can squeeze
        return factor.flattest if isinstance(factor, CurvedFactor) else 1.0


def _column_squares(M: sparse.csr_array) -> Array:
    return np.asarray(M.multiply(M).sum(axis=0)).ravel()


def _scatter(values: Array, column: Array, width: int) -> Array:
    """Sums of values by column, on leading batch axes."""
    if values.ndim == 1:
        return np.bincount(column, weights=values, minlength=width)
    out = np.zeros((width, *values.shape[:-1]))
    np.add.at(out, column, np.moveaxis(values, -1, 0))
    return np.moveaxis(out, 0, -1)


def _dot(a: Array, b: Array) -> Array | float:
    """<a, b> along the last axis, kept as an axis on batches."""
    if a.ndim == 1 and b.ndim == 1:
        return float(blas.ddot(a, b))  # arrays without axes are slow
    return np.asarray((a * b).sum(axis=-1, keepdims=True))


def _subtract(w: Array, factor: Array | float, vector: Array) -> Array:
    """w - factor vector, which may take the place of w."""
    if w.ndim == 1:
        return blas.daxpy(vector, w, a=-factor)  # type: ignore[no-any-return]  # BLAS is untyped
    return np.asarray(w - factor * vector)


def _reflectors(normals: list[Array]) -> list[tuple[Array, Array | float]]:
    """Householder vectors h and factors 2/|h|^2 that turn the normals into the first unit vectors, up to sign."""
    found: list[tuple[Array, Array | float]] = []
    for i, normal in enumerate(normals):
        h = normal.copy()
        for vector, factor in found:
            h = _subtract(h, factor * _dot(vector, h), vector)
        if i:
            h[..., :i] = 0
        pivot = h[..., i] + np.copysign(1.0, h[..., i])  # the normal has length 1, so |h|^2 = 2 |pivot|
        h[..., i] = pivot
        found.append((h, 1 / abs(pivot)[..., None] if h.ndim > 1 else 1 / float(abs(pivot))))
    return found
