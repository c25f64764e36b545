"""Factors of the Hessian D + U U' of the diagonal chart, restricted to the tangent space."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import blas

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts.chart import Factor, length


class DiagonalFactor(Factor):
    """H = D at a point, with the tangent space straightened: H = F F' with F = D^1/2.

    Args:
        z: the point, or a batch of points.
        gradient: of the barrier there.
        root: of the diagonal D.
        equality_rows: unit normals of the tangent space.
    """

    def __init__(self, z: Array, gradient: Array, root: Array, equality_rows: list[Array]) -> None:
        self.z, self.gradient, self.root = z, gradient, root
        self.dim = z.shape[-1] - len(equality_rows)
        self._normals: list[tuple[Array, Any]] = []  # of the straightened tangent space, orthogonal, and 1/|normal|^2
        for row in equality_rows:
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
        """The part of w in the straightened tangent space; w may be overwritten."""
        return self._less_normals(self._less_normals(w))  # twice: what goes may be far larger than what is left

    def _less_normals(self, w: Array) -> Array:
        """w less its parts along the normals; w may be overwritten."""
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
        straight = np.zeros((*w.shape[:-1], self.z.shape[-1]))
        straight[..., len(self._normals) :] = w
        for vector, factor in self._reflectors[::-1]:
            straight = _subtract(straight, factor * _dot(vector, straight), vector)
        return straight

    def half_solve(self, w: Array) -> Array:
        return self._displacement(self._embed(w))

    def half_apply(self, w: Array) -> Array:
        return self._measure(self._embed(w))

    @property
    def flattest(self) -> float:
        """The least eigenvalue of (D^-1/2 H D^-1/2)^-1/2: how far H narrows the ellipsoid of D at most."""
        return 1.0

    def sample(self, rng: np.random.Generator, radius: float, leading: tuple[int, ...] = ()) -> tuple[Array, Array]:
        w = rng.standard_normal((*leading, *self.z.shape))
        w = self._less_normals(w)  # what is left is normally distributed on the tangent space
        w *= radius / length(w)
        return self._displacement(w), self._measure(w)


class CurvedFactor(DiagonalFactor):
    """H = D + U U' = F F' with F = D^1/2 (I + V V')^1/2."""

    def __init__(self, z: Array, gradient: Array, root: Array, U: Array, equality_rows: list[Array]) -> None:
        self.U = U
        super().__init__(z, gradient, root, equality_rows)

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
        return float(1 / np.sqrt(1 + self._spectrum[0].max()))


def _dot(a: Array, b: Array) -> Array | float:
    """<a, b> along the last axis, kept as an axis on batches."""
    if a.ndim == 1 and b.ndim == 1:
        return float(blas.ddot(a, b))  # arrays without axes are slow
    return np.asarray((a * b).sum(axis=-1, keepdims=True))


def _subtract(w: Array, factor: Array | float, vector: Array) -> Array:
    """w - factor vector; w may be overwritten."""
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
