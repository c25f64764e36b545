"""The diagonal chart: bounds on single coordinates, with a few equalities, dense rows and axis-parallel balls.

A round costs O(N).

The Hessian is D + U U' with D diagonal and few columns U. With V = D^-1/2 U and F = D^1/2 (I + V V')^1/2 one has H =
F F', and the tangent space {d : E d = 0} is {F'^-1 w : w orthogonal to the rows of E F'^-1}, which a few reflections
straighten.
"""

import numpy as np
from scipy import sparse

from dpcvx.barriers import Nonnegative, SecondOrder
from dpcvx.barriers.cone import Array
from dpcvx.sets.canonical import ConicSet
from dpcvx.sets.charts.chart import Chart, Factor

FEW = 8  # equalities, and dense rows and balls together, up to which the chart is worth its while
LARGE = 500  # coordinates above which nothing square is made


class DiagonalStructure:
    """Which rows are diagonal and which are the few others; `of` finds it, or finds that there is none."""

    def __init__(self, conic: ConicSet, single: Array, dense: Array, balls: list[tuple[int, slice]]) -> None:
        self.single, self.dense, self.balls = single, dense, balls
        self.column = np.zeros(0, dtype=int)
        A = conic.A[single]
        self.column, self.coefficient = A.indices.copy(), A.data.copy()
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
        if len(dense) + len(balls) > FEW or not covered.all():
            return None
        if conic.E.shape[0] and np.linalg.matrix_rank(conic.E.toarray()) < conic.E.shape[0]:
            return None
        return DiagonalStructure(conic, single, dense, balls)


class DiagonalFactor(Factor):
    """H = D + U U' at a point, with the tangent space straightened."""

    def __init__(self, chart: "DiagonalChart", z: Array) -> None:
        self.chart = chart
        self.z = z
        slack = chart.slack(z)
        self.gradient = chart.gradient_of(chart.cones.gradient(slack))
        self.D, self.U = chart.hessian_parts(slack)
        self.root = np.sqrt(self.D)
        if chart.structure.rank:
            self.V = self.U / self.root[..., None]
            kappa, self._Q = np.linalg.eigh(np.swapaxes(self.V, -1, -2) @ self.V)
            self._kappa = np.maximum(kappa, 1e-300)
        self.reflectors = _reflectors(self._scaled_equalities())

    def _curve(self, w: Array, power: float) -> Array:
        """(I + V V')^power w."""
        if not self.chart.structure.rank:
            return w
        gain = np.expm1(power * np.log1p(self._kappa)) / self._kappa
        inner = np.swapaxes(self._Q, -1, -2) @ (np.swapaxes(self.V, -1, -2) @ w[..., None])
        return np.asarray(w + (self.V @ (self._Q @ (gain[..., None] * inner)))[..., 0])

    def _scaled_equalities(self) -> Array:
        """The rows of E F'^-1, batched."""
        rows = self.chart.equalities
        if not len(rows):
            return np.zeros((*self.D.shape[:-1], 0, self.D.shape[-1]))
        return np.stack([self._curve(row / self.root, -0.5) for row in rows], axis=-2)

    def _flat(self, w: Array) -> Array:
        """w without its components along the equalities: reflect, zero the first entries, reflect back."""
        if not self.reflectors:
            return w
        w = _reflect(self.reflectors, w)
        w[..., : len(self.reflectors)] = 0
        return _reflect(self.reflectors[::-1], w)

    def solve(self, g: Array) -> Array:
        w = self._flat(self._curve(g / self.root, -0.5))
        return np.asarray(self._curve(w, -0.5) / self.root)

    def solve_schur(self, c: Array) -> Array:
        return self.solve(c)

    def apply(self, d: Array) -> Array:
        out = self.D * d
        if self.chart.structure.rank:
            out = out + (self.U @ (np.swapaxes(self.U, -1, -2) @ d[..., None]))[..., 0]
        return np.asarray(out)

    def _embed(self, w: Array) -> Array:
        """An isometry from R^dim onto the straightened tangent space."""
        if not self.reflectors:
            return w
        zeros = np.zeros((*w.shape[:-1], len(self.reflectors)))
        return _reflect(self.reflectors[::-1], np.concatenate([zeros, w], axis=-1))

    def half_solve(self, w: Array) -> Array:
        return np.asarray(self._curve(self._embed(w), -0.5) / self.root)

    def half_apply(self, w: Array) -> Array:
        return np.asarray(self._curve(self._embed(w), 0.5) * self.root)


