"""The exponential cone y exp(x/y) <= z, F(x, y, z) = -log(y log(z/y) - x) - log y - log z with nu = 3."""

from collections.abc import Sequence
from typing import Any

import clarabel
import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.barriers.cone import Cone, Face
from dpcvx.barriers.face import origin, orthant, ray


class Exponential(Cone):
    """`count` closures of {(x, y, z) : y > 0, y exp(x/y) <= z}."""

    name = "exponential"
    symmetric = False
    block = 3
    unit_nu = 3.0

    def __init__(self, count: int) -> None:
        self.count = count

    @classmethod
    def from_cvxpy(cls, dims: Any) -> list[Cone]:
        return [Exponential(int(dims.exp))]

    def identity(self) -> Array:
        return np.tile([-1.051383, 0.556409, 1.258967], self.count)  # where F'(s) = -s, up to its digits

    def _split(self, s: Array) -> tuple[Array, Array, Array, Array, Array]:
        """x, y, z, the logarithm of z/y and w = y log(z/y) - x; y and z must be positive."""
        s = self.blocks(s)
        x, y, z = s[..., 0], s[..., 1], s[..., 2]
        ratio = np.log(z / y)
        return x, y, z, ratio, y * ratio - x

    def interior(self, s: Array) -> Bools:
        parts = self.blocks(s)
        positive = np.asarray((parts[..., 1:] > 0).all(axis=-1))
        safe = np.where(positive[..., None], parts, np.array([-1.0, 1.0, 1.0]))
        w = self._split(safe.reshape(s.shape))[-1]
        return np.asarray((positive & (w > 0)).all(axis=-1))

    def dual_interior(self, y: Array) -> Bools:
        """The dual cone is the closure of {(u, v, w) : u < 0, -u exp(v/u) <= e w}."""
        parts = self.blocks(y)
        signs = np.asarray((parts[..., 0] < 0) & (parts[..., 2] > 0))
        u, v, w = np.moveaxis(np.where(signs[..., None], parts, np.array([-1.0, 1.0, 1.0])), -1, 0)
        return np.asarray((signs & (np.log(-u) + v / u < 1 + np.log(w))).all(axis=-1))

    def recedes(self, d: Array) -> bool:
        x, y, z = d
        if y == 0:
            return bool(x <= 0 and z >= 0)
        return bool(y > 0 and z > 0 and x <= y * np.log(z / y))

    def remainder(self, d: Array) -> list[int] | None:
        if d[1] == 0 and self.recedes(d):
            return [1] if d[2] > 0 else [1, 2]
        return super().remainder(d)

    def dual_rays(self) -> list[int]:
        return [1, 2]

    def bounds(self, most: Array) -> tuple[Array, Array]:
        _, y, z = np.maximum(self.blocks(most), 1e-300).T
        x = np.where(y < z / np.e, y * np.log(z / y), z / np.e)  # the largest y log(z/y)
        return np.tile([-np.inf, 0.0, 0.0], self.count), np.stack([x, y, z], axis=1).ravel()

    def exposed(self, z: Array, blur: float) -> Face | None:
        # the dual cone is the closure of { (u, v, w) : u < 0, -u exp(v/u - 1) <= w }
        u, v, w = np.where(np.abs(z) > blur, z, 0.0)
        if not (u or v or w):
            return None
        if u >= 0:
            normal = np.array([0.0, max(v, 0.0), max(w, 0.0)])
            least = float(normal[normal > 0].min(initial=np.inf))
            if w > 0:
                return ray(normal, np.array([-1.0, 0.0, 0.0]), least)
            return orthant(normal, [1], {0: -1.0, 2: 1.0}, least)
        curve = -u * np.exp(min(v / u - 1, 700.0))
        if w > curve + blur:
            return origin(np.array([u, v, w]), float(min(w - curve, -u)))
        across = np.array([-curve * (1 - v / u) / u, -curve / u, 1.0])  # the gradient of w - curve
        u, v, _ = np.array([u, v, w]) - across * ((w - curve) / (across @ across))
        at = 1 - v / u  # where y exp(x/y) = z is touched
        normal = np.array([u, v, -u * np.exp(min(-at, 700.0))])
        return ray(normal, np.array([at, 1.0, np.exp(min(at, 700.0))]), float(-u))

    def value(self, s: Array) -> Array:
        _, y, z, _, w = self._split(s)
        return np.asarray(-(np.log(w) + np.log(y) + np.log(z)).sum(axis=-1))

    def gradient(self, s: Array) -> Array:
        _, y, z, ratio, w = self._split(s)
        g = np.stack([1 / w, -(ratio - 1) / w - 1 / y, -y / (z * w) - 1 / z], axis=-1)
        return g.reshape(s.shape)

    def half(self, s: Array, M: Array) -> Array:
        # four rows, because a 3 x 3 Cholesky factor loses its digits close to the boundary
        _, y, z, ratio, w = self._split(s)
        D = np.zeros((*w.shape, 4, 3))
        D[..., 0, 0] = -1 / w
        D[..., 0, 1] = (ratio - 1) / w
        D[..., 0, 2] = y / (z * w)
        D[..., 1, 1] = 1 / np.sqrt(y * w)
        D[..., 1, 2] = -np.sqrt(y / w) / z
        D[..., 2, 1] = 1 / y
        D[..., 3, 2] = 1 / z
        out = D @ M.reshape(self.count, 3, M.shape[-1])
        return out.reshape(*out.shape[:-3], 4 * self.count, out.shape[-1])

    def take(self, blocks: Sequence[int]) -> "Exponential":
        return Exponential(len(blocks))

    def clarabel(self) -> list[Any]:
        return [clarabel.ExponentialConeT()] * self.count
