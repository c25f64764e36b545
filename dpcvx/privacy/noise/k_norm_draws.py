"""Exact draws of K-norm noise on a box: whole numbers z with a probability proportional to q^G(z).

    G(z) = max_i ceil(r |z_i|/h_i),    q = exp(-1/t),    h_i whole half-widths,    r = 2N <= 2 min h.

A level k is drawn with weight V(k) q^k, V(k) = prod_j (2 floor(k h_j/r) + 1), and then z uniform on the V(k) whole
points with |z_i| <= floor(k h_i/r), that is G(z) <= k. So P(z) is the sum of q^k over k >= G(z), up to a constant:
q^G(z).

Levels by rejection: the sum of N + 1 geometric draws has the weight prod_j (k + j) q^k, up to a constant, and is kept
with probability A(k) = prod_j r (2 floor(k h_j/r) + 1)/(2 h_j (k + j)). No factor is above 1, since r (2 floor(k h/r) +
1) <= 2 k h + r and r <= 2 h; with r above 2 h some would be, and what is cut off there would break privacy.

A(k) in floating point: a factor is ((2f + 1) c)/(k + j) with c = r/(2h), whose seven roundings (three conversions to
floats, c twice, product, quotient) and the one of the product of all are each at most u = 2^-53, so A is off by at most
9 N u of itself if N u < 2^-20, and by less than 2^-1000 where numbers are too small to be normal. `coins` decides by
these bounds and 64 random bits; where they do not, by whole numbers and more bits.
"""

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.opendp import discrete_laplace
from dpcvx.privacy.samplers import coins, geometric, uniform_below

_LARGEST = 2.0**62
_FARTHEST = 64  # times the mean of a level: beyond it with a probability below e^-120
_TINY = 2.0**-1000
_ENTRIES = 2**20  # that are drawn at once


@dataclass(frozen=True)
class Primitives:
    """Exact draws that everything else is made of.

    Attributes:
        geometric: of a scale t and a shape, independent draws with P(k) proportional to exp(-k/t), k >= 0.
        uniform_below: of an array of bounds, independent draws uniform on 0, ..., bound - 1.
    """

    geometric: Callable[[float, tuple[int, ...]], Array]
    uniform_below: Callable[[Array], Array]


def opendp_geometric(scale: float, shape: tuple[int, ...]) -> Array:
    """OpenDP's discrete Laplace draws, of which those that are not negative are geometric."""
    count = math.prod(shape)
    kept: list[int] = []
    while len(kept) < count:
        missing = count - len(kept)
        tried = 2 * missing + 3 * math.isqrt(missing)
        kept += [z for z in discrete_laplace(tried, scale)([0] * tried) if z >= 0]
    return np.array(kept[:count], dtype=np.int64).reshape(shape)


def system_uniform_below(bounds: Array) -> Array:
    """Uniform draws by Python's `secrets`."""
    drawn = [secrets.randbelow(bound) for bound in bounds.ravel().tolist()]
    return np.array(drawn, dtype=np.int64).reshape(bounds.shape)


OPENDP = Primitives(opendp_geometric, system_uniform_below)
VECTOR = Primitives(geometric, uniform_below)


