"""Geometric draws: P(k) proportional to exp(-k/scale) on k = 0, 1, 2, ...

floor(-t ln U) is k where exp(-(k+1)/t) < U <= exp(-k/t): exactly the geometric law of ratio exp(-1/t).

For a wide scale t the low bits are drawn for themselves. With m = 2^low, k = m q + r has the weight exp(-q/(t/m))
exp(-r/t), a product: q is geometric of scale t/m, and r on 0, ..., m - 1 has the weight exp(-r/t). The latter is
uniform, kept with probability exp(-r/t) >= 1 - m/t and else drawn again.
"""

import math
from fractions import Fraction

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.samplers.brackets import exponential
from dpcvx.privacy.samplers.coins import is_below
from dpcvx.privacy.samplers.entropy import WORD, half_words, words
from dpcvx.privacy.samplers.floors import WIDEST, floors
from dpcvx.privacy.samplers.scales import exact_scale

LARGEST = 2**62
_ROOM = 27  # bits by which the scale is wider than what is drawn for itself, at least
_HALF = 32
_FEW = 18  # low bits up to which half a word holds enough bits beside them


def geometric(scale: float, shape: int | tuple[int, ...]) -> Array:
    """Independent draws with P(k) proportional to exp(-k/scale), as 64-bit integers in the given shape.

    Raises:
        ValueError, OverflowError: where the scale is none, see `exact_scale`.
        EntropyError: where the system has no random bits.
    """
    t = exact_scale(scale)
    size = (shape,) if isinstance(shape, int) else shape
    return magnitudes(words(math.prod(size)), WORD, t).reshape(size)


def magnitudes(heads: Array, bits: int, scale: float) -> Array:
    """Geometric draws (n,) from the heads of uniform fractions, and where the scale is wide from more words."""
    low = low_bits(scale)
    drawn = floors(heads, bits, math.ldexp(scale, -low), LARGEST >> low)
    if low:
        drawn <<= low
        drawn += _remainders(low, scale, drawn.size)
    return drawn


def low_bits(scale: float) -> int:
    """How many low bits of a draw are drawn for themselves."""
    return 0 if scale <= WIDEST else math.frexp(scale)[1] - 28


def _remainders(low: int, scale: float, count: int) -> Array:
    """Draws r from 0, ..., 2^low - 1 with weights exp(-r/scale), where scale >= 2^(low + 27).

    A word, or half of one, gives r and, in its other bits, the head of the fraction that decides whether r is kept.
    """
    drawn, again = _tried(low, scale, count)
    while again.size:
        drawn[again], still = _tried(low, scale, again.size)
        again = again[still]
    return drawn


def _tried(low: int, scale: float, count: int) -> tuple[Array, Array]:
    """Uniform r, and the indices of those that are not kept."""
    bits = _HALF if low <= _FEW else WORD
    word = half_words(count) if bits == _HALF else words(count)
    drawn = (word >> word.dtype.type(bits - low)).astype(np.int64)
    heads = word & word.dtype.type(2 ** (bits - low) - 1)
    doubtful = np.flatnonzero(heads < _doubtful(bits - low))
    rate = 1 / Fraction(scale)
    dropped = [i for i in doubtful if _drops(int(heads[i]), bits - low, int(drawn[i]) * rate)]
    return drawn, np.array(dropped, dtype=np.int64)


def remainder_one(word: int, low: int, scale: float) -> int | None:
    """One of `_remainders` from a word; None where another word is needed."""
    r, head = word >> (WORD - low), word & (2 ** (WORD - low) - 1)
    doubtful = head < _doubtful(WORD - low)
    return None if doubtful and _drops(head, WORD - low, r / Fraction(scale)) else r


def _doubtful(bits: int) -> int:
    """Heads of so many bits from this one on are above 1 - exp(-r/scale), which is less than 2^-27."""
    return 1 << max(bits - _ROOM, 0)


def _drops(head: int, bits: int, rate: Fraction) -> bool:
    """True with probability 1 - exp(-rate)."""

    def bracket(digits: int) -> tuple[int, int]:
        low, high = exponential(rate, digits)
        return 2**digits - high, 2**digits - low

    return is_below(head, bits, bracket)
