"""Discrete Gaussian draws: P(z) proportional to exp(-z^2/(2 scale^2)) on the integers.

By rejection, as in Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy (2020): with s the
scale, a discrete Laplace draw z of scale s is kept with probability exp(-(|z| - s)^2/(2 s^2)), since

    exp(-|z|/s) exp(-(|z| - s)^2/(2 s^2)) = exp(-1/2) exp(-z^2/(2 s^2)).

Three of four are kept where s is large, and three of five where it is small. They take the next integer for the scale
of the proposals; any scale does, and s itself keeps all of them floating-point numbers.
"""

import math
from fractions import Fraction

import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.privacy.samplers.brackets import exponential
from dpcvx.privacy.samplers.coins import coins
from dpcvx.privacy.samplers.laplace import laplace
from dpcvx.privacy.samplers.scales import exact_scale

_MARGIN = 2.0**-46


def gaussian(scale: float, shape: int | tuple[int, ...]) -> Array:
    """Independent draws with P(z) proportional to exp(-z^2/(2 scale^2)), as 64-bit integers in the given shape.

    Raises:
        ValueError, OverflowError: where the scale is none, see `exact_scale`.
        EntropyError: where the system has no random bits.
    """
    s = exact_scale(scale)
    size = (shape,) if isinstance(shape, int) else shape
    count = math.prod(size)
    parts, found = [np.zeros(0, dtype=np.int64)], 0
    while found < count:
        missing = count - found
        proposed = laplace(s, missing + missing * 11 // 32 + 16)
        parts.append(proposed[_kept(proposed, s)][:missing])
        found += parts[-1].size
    return np.concatenate(parts).reshape(size)


def _kept(proposed: Array, scale: float) -> Bools:
    """Which proposals are kept.

    With r = |z|/s and u = 2^-53, the float d = r - 1 is off by at most 4u r + u |d| <= 4u + 5u |d|, and exp(-d^2/2) by
    |d| exp(-d^2/2) <= 1 times that, by 2u d^2/2 exp(-d^2/2) from the square, and by 8u from the function: below 32u.
    """
    d = np.abs(proposed) / scale
    d -= 1
    np.square(d, out=d)
    d *= -0.5
    p = np.exp(d, out=d)
    exact = Fraction(scale)

    def bracket(i: int, bits: int) -> tuple[int, int]:
        distance = abs(int(proposed[i])) / exact - 1
        return exponential(distance * distance / 2, bits)

    return coins(p - _MARGIN, p + _MARGIN, bracket)
