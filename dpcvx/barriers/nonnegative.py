"""The nonnegative orthant, F(s) = -sum w_i log s_i with nu = sum w_i; the weights are 1 unless others are given."""

from collections.abc import Sequence
from typing import Any

import clarabel
import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.barriers.cone import Cone, Face
from dpcvx.barriers.face import origin


class Nonnegative(Cone):
    """`count` rows s_i >= 0.

    Weights below 1 are for rows that coincide up to a factor wherever F is asked: k rows of weight 1/k are one row, and
    F is the barrier of the rows of which none is repeated. Elsewhere it would not be self-concordant.
    """

    name = "nonnegative"
    block = 1
    unit_nu = 1.0
    is_polyhedral = True

    def __init__(self, count: int, weights: Array | None = None) -> None:
        self.count, self.weights = count, weights

    @property
    def nu(self) -> float:
        return float(self.count) if self.weights is None else float(self.weights.sum())

    @classmethod
    def from_cvxpy(cls, dims: Any) -> list[Cone]:
        return [Nonnegative(int(dims.nonneg))]

    def identity(self) -> Array:
        return np.ones(self.count)

    def interior(self, s: Array) -> Bools:
        return np.asarray((s > 0).all(axis=-1))

    def recedes(self, d: Array) -> bool:
        return bool(d[0] >= 0)

    def dual_rays(self) -> list[int]:
        return [0]

    def exposed(self, z: Array, blur: float) -> Face | None:
        return origin(z, float(z[0])) if z[0] > blur else None

    def value(self, s: Array) -> Array:
        logs = np.log(s)
        return np.asarray(-logs.sum(axis=-1)) if self.weights is None else np.asarray(-(logs @ self.weights))

    def gradient(self, s: Array) -> Array:
        return -1 / s if self.weights is None else -self.weights / s

    def half(self, s: Array, M: Array) -> Array:
        root = 1 / s if self.weights is None else np.sqrt(self.weights) / s
        return M * root[..., None]

    def hessian_product(self, s: Array, d: Array) -> Array:
        return np.asarray((d if self.weights is None else self.weights * d) / s**2)

    def stretch(self, s: Array, d: Array) -> Array:
        return np.asarray(1 / np.maximum.reduce(np.abs(d / s), axis=-1, initial=1e-300))

    def take(self, blocks: Sequence[int]) -> "Nonnegative":
        return Nonnegative(len(blocks), None if self.weights is None else self.weights[blocks])

    def clarabel(self) -> list[Any]:
        return [clarabel.NonnegativeConeT(self.count)]
