"""The dense chart: any cones, any equalities, LAPACK; for sets of moderate dimension."""

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
import scipy.linalg
from scipy import sparse
from scipy.linalg import blas, lapack

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.geometry.charts.chart import Chart, Factor
from dpcvx.sets.geometry.charts.triangles import backward, divide, forward, lower_triangle, lower_triangle_by_qr
from dpcvx.sets.solvers.factorisations import Factorisation

_PRODUCTS = 2**18  # numbers that may be kept for faster Hessians of batches
_FEW = 64  # points of a batch up to which systems are faster one by one
_RANK = 1e-11  # relative size below which a direction counts as zero
_ROUNDING = 16 * np.finfo(float).eps


class TangentSpace:
    """Orthonormal coordinates of the solutions of E v = e, auxiliary directions first; made once for each set."""

    def __init__(self, conic: ConicSet) -> None:
        P = conic.P.toarray()
        Z = seen = np.eye(conic.columns)
        noise, unit = _RANK, np.ones(conic.columns)
        if conic.E.shape[0]:
            E = conic.E.toarray()
            Z, noise = _solutions(E)
            seen = Z
            if noise > _RANK:
                size = np.linalg.norm(E, axis=0)
                size = np.where(size > _RANK * size.max(), size, size.max())
                in_sizes, less = _solutions(E / size)
                if less < noise:
                    seen, noise, unit = in_sizes, less, size
            moving = np.linalg.norm(seen, axis=1) > noise
            if seen is not Z:
                Z = np.zeros(seen.shape)
                if Z.size:
                    Z[moving] = _solutions(E[:, moving], seen.shape[1])[0]
            Z[~moving] = 0.0
        _, values, rows = np.linalg.svd(_image(P, Z))
        if seen is not Z:
            values = np.linalg.svd(_image(P / unit, seen), compute_uv=False)
        self.dim = int((values > noise * max(1.0, values[0])).sum()) if len(values) else 0
        self.auxiliaries = Z.shape[1] - self.dim
        self.W = Z @ np.concatenate([rows[self.dim :], rows[: self.dim]]).T
        self.A = conic.A @ self.W


