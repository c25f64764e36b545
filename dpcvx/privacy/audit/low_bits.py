"""A score that looks at the bits of the outputs: floating-point noise leaves marks of the value that it was added to.

Textbook noise added to 0 keeps all bits of a small number; added to 1 it is rounded to multiples of 2^-53, and what is
left near 0 shows that. So where an output lies and what its lowest set bit is, together, can tell inputs apart that no
smooth function of the outputs can. Whole numbers with whole noise have no such marks.
"""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.audit.events import Score

_PRIOR = 2.0  # counts added to each, so that what is rare says little
_WIDTH = 4096  # above the range of exponents


def marks(outputs: Array) -> Array:
    """A whole number for each output, of its sign, its exponent and that of its lowest set bit."""
    mantissa, exponent = np.frexp(outputs)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = exponent + np.frexp((whole & -whole).astype(float))[1]
    code = (exponent.astype(np.int64) + _WIDTH // 2) * _WIDTH + lowest + _WIDTH // 2
    return np.where(outputs == 0, 0, np.where(outputs < 0, -code, code))


def learn_low_bits(first: Array, second: Array) -> Score:
    """A score that is large where the marks of the outputs came more often on the first stream, coordinates summed.

    Args:
        first, second: (n, features), outputs on the two streams.
    """
    tables = [_table(a, b) for a, b in zip(marks(first).T, marks(second).T, strict=True)]

    def score(outputs: Array) -> Array:
        total = np.zeros(len(outputs))
        for column, (codes, ratios) in zip(marks(outputs).T, tables, strict=True):
            at = np.minimum(np.searchsorted(codes, column), len(codes) - 1)
            total += np.where(codes[at] == column, ratios[at], 0.0)
        return total

    return score


def _table(first: Array, second: Array) -> tuple[Array, Array]:
    """All marks that came, in order, and the logarithms of how often on the first stream for once on the second."""
    codes = np.unique(np.concatenate([first, second]))
    counts = [np.bincount(np.searchsorted(codes, each), minlength=len(codes)) + _PRIOR for each in (first, second)]
    return codes, np.log(counts[0] / counts[1])
