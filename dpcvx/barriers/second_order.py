"""The second-order cone |x|_2 <= t, F(t, x) = -log(t^2 - |x|^2) with nu = 2."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import clarabel
import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.barriers.cone import Cone, Face
from dpcvx.barriers.face import origin, ray
from dpcvx.barriers.nonnegative import Nonnegative


class SecondOrder(Cone):
    """`count` cones {(t, x) : |x|_2 <= t} of `block` rows each, the head t first."""

    name = "second-order"
    unit_nu = 2.0
    is_ball = True

    def __init__(self, count: int, block: int) -> None:
        self.count = count
        self.block = block

    @classmethod
    def from_cvxpy(cls, dims: Any) -> list[Cone]:
        """Neighbours of equal size are one stack; a head without a tail is a nonnegative row."""
        cones: list[Cone] = []
        for block, run in groupby(map(int, dims.soc)):
            count = len(list(run))
            cones += [Nonnegative(1)] * count if block == 1 else [SecondOrder(count, block)]
        return cones

    def identity(self) -> Array:
        e = np.zeros((self.count, self.block))
        e[:, 0] = 1
        return e.ravel()

    def _split(self, s: Array) -> tuple[Array, Array, Array]:
        """Head t, tail x and q = t^2 - |x|^2 as (t - |x|)(t + |x|), which does not cancel."""
        s = self.blocks(s)
        t, x = s[..., 0], s[..., 1:]
        norm = np.sqrt((x * x).sum(axis=-1))
        return t, x, (t - norm) * (t + norm)

    def interior(self, s: Array) -> Bools:
        t, _, q = self._split(s)
        return np.asarray(((t > 0) & (q > 0)).all(axis=-1))

    def recedes(self, d: Array) -> bool:
        return bool(d[0] * (1 + 1e-12) >= np.linalg.norm(d[1:]))

    def dual_rays(self) -> list[int]:
        return [0]

    def bounds(self, most: Array) -> tuple[Array, Array]:
        head = np.repeat(np.maximum(self.blocks(most)[:, 0], 0.0), self.block)
        return -head, head

    def exposed(self, z: Array, blur: float) -> Face | None:
        norm = float(np.linalg.norm(z[1:]))
        low, high = z[0] - norm, z[0] + norm  # its eigenvalues
        if high <= blur:
            return None
        if low > blur:
            return origin(z, float(low))
        mean = high / 2
        normal = np.concatenate([[mean], z[1:] * (mean / norm)])
        return ray(normal, np.concatenate([[mean], -normal[1:]]), float(high))

    def value(self, s: Array) -> Array:
        return np.asarray(-np.log(self._split(s)[2]).sum(axis=-1))

    def gradient(self, s: Array) -> Array:
        t, x, q = self._split(s)
        g = np.concatenate([-t[..., None], x], axis=-1) * (2 / q)[..., None]
        return g.reshape(s.shape)

    def half(self, s: Array, M: Array) -> Array:
        # H = 2 W^2 with W the symmetric arrow matrix of s/sqrt(q), itself divided by sqrt(q)
        t, x, q = self._split(s)
        root = np.sqrt(q)
        t, x = t / root, x / root[..., None]
        M = M.reshape(self.count, self.block, M.shape[-1])
        head, tail = M[:, :1], M[:, 1:]
        along = x[..., None, :] @ tail
        top = t[..., None, None] * head - along
        rest = tail + x[..., None] * (along / (1 + t)[..., None, None] - head)
        out = np.concatenate([top, rest], axis=-2) * (np.sqrt(2) / root)[..., None, None]
        return np.asarray(out.reshape(*out.shape[:-3], self.size, out.shape[-1]))

    def hessian_product(self, s: Array, d: Array) -> Array:
        t, x, q = self._split(s)
        dt, dx = self.blocks(d)[:, 0], self.blocks(d)[:, 1:]
        along = 2 * (t * dt - (x * dx).sum(axis=-1)) / q  # half the change of log q
        head = (2 / q) * (along * t - dt)
        return np.concatenate([head[:, None], (2 / q)[:, None] * (dx - along[:, None] * x)], axis=1).ravel()

    def stretch(self, s: Array, d: Array) -> Array:
        # q(s + td) = q + 2t b + t^2 a for the Lorentz form: the least |t| at which it vanishes
        t, x, q = self._split(s)
        dt, dx, a = self._split(d)
        b = t * dt - (x * dx).sum(axis=-1)
        root = np.sqrt(np.maximum(b * b - a * q, 0.0))
        return np.asarray((q / np.maximum(np.abs(b) + root, 1e-300 * q)).min(axis=-1))

    def take(self, blocks: Sequence[int]) -> "SecondOrder":
        return SecondOrder(len(blocks), self.block)

    def clarabel(self) -> list[Any]:
        return [clarabel.SecondOrderConeT(self.block)] * self.count