class BoxNoise:
    """Draws of K-norm noise on one box.

    Args:
        half: h, whole numbers in units of the grid; entries that are 0 get no noise.
        resolution: r, a whole number of at most 2 min h, h without its zeros.
        spread: t, taken as the exact rational number that it is.
        primitives: what draws.

    Raises:
        ValueError: where half-widths are no whole numbers, or r is above 2 min h.
        OverflowError: where draws do not fit into 64-bit integers.
    """

    def __init__(self, half: tuple[float, ...], resolution: int, spread: float, primitives: Primitives) -> None:
        if not all(float(h).is_integer() and h >= 0 for h in half):
            raise ValueError("Exact K-norm noise is for boxes whose half-widths are whole numbers of units.")
        self.size = len(half)
        self._moving = np.flatnonzero(np.array(half))
        self._half = np.array([int(half[i]) for i in self._moving], dtype=np.int64)
        self._r, self._t, self._primitives = resolution, spread, primitives
        if not self._half.size:
            return
        if resolution > 2 * int(self._half.min()):
            raise ValueError(f"r = {resolution} is above twice the least half-width, {int(self._half.min())} units.")
        level = (self._half.size + 1) * max(spread, 1.0) * _FARTHEST
        widest = float(self._half.max())
        if not max(level, 2 * widest * (level / resolution + 1), widest * resolution) < _LARGEST:
            raise OverflowError(
                f"K-norm noise of scale {spread / resolution:.6g} on half-widths up to {widest:.6g} units does not "
                "fit into 64-bit integers; shorten the horizon, scale the losses or raise epsilon."
            )
        self._share = resolution / (2.0 * self._half)  # c
        self._steps = np.arange(1, self._half.size + 1)

    def draw(self, count: int) -> Array:
        """Independent noises (count, N) as 64-bit integers."""
        noise = np.zeros((count, self.size), dtype=np.int64)
        if self._half.size:
            rows = max(1, _ENTRIES // self._half.size)
            for start in range(0, count, rows):
                reach = self._reach(self._levels(min(rows, count - start)))
                drawn = self._primitives.uniform_below(2 * reach + 1)
                drawn -= reach
                noise[start : start + rows, self._moving] = drawn
        return noise

    def _levels(self, count: int) -> Array:
        """Levels by rejection."""
        levels = np.empty(count, dtype=np.int64)
        open_ = np.arange(count)
        while open_.size:
            k = self._primitives.geometric(self._t, (open_.size, self._half.size + 1)).sum(axis=1)
            kept = self._kept(k)
            levels[open_[kept]] = k[kept]
            open_ = open_[~kept]
        return levels

    def _kept(self, k: Array) -> Array:
        """Coins that are True with probability A(k)."""
        factors = (2 * self._reach(k) + 1) * self._share
        factors /= k[:, None] + self._steps
        share = factors.prod(axis=1)
        error = 9 * self._half.size * 2.0**-53

        def bracket(i: int, bits: int) -> tuple[int, int]:
            above, below = self._probability(int(k[i]))
            low = (above << bits) // below
            return low, low + 1

        return coins(share * (1 - error) - _TINY, share * (1 + error) + _TINY, bracket)

    def _reach(self, k: Array) -> Array:
        """floor(k h/r) for each level, (len(k), N); k h itself might need more than 64 bits."""
        whole, rest = np.divmod(k, self._r)
        return np.asarray(whole[:, None] * self._half + rest[:, None] * self._half // self._r)

    def _probability(self, k: int) -> tuple[int, int]:
        """A(k) as a fraction of whole numbers."""
        half = self._half.tolist()
        above = math.prod(self._r * (2 * (k * h // self._r) + 1) for h in half)
        return above, math.prod(2 * h * (k + j) for j, h in enumerate(half, 1))


class BoxMeasurement:
    """K-norm noise on vectors of integers, in the form of OpenDP's measurements: a call releases, `map` prices.

    Args:
        noise: on a box.
        size: of a vector: one block of noise after the other.
        price: of one loss that crosses the box.
    """

    def __init__(self, noise: BoxNoise, size: int, price: float) -> None:
        if size % noise.size:
            raise ValueError(f"K-norm noise on {noise.size} entries cannot be laid on a vector of {size}.")
        self._noise, self._blocks, self._price = noise, size // noise.size, price

    def map(self, losses: float) -> float:
        """What a release costs that one person moves by so many losses."""
        return float(losses) * self._price

    def __call__(self, values: list[int]) -> list[int]:
        drawn = self._noise.draw(self._blocks).ravel().tolist()
        return [value + one for value, one in zip(values, drawn, strict=True)]
