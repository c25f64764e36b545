"""The Toeplitz counter: release y = C x + Gaussian noise step by step, and multiply by B afterwards; A = B C.

Secure form: C x is rounded to integers, the noise is a discrete Gaussian on them, and B y is post-processing of the
released integers. Releasing A x + B z with integer noise z would not be private: B is real, and the fractional parts
of the releases show z. In simulation the two are the same up to rounding, and the exact sum plus B z is used.
"""

import math
from functools import lru_cache

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.counters.counter import Counter
from dpcvx.privacy.factorisation import ToeplitzFactors, toeplitz_factors
from dpcvx.privacy.noise import Source

_AHEAD = 16  # steps that a simulation filters at once,
_BLOCK = 2**15  # and how many numbers these may hold


@lru_cache(maxsize=64)
def factors(horizon: int) -> ToeplitzFactors:
    """The factors for the prefixes 1..T-1."""
    return toeplitz_factors(max(horizon - 1, 1))


def stream_sensitivity(horizon: int, size: int, units: float, largest: float) -> float:
    """How far the rounded stream C x moves in the 2-norm, in units, when one loss moves by `units`.

    The exact stream moves by the column norm of C times `units`; each of its entries is off by at most half a unit
    and the floating-point error of the filter, in both streams.

    Args:
        horizon: T.
        size: coordinates of one loss.
        units: 2-norm sensitivity of one rounded loss.
        largest: largest absolute entry of a rounded loss, in units.
    """
    f = factors(horizon)
    slip = 1 + 2 * f.rounding_error(largest)
    return float(units * f.sensitivity + slip * np.sqrt(f.size * size))


class Toeplitz(Counter):
    """Gaussian prefix sums with close to the least noise that any factorisation allows."""

    name = "Toeplitz square root"
    touches = 1
    terms = 1

    def __init__(self, horizon: int, shape: tuple[int, ...], source: Source) -> None:
        self._factors = factors(horizon)
        super().__init__(horizon, shape, source)

    @classmethod
    def counts(cls, horizon: int, gaussian: bool) -> tuple[int, int]:
        return min(horizon - 1, 1), min(horizon - 1, 1)

    @staticmethod
    def row_norm(horizon: int, items: int | None = None) -> float:
        """Standard deviation of the prefix of so many items in units of one noise; by default the last, the largest."""
        t = horizon - 1 if items is None else items
        return float(factors(horizon).row_norm(t)) if t > 0 else 0.0

    def _start(self) -> Array:
        self._b = self._factors.b_filter(self.shape)
        self._c = self._factors.c_filter(self.shape) if self.source.secure else None
        self._coming: list[Array] = []  # noise of the next prefixes, the last first
        # noise that depends on no value is filtered ahead, many steps at once
        self._ahead = 1 if self.source.needs_values else max(1, min(_AHEAD, _BLOCK // max(1, math.prod(self.shape))))
        return np.zeros(self.shape)

    def _advance(self, item: Array) -> Array:
        if self._c is None:
            if not self._coming:
                count = min(self._ahead, self.horizon - self.items)
                self._coming = list(self._b.steps(self.source.fresh(count, self.shape)))[::-1]
            return self._coming.pop()
        stream = np.rint(self._c.step(item.astype(float))).astype(np.int64)
        released = stream + self.source.draw(stream[None])[0]
        return self._b.step(released.astype(float))  # a function of the released integers alone

    @property
    def prefix(self) -> Array:
        if self._torn or self.items >= self.horizon:
            self._refuse()
        return self.total + self._noise if self._c is None else self._noise.copy()
