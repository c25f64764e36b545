"""The cone of positive semidefinite matrices of order k, F(S) = -log det S with nu = k.

A matrix is a vector by its upper triangle, column by column, with off-diagonal entries times sqrt 2.
"""

from collections.abc import Sequence
from typing import Any

import clarabel
import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.barriers.cone import Cone, Face, nearest_power
from dpcvx.barriers.face import origin
from dpcvx.barriers.nonnegative import Nonnegative

_ROUNDING = 1e-15  # of eigenvalues of a matrix with 1 on its diagonal, for each row of it
_FAR = 2.0**6  # roots of sizes on a diagonal that are less far apart stay as they are


class Semidefinite(Cone):
    """`count` cones of symmetric matrices of order `order`."""

    name = "semidefinite"
    is_spectral = True

    def __init__(self, count: int, order: int) -> None:
        self.count = count
        self.order = order
        self.block = order * (order + 1) // 2
        self.unit_nu = float(order)
        column, row = np.tril_indices(order)  # row <= column, sorted by column: the upper triangle column-major
        self._row, self._column = row, column
        self._weight = np.where(row == column, 1.0, np.sqrt(2))

    @classmethod
    def from_cvxpy(cls, dims: Any) -> list[Cone]:
        """Every matrix is a stack of its own; one of order 1 is a nonnegative row."""
        return [Nonnegative(1) if order == 1 else Semidefinite(1, order) for order in map(int, dims.psd)]

    def matrix(self, s: Array) -> Array:
        """The symmetric matrices (..., k, k) behind vectors (..., block)."""
        S = np.empty((*s.shape[:-1], self.order, self.order))
        S[..., self._row, self._column] = S[..., self._column, self._row] = s / self._weight
        return S

    def vector(self, S: Array) -> Array:
        """The inverse of `matrix`."""
        return np.asarray(S[..., self._row, self._column] * self._weight)

    def identity(self) -> Array:
        return np.tile(self.vector(np.eye(self.order)), self.count)

    def interior(self, s: Array) -> Bools:
        """By more than rounding, with 1 on the diagonal: a matrix that is singular in floats has no barrier."""
        S = self.matrix(self.blocks(s))
        diagonal = np.diagonal(S, axis1=-2, axis2=-1)
        root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        smallest = np.linalg.eigvalsh(S / root[..., :, None] / root[..., None, :])[..., 0]
        return np.asarray(((smallest > _ROUNDING * self.order) & (diagonal > 0).all(axis=-1)).all(axis=-1))

    def dual_interior(self, y: Array) -> Bools:
        """As closely as floats tell: proofs, which ask this, have a margin of their own for rounding."""
        smallest = np.linalg.eigvalsh(self.matrix(self.blocks(y)))[..., 0]
        return np.asarray((smallest > 0).all(axis=-1))

    def recedes(self, d: Array) -> bool:
        eigenvalues = np.linalg.eigvalsh(self.matrix(d))
        return bool(eigenvalues[0] >= -1e-12 * max(1.0, eigenvalues[-1]))

    def dual_rays(self) -> list[int]:
        return [int(i) for i in np.flatnonzero(self._row == self._column)]

    def balanced(self, sizes: Array) -> Array:
        """D S D is semidefinite with S: where the diagonal is of sizes far apart, each has a factor of its own."""
        blocks = self.blocks(sizes)
        root = nearest_power(np.sqrt(blocks[:, self.dual_rays()]))
        root[root.max(axis=1) < _FAR * root.min(axis=1)] = 1.0
        factor = root[:, self._row] * root[:, self._column]
        return np.asarray((factor * nearest_power((factor * blocks).max(axis=1))[:, None]).ravel())

    def exposed(self, z: Array, blur: float) -> Face | None:
        values, vectors = np.linalg.eigh(self.matrix(z))
        left = int((values <= blur).sum())
        if left == self.order:
            return None
        U = vectors[:, left:]  # across the face
        normal = self.vector((U * values[left:]) @ U.T)
        if not left:
            return origin(normal, float(values[0]))
        turned = self.vector(self._basis(vectors))  # (block, block): row i, j is <v_i v_j', S>
        inside = (self._row < left) & (self._column < left)
        smaller = Semidefinite(1, left) if left > 1 else None
        return Face(normal, turned[~inside], turned[inside], float(values[left]), smaller)

    def _basis(self, vectors: Array) -> Array:
        """The symmetric matrices whose inner products with S are the entries of vectors' S vectors, as `vector` has."""
        first, second = vectors[:, self._row].T, vectors[:, self._column].T
        products = first[:, :, None] * second[:, None, :]
        return np.asarray((products + np.swapaxes(products, -1, -2)) / 2 * self._weight[:, None, None])

    def common_normal(self, S: Array) -> Array | None:
        columns = self.matrix(S.T)
        size = np.linalg.norm(columns, axis=(1, 2))
        columns = columns[size > 0] / size[size > 0, None, None]
        if not len(columns):
            return self.vector(np.eye(self.order))
        _, values, rows = np.linalg.svd(columns.reshape(-1, self.order), full_matrices=False)
        idle = rows[values <= 1e-12 * values[0]]
        return self.vector(idle.T @ idle) if len(idle) else None

    def value(self, s: Array) -> Array:
        L = np.linalg.cholesky(self.matrix(self.blocks(s)))
        return np.asarray(-2 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(axis=(-1, -2)))

    def gradient(self, s: Array) -> Array:
        inverse = np.linalg.inv(self.matrix(self.blocks(s)))
        return -self.vector((inverse + np.swapaxes(inverse, -1, -2)) / 2).reshape(s.shape)

    def half(self, s: Array, M: Array) -> Array:
        # <D, H D> = |L^-1 D L^-T|^2 for S = L L'
        L = np.linalg.inv(np.linalg.cholesky(self.matrix(self.blocks(s))))[..., None, :, :]
        directions = self.matrix(np.swapaxes(M.reshape(self.count, self.block, M.shape[-1]), -1, -2))
        out = np.swapaxes(self.vector(L @ directions @ np.swapaxes(L, -1, -2)), -1, -2)
        return out.reshape(*out.shape[:-3], self.size, out.shape[-1])

    def stretch(self, s: Array, d: Array) -> Array:
        L = np.linalg.inv(np.linalg.cholesky(self.matrix(self.blocks(s))))
        steps = np.linalg.eigvalsh(L @ self.matrix(self.blocks(d)) @ np.swapaxes(L, -1, -2))
        return np.asarray(1 / np.maximum(np.abs(steps).max(axis=(-1, -2)), 1e-300))

    def take(self, blocks: Sequence[int]) -> "Semidefinite":
        return Semidefinite(len(blocks), self.order)

    def clarabel(self) -> list[Any]:
        return [clarabel.PSDTriangleConeT(self.order)] * self.count