class DiagonalChart(Chart):
    """z = (v - v0)/unit coordinate by coordinate, the equalities kept as rows."""

    auxiliaries = 0

    def __init__(self, conic: ConicSet, structure: DiagonalStructure, v0: Array) -> None:
        self.structure = structure
        self.cones = conic.cones
        self.width = conic.columns
        self.dim = self.width - conic.E.shape[0]
        self.v0 = v0
        self.x0 = conic.point(v0)
        self.s0 = conic.slack(v0)
        self.P = conic.P
        self.unit = np.ones(self.width)
        self.A = conic.A
        self._dense = conic.A[structure.dense].toarray()
        self.unit = 1 / np.sqrt(self.hessian_parts(self.s0)[0])
        self.A = sparse.csr_array(conic.A @ sparse.diags_array(self.unit))
        self._dense = self._dense * self.unit
        self._transposed = sparse.csr_array(self.A.T)
        self._only_single = not structure.rank and len(structure.single) == self.cones.size
        self._coefficient = structure.coefficient * self.unit[structure.column]
        rows = structure.E * self.unit
        self.equalities = rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(rows) else rows
        self._squares = np.asarray(conic.P.multiply(conic.P).sum(axis=0)).ravel()
        self._weight = self._squares * self.unit
        self._P_transposed = sparse.csr_array(conic.P.T)

    def hessian_parts(self, slack: Array) -> tuple[Array, Array]:
        """The diagonal D and the few columns U of the Hessian."""
        parts = self.structure
        scaled = parts.coefficient * self.unit[parts.column] / slack[..., parts.single]
        D = _scatter(scaled * scaled, parts.column, self.width)
        columns = []
        for i, row in enumerate(parts.dense):
            columns.append(self._dense[i] / slack[..., [row]])
        for head, tail in parts.balls:
            t, rest = slack[..., head], slack[..., tail]
            q = t * t - (rest * rest).sum(axis=-1)
            block = self.A[tail]
            squares = np.asarray(block.multiply(block).sum(axis=0)).ravel()
            D = D + 2 * squares / q[..., None]
            columns.append(_rows_times(rest, block) * (2 / q)[..., None])
        U = np.stack(columns, axis=-1) if columns else np.zeros((*D.shape, 0))
        return D, U

    def factor(self, z: Array) -> DiagonalFactor:
        return DiagonalFactor(self, z)

    def slack_step(self, dz: Array) -> Array:
        if self._only_single:
            return np.asarray(-(dz[..., self.structure.column] * self._coefficient))
        return -_rows_times(dz, self._transposed)

    def gradient_of(self, slack_gradient: Array) -> Array:
        if self._only_single:
            return -_scatter(slack_gradient * self._coefficient, self.structure.column, self.width)
        return -_rows_times(slack_gradient, self.A)

    def lifted(self, z: Array) -> Array:
        return self.v0 + z * self.unit

    def lowered(self, v: Array) -> Array:
        return self._flat((v - self.v0) / self.unit)

    def push(self, dy: Array) -> Array:
        return _rows_times(dy * self.unit, self._P_transposed)

    def pull(self, c: Array) -> Array:
        return _rows_times(c, self.P) * self.unit

    def spread(self, covector: Array) -> Array:
        d = covector / self._weight
        E = self.structure.E
        if len(E):
            normals = E / self._squares
            d = d - np.linalg.solve(E @ normals.T, (d @ E.T).T).T @ normals
        return _rows_times(d, self._P_transposed)

    def coordinates(self, x: Array) -> Array:
        return self._flat(_rows_times(x - self.x0, self.P) / self._weight)

    def column_widths(self) -> Array:
        return self.unit

    def least_width(self) -> float:
        if self.width <= LARGE:
            return super().least_width()
        factor = self.factor(np.zeros(self.width))  # D is the identity here, so only the few columns can squeeze
        return float(1 / np.sqrt(1 + factor._kappa.max())) if self.structure.rank else 1.0

    def tangential(self, covector: Array) -> Array:
        return self._flat(covector)

    def tangent_basis(self) -> Array:
        if not len(self.equalities):
            return np.eye(self.width)
        return np.asarray(np.linalg.qr(self.equalities.T, mode="complete")[0][:, len(self.equalities) :])

    def _flat(self, z: Array) -> Array:
        """z moved onto the equalities."""
        if not len(self.equalities):
            return z
        gram = self.equalities @ self.equalities.T
        return np.asarray(z - np.linalg.solve(gram, (z @ self.equalities.T).T).T @ self.equalities)


def _rows_times(rows: Array, M: sparse.csr_array) -> Array:
    """rows @ M for dense rows on leading batch axes and sparse M."""
    if rows.ndim == 1:
        return np.asarray(rows @ M)
    return np.asarray((rows.reshape(-1, rows.shape[-1]) @ M).reshape(*rows.shape[:-1], M.shape[1]))


def _scatter(values: Array, column: Array, width: int) -> Array:
    """Sums of values by column, on leading batch axes."""
    if values.ndim == 1:
        return np.bincount(column, weights=values, minlength=width)
    out = np.zeros((width, *values.shape[:-1]))
    np.add.at(out, column, np.moveaxis(values, -1, 0))
    return np.moveaxis(out, 0, -1)


def _reflectors(rows: Array) -> list[Array]:
    """Householder vectors that turn the span of the rows (..., m, N) into that of the first m unit vectors."""
    vectors: list[Array] = []
    for i in range(rows.shape[-2]):
        row = _reflect(vectors, rows[..., i, :].copy())
        row[..., :i] = 0
        norm = np.sqrt((row * row).sum(axis=-1))
        row[..., i] += np.where(row[..., i] < 0, -norm, norm)
        vectors.append(row / np.sqrt((row * row).sum(axis=-1))[..., None])
    return vectors


def _reflect(vectors: list[Array], w: Array) -> Array:
    for h in vectors:
        w = w - 2 * h * (h * w).sum(axis=-1, keepdims=True)
    return w
