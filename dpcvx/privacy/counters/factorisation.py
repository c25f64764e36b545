"""Counters by a factorisation A = B C of prefix sums: release y = C x + Gaussian noise, and multiply by B afterwards.

Secure form: C x is rounded to integers, the noise is a discrete Gaussian on them, and B y is post-processing of the
released integers. Releasing A x + B z with integer noise z would not be private: B is real, and the fractional parts
of the releases show z. In simulation the two are the same up to rounding, and the exact sum plus B z is used.

A new one names its `Factors` for a horizon; the rest is here.
"""

import math
from abc import abstractmethod

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.counters.counter import Counter, Structure
from dpcvx.privacy.counters.factors import Factors
from dpcvx.privacy.noise import Law

_AHEAD = 16  # steps that a simulation filters at once
_BLOCK = 2**15  # numbers that these steps may hold together


class Factorisation(Counter):
    """Gaussian prefix sums: one release of the whole stream C x, which B turns into prefixes."""

    constant = False

    @classmethod
    @abstractmethod
    def factors(cls, horizon: int) -> Factors:
        """B and C for the prefixes 1..T-1."""

    @classmethod
    def structure(cls, horizon: int, norm: int) -> Structure:
        return Structure(min(horizon - 1, 1), min(horizon - 1, 1))

    @classmethod
    def refusal(cls, law: type[Law]) -> str | None:
        if law.norm == 2:
            return None
        return f'The "{cls.key}" counter is for Gaussian noise; give delta > 0, or choose "smooth" or "tree".'

    @classmethod
    def moved(cls, horizon: int, round_units: int | float, rounds: int, size: int, largest: float) -> float:
        """The whole rounded stream, by rounds (|C| round_units + slip).

        Let a person have j >= 1 of `rounds` rounds in the stream x of one counter. C x moves by at most j |C|
        round_units: each of these rounds is one column of C, none longer than |C|. Rounding moves each of the
        f.size * size entries by at most half a unit and the floating-point error of the filter, in either of the two
        neighbouring streams, so the rounded streams are further apart by at most slip, once however many of the rounds
        are here. In all that is at most j (|C| round_units + slip), j/rounds of what is returned. With noise for the
        latter the counter costs (j/rounds)^2 rho, and j = 0 costs nothing. The j of all epochs add up to `rounds`, so
        the shares j/rounds add up to 1, and their squares to no more: rho holds over all epochs. A slip that is charged
        once per person would fail here, since every epoch that holds a single round pays it in full.
        """
        f = cls.factors(horizon)
        slip = (1 + 2 * f.rounding_error(largest)) * np.sqrt(f.size * size)
        return float(rounds * (round_units * f.sensitivity + slip))

    @classmethod
    def roundings(cls, horizon: int) -> int:
        return horizon

    @classmethod
    def deviation(cls, horizon: int, norm: int, items: int | None = None) -> float:
        t = horizon - 1 if items is None else items
        return float(cls.factors(horizon).row_norm(t)) if t > 0 else 0.0

    @classmethod
    def relative_deviation(cls, horizon: int, norm: int) -> float:
        return cls.factors(horizon).sensitivity * cls.deviation(horizon, norm)

    def _first_noise(self) -> Array:
        factors = self.factors(self.horizon)
        self._b = factors.b_filter(self.shape)
        self._c = factors.c_filter(self.shape) if self.source.secure else None
        self._coming: list[Array] = []  # noise of the next prefixes, the last first
        # noise that depends on no value is filtered ahead, many steps at once
        self._ahead = 1 if self.source.needs_values else max(1, min(_AHEAD, _BLOCK // max(1, math.prod(self.shape))))
        return np.zeros(self.shape)

    def _next_noise(self, item: Array) -> Array:
        """In the secure form the whole prefix, a function of the released integers alone."""
        if self._c is None:
            if not self._coming:
                count = min(self._ahead, self.horizon - self.items)
                self._coming = list(self._b.steps(self.source.fresh(count, self.shape)))[::-1]
            return self._coming.pop()
        stream = np.rint(self._c.step(item.astype(float))).astype(np.int64)
        released = stream + self.source.draw(stream[None])[0]
        return self._b.step(released.astype(float))

    @property
    def prefix(self) -> Array:
        if self._torn or self.items >= self.horizon:
            self._refuse()
        return self.total + self._noise if self._c is None else self._noise.copy()
