"""Coins of any probability that can be computed as precisely as needed, exactly.

A coin shows True where U < p. The first 16 bits of U and floating-point bounds of p decide almost always; where they do
not, more bits are drawn and p is asked for between two integers over a power of 2, until U is on one side.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpcvx.arguments import positive
from dpcvx.arrays import Array, Bools
from dpcvx.privacy.samplers.brackets import exponential
from dpcvx.privacy.samplers.entropy import extended, quarter_words
from dpcvx.privacy.samplers.floating import check_platform

# of a number of bits: two integers with p 2^bits between them, at most a few apart
Bracket = Callable[[int], tuple[int, int]]

_BITS = 16
_EXPONENTIAL = 2.0**-46


def coins(low: Array, high: Array, bracket: Callable[[int, int], tuple[int, int]]) -> Bools:
    """Independent coins (n,), the i-th True with probability p_i.

    Args:
        low, high: floats (n,) with low_i <= p_i <= high_i; the closer, the faster.
        bracket: of an index i and a number of bits, two integers with p_i 2^bits between them. It is asked for more and
            more bits, and rarely.

    Raises:
        ValueError: where some p_i is above 1, or the bounds are no bounds.
    """
    if not np.all(low <= high):
        raise ValueError("The bounds of a probability must be numbers, the lower one first.")
    if low.size and float(low.max()) > 1:
        raise ValueError(f"A probability of at least {float(low.max())!r} is above 1: a coin cannot have it.")
    word = quarter_words(low.size)
    x = word.astype(np.float64)
    x *= 2.0**-_BITS  # exact: U is between it and the next multiple of 2^-16
    shown: Bools = x + 2.0**-_BITS <= low
    for i in np.flatnonzero((x < high) > shown):
        shown[i] = is_below(int(word[i]), _BITS, lambda bits, i=int(i): bracket(i, bits))  # type: ignore[misc]
    return shown


def is_below(head: int, bits: int, bracket: Bracket) -> bool:
    """Whether a uniform U that begins with the `bits` bits of `head` is below p."""
    while True:
        low, high = bracket(bits)
        if low > 1 << bits:
            raise ValueError("A coin cannot have a probability above 1.")
        if head + 1 <= low:
            return True
        if head >= high:
            return False
        head, bits = extended(head, bits)


def exponential_coins(costs: Array, scale: float) -> Bools:
    """Independent coins (n,), the i-th True with probability exp(-costs_i/scale).

    The float p = exp(-c/scale) is off by at most 8u from the function and 5u c/scale exp(-c/scale) <= 2u from its
    argument, u = 2^-53.

    Args:
        costs: 64-bit integers of at least 0.
        scale: a positive number.
    """
    if costs.dtype != np.int64 or np.any(costs < 0):
        raise ValueError("The costs of coins must be 64-bit integers of at least 0.")
    check_platform()
    rate = Fraction(positive(scale, "scale"))
    with np.errstate(over="ignore"):  # where exp(-c/scale) is 0 to all digits
        p = np.exp(costs / -float(scale))
    return coins(p - _EXPONENTIAL, p + _EXPONENTIAL, lambda i, bits: exponential(int(costs[i]) / rate, bits))
