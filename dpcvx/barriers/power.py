"""The power cone prod u_i^a_i >= |w|, sum a_i = 1, for d factors u >= 0 and one w, with nu = d + 1:

F(u, w) = -log(prod u_i^(2 a_i) - w^2) - sum (1 - a_i) log u_i.

With tau = prod u_i^a_i, relative steps d_i = du_i/u_i, p = sum a_i d_i, P = tau p and q = dw, its Hessian is the sum
of squares

    (P + q)^2/(tau + w)^2 + (P - q)^2/(tau - w)^2 + 2 tau^2/(tau^2 - w^2) sum a_i (d_i - p)^2 + sum (1 - a_i) d_i^2,

which gives the half-Hessian row by row.
"""

from collections.abc import Sequence
from typing import Any

import clarabel
import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.barriers.cone import Cone, Face
from dpcvx.barriers.face import origin, orthant, ray


class Power(Cone):
    """A stack of power cones with exponents of shape (count, d); the rows of each are (u_1, ..., u_d, w)."""

    name = "power"
    symmetric = False

    def __init__(self, exponents: Array) -> None:
        self.exponents = _normalised(np.atleast_2d(np.asarray(exponents, dtype=float)))
        self.count, factors = self.exponents.shape
        self.block = factors + 1
        self.unit_nu = factors + 1.0

    @classmethod
    def from_cvxpy(cls, dims: Any) -> list[Cone]:
        """Cones of two factors, which cvxpy names by the first exponent, are one stack; the others one each."""
        pairs = [Power(np.array([[a, 1 - a] for a in dims.p3d]))] if dims.p3d else []
        return [*pairs, *(Power(np.array([list(exponents)])) for exponents in dims.pnd)]

    def identity(self) -> Array:
        return np.concatenate([np.sqrt(1 + self.exponents), np.zeros((self.count, 1))], axis=1).ravel()

    def _split(self, s: Array) -> tuple[Array, Array, Array]:
        """u, w and tau = prod u^a; u must be positive."""
        s = self.blocks(s)
        u, w = s[..., :-1], s[..., -1]
        return u, w, np.exp((self.exponents * np.log(u)).sum(axis=-1))

    def interior(self, s: Array) -> Bools:
        parts = self.blocks(s)
        positive = np.asarray((parts[..., :-1] > 0).all(axis=-1))
        safe = np.where(positive[..., None], parts, 1.0)
        _, w, tau = self._split(safe.reshape(s.shape))
        return np.asarray((positive & (tau > np.abs(w))).all(axis=-1))

    def dual_interior(self, y: Array) -> Bools:
        """The dual cone is that of (u_i/a_i, w) in the cone."""
        parts = self.blocks(y).copy()
        parts[..., :-1] /= self.exponents
        return self.interior(parts.reshape(y.shape))

    def recedes(self, d: Array) -> bool:
        return bool(np.all(d[:-1] >= 0) and d[-1] == 0)

    def remainder(self, d: Array) -> list[int] | None:
        if self.recedes(d) and d.any():
            return [i for i in range(self.block - 1) if d[i] == 0]
        return super().remainder(d)

    def dual_rays(self) -> list[int]:
        return list(range(self.block - 1))

    def bounds(self, most: Array) -> tuple[Array, Array]:
        u = np.maximum(self.blocks(most)[:, :-1], 0.0)
        w = np.prod(u**self.exponents, axis=1, keepdims=True)
        return np.concatenate([0 * u, -w], axis=1).ravel(), np.concatenate([u, w], axis=1).ravel()

    def exposed(self, z: Array, blur: float) -> Face | None:
        # the dual cone is prod (u_i/a_i)^a_i >= |w|
        a = self.exponents[0]
        positive = z[:-1] > blur
        if not positive.any():
            return None
        u = np.where(positive, z[:-1], 0.0)
        least = float(u[positive].min())
        if not positive.all():
            free = {int(i): 1.0 for i in np.flatnonzero(~positive)}
            zero = [*map(int, np.flatnonzero(positive)), len(a)]
            return orthant(np.append(u, 0.0), zero, free, least)
        curve = float(np.exp((a * np.log(u / a)).sum()))
        if abs(z[-1]) <= curve - blur:
            return origin(z, min(least, curve - abs(float(z[-1]))))
        sign = float(np.sign(z[-1]))
        across = np.append(curve * a / u, -1.0)  # the gradient of curve - |w|
        u = np.maximum(u - across[:-1] * ((curve - abs(z[-1])) / (across @ across)), u / 2)
        w = sign * float(np.exp((a * np.log(u / a)).sum()))
        touched = a / u
        return ray(np.append(u, w), np.append(touched, -np.sign(w) * np.exp((a * np.log(touched)).sum())), least)

    def value(self, s: Array) -> Array:
        u, w, tau = self._split(s)
        terms = np.log(tau - w) + np.log(tau + w) + ((1 - self.exponents) * np.log(u)).sum(axis=-1)
        return np.asarray(-terms.sum(axis=-1))

    def gradient(self, s: Array) -> Array:
        u, w, tau = self._split(s)
        omega = (tau - w) * (tau + w)
        pull = (2 * self.exponents * (tau * tau / omega)[..., None] + 1 - self.exponents) / u
        return np.concatenate([-pull, (2 * w / omega)[..., None]], axis=-1).reshape(s.shape)

    def half(self, s: Array, M: Array) -> Array:
        u, w, tau = self._split(s)
        a = self.exponents
        M = M.reshape(self.count, self.block, M.shape[-1])
        d = M[:, :-1] / u[..., None]  # relative steps
        p = (a[..., None] * d).sum(axis=-2, keepdims=True)
        q = M[:, -1:]
        lower, upper = (tau - w)[..., None, None], (tau + w)[..., None, None]
        tau = tau[..., None, None]
        rows = [
            (tau * p + q) / upper,
            (tau * p - q) / lower,
            np.sqrt(2 * a[..., None] / (lower * upper)) * tau * (d - p),
            np.sqrt(1 - a)[..., None] * d,
        ]
        out = np.concatenate(rows, axis=-2)
        return out.reshape(*out.shape[:-3], out.shape[-3] * out.shape[-2], out.shape[-1])

    def take(self, blocks: Sequence[int]) -> "Power":
        return Power(self.exponents[list(blocks)])

    def clarabel(self) -> list[Any]:
        return [clarabel.GenPowerConeT(list(map(float, a)), 1) for a in self.exponents]


def _normalised(exponents: Array) -> Array:
    """Rows that sum to 1: what rounding left over goes into the largest, since Clarabel forgives less than an ulp."""
    exponents = exponents / exponents.sum(axis=1, keepdims=True)
    rows, largest = np.arange(len(exponents)), exponents.argmax(axis=1)
    exponents[rows, largest] = 0.0
    exponents[rows, largest] = 1 - exponents.sum(axis=1)
    return exponents
