"""Discrete Laplace draws: P(z) proportional to exp(-|z|/scale) on the integers.

One word is a sign and 63 bits of the fraction of a geometric magnitude k; the pair (minus, 0) is drawn again. So 0 has
the weight 1 and each of +k and -k the weight exp(-k/scale): the law of the difference of two geometric draws.
"""

import math

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.samplers.entropy import WORD, words
from dpcvx.privacy.samplers.geometric import magnitudes
from dpcvx.privacy.samplers.scales import exact_scale

_ONE = np.uint64(1)


def laplace(scale: float, shape: int | tuple[int, ...]) -> Array:
    """Independent draws with P(z) proportional to exp(-|z|/scale), as 64-bit integers in the given shape.

    Raises:
        ValueError, OverflowError: where the scale is none, see `exact_scale`.
        EntropyError: where the system has no random bits.
    """
    t = exact_scale(scale)
    size = (shape,) if isinstance(shape, int) else shape
    drawn, again = _signed(t, math.prod(size))
    while again.size:
        drawn[again], still = _signed(t, again.size)
        again = again[still]
    return drawn.reshape(size)


def _signed(scale: float, count: int) -> tuple[Array, Array]:
    """Draws of magnitude and sign, and the indices of those that are minus zero."""
    word = words(count)
    drawn = magnitudes(word >> _ONE, WORD - 1, scale)
    sign = (word & _ONE).astype(np.int64)
    again = np.flatnonzero(drawn < sign)  # magnitude 0 with the sign minus
    drawn ^= -sign
    drawn += sign  # the two's complement: -k = not(k) + 1
    return drawn, again
