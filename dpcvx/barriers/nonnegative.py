"""The nonnegative orthant, F(s) = -sum log s_i with nu = 1 for each row."""

from collections.abc import Sequence
from typing import Any

import clarabel
import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.barriers.cone import Cone, Face
from dpcvx.barriers.face import origin


class Nonnegative(Cone):
    """`count` rows s_i >= 0."""

    name = "nonnegative"
    block = 1
    unit_nu = 1.0
    is_polyhedral = True

    def __init__(self, count: int) -> None:
        self.count = count

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
        return np.asarray(-np.log(s).sum(axis=-1))

    def gradient(self, s: Array) -> Array:
        return -1 / s

    def half(self, s: Array, M: Array) -> Array:
        return M * (1 / s)[..., None]

    def hessian_product(self, s: Array, d: Array) -> Array:
        return np.asarray(d / s**2)

    def stretch(self, s: Array, d: Array) -> Array:
        return np.asarray(1 / np.maximum(np.abs(d / s).max(axis=-1, initial=0.0), 1e-300))

    def take(self, blocks: Sequence[int]) -> "Nonnegative":
        return Nonnegative(len(blocks))

    def clarabel(self) -> list[Any]:
        return [clarabel.NonnegativeConeT(self.count)]
