"""floor(-scale ln U) of many uniform U at once, exactly: the filter on which most samplers rest.

U begins with the `bits` bits of an integer `head`: U is in (head, head + 1) 2^-bits. Where head >= 2^(bits - 18) and
bits >= 63, and with u = 2^-53 and the assumptions of `floating`:

    x = float(head) 2^-bits       U = x (1 + a) with |a| <= 2u + 1.01/head <= 261u, so |ln U - ln x| <= 262u;
    l = log(x)                    |l - ln x| <= 8u |ln x|;
    v = -scale * l                |v + scale l| <= u |scale l|.

So |v + scale ln U| <= 262u scale + 9.1u v. With e = 264u scale + 14u v, in which the rest is room for the roundings of
e itself and of v - e and v + e (at most 2.1u (v + e) together), -scale ln U is between the computed v - e and v + e.
Where both have the same floor that is the answer. Elsewhere (at the widest scale that is 2 draws in 100,000), and for
the one head in 2^18 that is smaller, 64 more bits of U are drawn and the interval is computed with `brackets` until its
ends have one floor. It closes with probability 1, since -scale ln U is almost surely no integer.
"""

import math
from fractions import Fraction

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.samplers.brackets import negative_log
from dpcvx.privacy.samplers.entropy import extended
from dpcvx.privacy.samplers.floating import UNIT, check_platform

WIDEST = 2.0**28  # scales up to which few draws are left to exact arithmetic
_SHORT = 18  # leading zeros from which on a head has too few digits for floating-point numbers
_FIXED, _RELATIVE = 264 * UNIT, 14 * UNIT


def floors(heads: Array, bits: int, scale: float, below: int = 2**62) -> Array:
    """floor(-scale ln U) as 64-bit integers, for fractions U that begin with the given heads.

    Args:
        heads: unsigned integers (n,), each of `bits` uniform bits.
        bits: 63 or 64.
        scale: at most `WIDEST`.
        below: an answer that is not below it raises.

    Raises:
        OverflowError: where an answer is too large.
    """
    v = logarithms(heads, bits)
    v *= -scale
    e = v * _RELATIVE
    e += _FIXED * scale
    low, high = np.floor(v - e), np.floor(v + e)
    answers = low.astype(np.int64)
    undecided = low != high
    undecided |= heads < 2 ** (bits - _SHORT)
    for i in np.flatnonzero(undecided):
        answers[i] = _refined(int(heads[i]), bits, scale, below)
    return answers


def logarithms(heads: Array, bits: int) -> Array:
    """ln U in floating-point numbers; of heads that are too short for these, any number."""
    check_platform()
    x = heads.astype(np.float64)
    np.maximum(x, 2 ** (bits - _SHORT), out=x)
    x *= 2.0**-bits
    return np.log(x, out=x)


def floor_one(head: int, bits: int, logarithm: float, scale: float, below: int = 2**62) -> int:
    """`floors` of one head, with its number from `logarithms`."""
    v = -scale * logarithm
    e = v * _RELATIVE + _FIXED * scale
    low, high = math.floor(v - e), math.floor(v + e)
    if low == high and head >= 2 ** (bits - _SHORT):
        return low
    return _refined(head, bits, scale, below)


def _refined(head: int, bits: int, scale: float, below: int) -> int:
    """One answer, by more bits and exact arithmetic."""
    exact = Fraction(scale)
    while True:
        head, bits = extended(head, bits)
        if not head:
            continue
        digits = bits // 4
        one: int = 10**digits
        low, high = negative_log(head, bits, digits)
        low = max(low - one // head - 1, 0)  # -ln((head + 1)/2^bits) is smaller by less than 1/head
        unit = exact.denominator * one
        first, last = low * exact.numerator // unit, high * exact.numerator // unit
        if first == last:
            if first >= below:
                raise OverflowError("A draw of exact noise does not fit into 64-bit integers; nothing was released.")
            return first
