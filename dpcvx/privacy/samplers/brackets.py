"""Logarithms and exponentials between two integers: as tight as asked for, and never on the wrong side.

`decimal` rounds `ln` and `exp` correctly at any precision, so half a unit of its last digit is all that they are off.
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

_ROOM = 8  # digits beyond those that are asked for
_LOG_2 = 0.6931471805599454  # rounded up


def negative_log(head: int, bits: int, digits: int) -> tuple[int, int]:
    """Two integers with -ln(head/2^bits) between them, in units of 10^-digits.

    The two logarithms and their difference are below 10^6 (bits < 2^20), so at `digits` + 8 digits each is off by less
    than 10^(-digits - 2).
    """
    context = _context(digits + _ROOM)
    value = int(context.scaleb(context.subtract(_log_power(bits, digits), context.ln(Decimal(head))), digits))
    return value - 1, value + 2


def exponential(rate: Fraction, bits: int) -> tuple[int, int]:
    """Two integers with exp(-rate) between them, in units of 2^-bits, for a rate that is not negative.

    The rate is rounded to a decimal d with |rate - d| < 10^-digits, 2^-bits > 10^(1 - digits); exp(-d) is at most 1 and
    off by less than 10^-digits. Together that is less than one unit.
    """
    if rate > _LOG_2 * (bits + 1):
        return 0, 1
    digits = bits * 302 // 1000 + _ROOM
    context = _context(digits + _ROOM)
    rounded = Decimal(rate.numerator * 10**digits // rate.denominator).scaleb(-digits, context)
    value = Fraction(context.exp(context.minus(rounded))) * 2**bits  # a sign before it would round by another context
    middle = value.numerator // value.denominator
    return max(middle - 1, 0), min(middle + 2, 2**bits)


def log_exponential(head: int, bits: int) -> tuple[Fraction | float, Fraction | float]:
    """Bounds of ln(-ln(1 - V)) over all V in (head, head + 1) 2^-bits; infinite where an end is 0 or 1."""
    digits = bits // 2
    first: Fraction | float = -math.inf
    last: Fraction | float = math.inf
    soon, _ = negative_log(2**bits - head, bits, digits)
    if soon > 0:
        first = _log(soon, digits)[0]
    if head + 1 < 2**bits:
        last = _log(negative_log(2**bits - head - 1, bits, digits)[1], digits)[1]
    return first, last


def _log(value: int, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds of ln(value/10^digits); both logarithms are below 10^6 and off by less than 10^(-digits - 2)."""
    context = _context(digits + _ROOM)
    found = Fraction(context.subtract(context.ln(Decimal(value)), context.ln(Decimal(10**digits))))
    room = Fraction(1, 10**digits)
    return found - room, found + room


@lru_cache(maxsize=64)
def _log_power(bits: int, digits: int) -> Decimal:
    return _context(digits + _ROOM).ln(Decimal(1 << bits))


@lru_cache(maxsize=64)
def _context(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