def _solutions(E: Array, count: int | None = None) -> tuple[Array, float]:
    """Orthonormal columns that span the solutions of E v = 0, so many or all but for rounding, and the noise in them.

    Where columns of E are of sizes far apart, small ones drown in the rounding of large ones.
    """
    Q, R, _ = scipy.linalg.qr(E.T, pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int((diagonal > _RANK * diagonal[0]).sum()) if count is None else E.shape[1] - count
    noise = _ROUNDING * float(diagonal[0] / diagonal[rank - 1]) if rank else 0.0
    return np.ascontiguousarray(Q[:, rank:]), max(_RANK, noise)


def _image(P: Array, Z: Array) -> Array:
    """What points move along Z, in units of the rows of P: ranks do not see the units of x."""
    size = np.linalg.norm(P, axis=1, keepdims=True)
    return np.asarray((P / np.where(size > 0, size, 1)) @ Z)


class DenseFactor(Factor):
    """Cholesky factor of the joint Hessian at one point; its last block is the factor of the Schur complement."""

    def __init__(self, chart: "DenseChart", z: Array, accurate: bool) -> None:
        self.z = z
        self.gradient, M = chart.derivatives(z)
        # the accurate way loses half the digits of H where the other one loses all
        self.L = lower_triangle_by_qr(M) if accurate else lower_triangle(M)
        u = chart.auxiliaries
        self.dim = chart.dim
        self.C = np.asfortranarray(self.L[u:, u:]) if u else self.L

    def solve(self, g: Array) -> Array:
        if g.ndim == 1:
            half = lapack.dtrtrs(self.L, g, lower=1)[0]
            return lapack.dtrtrs(self.L, half, lower=1, trans=1, overwrite_b=1)[0]  # type: ignore[no-any-return]  # LAPACK is untyped
        return divide(self.L, divide(self.L, g), transpose=1)

    def solve_schur(self, c: Array) -> Array:
        return divide(self.C, divide(self.C, c), transpose=1)

    def half_solve(self, w: Array) -> Array:
        return divide(self.C, w, transpose=1)

    def half_apply(self, w: Array) -> Array:
        if w.ndim == 1:
            return blas.dtrmv(self.C, w, lower=1)  # type: ignore[no-any-return]  # BLAS is untyped
        return np.asarray(w @ np.tril(self.C).T)

    def apply(self, d: Array) -> Array:
        return self.half_apply(d @ np.tril(self.C))


class DenseFactors(Factor):
    """The same at a batch of points, and where there are no coordinates."""

    def __init__(self, chart: "DenseChart", z: Array) -> None:
        self.z, self._chart = z, chart
        self._slack = chart.slack(z)
        self.gradient = chart.gradient_of(chart.cones.gradient(self._slack))
        self.dim, self._auxiliaries = chart.dim, chart.auxiliaries

    @cached_property
    def L(self) -> Array:
        """Lower triangles with L L' = H, on first use."""
        try:
            return np.linalg.cholesky(self._chart.hessians(self._slack))
        except np.linalg.LinAlgError:
            return lower_triangle_by_qr(self._chart.cones.half(self._slack, self._chart.G))

    @cached_property
    def _entries(self) -> Array:
        """L with the batch on the last axes, where one operation on an entry of all matrices runs along memory."""
        axes = range(self.L.ndim)
        return self.L.transpose((*axes[-2:], *axes[:-2])).copy()

    @property
    def C(self) -> Array:
        return self.L[..., self._auxiliaries :, self._auxiliaries :]

    @property
    def _schur_entries(self) -> Array:
        return self._entries[self._auxiliaries :, self._auxiliaries :]

    def solve(self, g: Array) -> Array:
        if g.ndim == 2 and g.shape == self.z.shape and g.size and len(g) <= _FEW:
            return np.array([lapack.dpotrs(L.T, b)[0] for L, b in zip(self.L, g, strict=True)])
        return backward(self._entries, forward(self._entries, g))

    def solve_schur(self, c: Array) -> Array:
        return backward(self._schur_entries, forward(self._schur_entries, c))

    def half_solve(self, w: Array) -> Array:
        return backward(self._schur_entries, w)

    def half_apply(self, w: Array) -> Array:
        return np.asarray((self.C @ w[..., None])[..., 0])

    def apply(self, d: Array) -> Array:
        return self.half_apply((np.swapaxes(self.C, -1, -2) @ d[..., None])[..., 0])


class DenseChart(Chart):
    """z scaled so that the joint Hessian at the center is the identity."""

    name = "dense"

    @classmethod
    def fit(cls, conic: ConicSet, factorisation: Factorisation | None = None) -> "Callable[[Array], DenseChart] | None":
        """Any set fits up to DENSE_LIMIT lifted coordinates."""
        return None if conic.columns > DENSE_LIMIT else partial(cls, conic, TangentSpace(conic))

    def __init__(self, conic: ConicSet, tangent: TangentSpace, v0: Array) -> None:
        self.cones = conic.cones
        self.P = conic.P
        self.dim = self.width = tangent.dim
        self.auxiliaries = tangent.auxiliaries
        self.v0 = v0
        self.x0 = conic.point(v0)
        slack = conic.slack(v0)
        M = conic.cones.half(slack, tangent.A)
        H = M.T @ M
        jacobi = 1 / np.sqrt(np.diagonal(H))
        if not np.isfinite(H).all() or not np.isfinite(jacobi).all():
            raise np.linalg.LinAlgError("the Hessian of the barrier is singular or not finite")
        L = np.linalg.cholesky(jacobi[:, None] * H * jacobi)
        T = jacobi[:, None] * scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True, trans=1) if len(L) else H
        self.W = tangent.W @ T
        self.B = np.ascontiguousarray(conic.P @ self.W[:, self.auxiliaries :])
        unit = conic.cones.unit_factors(slack)
        self.G = np.ascontiguousarray((tangent.A @ T) * unit[:, None])
        self.s0 = slack * unit
        self._plain = conic.is_polyhedral and self.size > 0
        self._columns = np.asfortranarray(self.G)

    @cached_property
    def _products(self) -> Array | None:
        """All products of two entries of a row of G, the second not after the first, a row each, where they are few."""
        if not self._plain or len(self.G) * self.size**2 > _PRODUCTS:
            return None
        first, second = self._triangle
        return np.ascontiguousarray(self.G[:, first] * self.G[:, second])

    @cached_property
    def _triangle(self) -> tuple[Array, Array]:
        return np.tril_indices(self.size)

    def derivatives(self, z: Array) -> tuple[Array, Array]:
        """The gradient and the half-Hessian of F at one point z."""
        if self._plain:
            rows = self._columns.T
            inverse = 1 / blas.dgemv(-1.0, self._columns, z, beta=1.0, y=self.s0)
            return rows.dot(inverse), (rows * inverse).T
        slack = self.slack(z)
        return self.gradient_of(self.cones.gradient(slack)), self.cones.half(slack, self.G)

    def hessians(self, slack: Array) -> Array:
        """Of F in z, for a batch of slacks: their lower triangles.

        On polyhedra the sum of g g'/slack^2, g the rows of G, is one product of matrices.
        """
        if self._products is not None:
            inverse = 1 / slack
            H = np.zeros((*slack.shape[:-1], self.size, self.size))
            H[..., self._triangle[0], self._triangle[1]] = (inverse * inverse) @ self._products
            return H
        M = self.cones.half(slack, self.G)
        return np.swapaxes(M, -1, -2) @ M

    def factor(self, z: Array, *, accurate: bool = False) -> Factor:
        return DenseFactor(self, z, accurate) if z.ndim == 1 and len(z) else DenseFactors(self, z)

    def slack_step(self, dz: Array) -> Array:
        return np.asarray(-(dz @ self.G.T))

    def gradient_of(self, slack_gradient: Array) -> Array:
        return np.asarray(-(slack_gradient @ self.G))

    def lifted(self, z: Array) -> Array:
        return np.asarray(self.v0 + z @ self.W.T)

    def point(self, z: Array) -> Array:
        if z.ndim > 1 or not self.dim:
            return super().point(z)
        return blas.dgemv(1.0, self.B.T, z[self.auxiliaries :], beta=1.0, y=self.x0, trans=1)  # type: ignore[no-any-return]  # BLAS is untyped

    def push(self, dy: Array) -> Array:
        return np.asarray(dy @ self.B.T)

    def pull(self, c: Array) -> Array:
        return np.asarray(c @ self.B)

    def pull_lifted(self, q: Array) -> Array:
        return np.asarray(q @ self.W)

    def spread(self, covector: Array) -> Array:
        if not self.dim:
            return np.zeros((*covector.shape[:-1], len(self.x0)))
        return np.asarray(covector @ self._spread.T)

    @cached_property
    def _spread(self) -> Array:
        return np.linalg.pinv(self.B.T)

    def coordinates(self, x: Array) -> Array:
        if not self.dim:
            return np.zeros((*x.shape[:-1], 0))
        return (x - self.x0) @ self._inverse.T

    @cached_property
    def _inverse(self) -> Array:
        """B^+ in a metric that does not see the units of x."""
        size = np.linalg.norm(self.B, axis=1)
        size = np.where(size > 0, size, 1.0)
        return np.asarray(np.linalg.pinv(self.B / size[:, None]) / size)

    @property
    def inequalities(self) -> Array | None:
        return self.G if self._plain else None

    def slack_rows(self) -> sparse.csr_array:
        return sparse.csr_array(self.G)

    def radius(self) -> float:
        return float(np.linalg.norm(self.B, 2)) if self.B.size else 0.0

    def column_widths(self) -> Array:
        size = np.linalg.norm(self.W, axis=1)
        return np.where(size > 0, size, 1.0)

    def tangential(self, covector: Array) -> Array:
        return covector

    def tangent_basis(self) -> Array:
        return np.eye(self.dim)
