"""What leaves a private mechanism: a law, the values that it hides, and the output that everybody sees.

A coupling keeps two runs' releases and holds them against each other: `told_apart` says what an observer would see to
differ beside the output, and `price` what the values that differ cost. Noisy vectors, selections and coins are
releases; another kind answers the same two questions.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.noise.law import Law, Price


@dataclass(frozen=True)
class Release(ABC):
    """One output of a private mechanism, and what it hides."""

    @abstractmethod
    def told_apart(self, other: Self) -> str | None:
        """What is public about the release and differs from another run, in a few words; None where nothing does."""

    @abstractmethod
    def price(self, other: Self) -> Price:
        """What it costs that the other run had other values."""

    @property
    def flaw(self) -> str | None:
        """Why noise hides nothing here, whatever its scale, in a few words."""
        return None


@dataclass(frozen=True, eq=False)
class NoisyVector(Release):
    """Whole numbers with noise of a law on each.

    Attributes:
        law: with its scale.
        inputs: the true values (k, ..., N).
        output: what was released, of the same shape.
    """

    law: Law
    inputs: Array
    output: Array

    def told_apart(self, other: "NoisyVector") -> str | None:
        if self.law != other.law:
            return f"the noise, {self.law} and {other.law}"
        if self.inputs.shape != other.inputs.shape:
            return f"the shape, {self.inputs.shape} and {other.inputs.shape}"
        return None

    def price(self, other: "NoisyVector") -> Price:
        # without numpy: the difference of two 64-bit integers may need 65 bits
        return self.law.price([a - b for a, b in zip(_entries(self.inputs), _entries(other.inputs), strict=True)])

    @property
    def flaw(self) -> str | None:
        if self.inputs.dtype == np.int64:
            return None
        return f"noise on values of type {self.inputs.dtype}; it is exact on 64-bit integers only"


def _entries(values: Array) -> list[int] | list[float]:
    return list(values.ravel().tolist())


@dataclass(frozen=True)
class Selection(Release):
    """One of several candidates, drawn with probability proportional to exp(-score/scale)."""

    scale: float
    scores: tuple[int, ...]
    output: int

    def told_apart(self, other: "Selection") -> str | None:
        if (self.scale, len(self.scores)) == (other.scale, len(other.scores)):
            return None
        return f"the selection, {len(self.scores)} of scale {self.scale} and {len(other.scores)} of scale {other.scale}"

    def price(self, other: "Selection") -> Price:
        """The largest log-ratio of the probabilities of any candidate; and r^2/8, r the length of their interval.

        For the log-ratio X = ln P/Q in an interval of length r, Hoeffding's lemma says ln E_P e^(cX) <= c E_P X +
        c^2 r^2/8. For c = -1 the left side is 0, so E_P X <= r^2/8; for c = a - 1 it is a - 1 times the divergence of
        order a, which is then at most a r^2/8: that is zero-concentrated privacy of r^2/8.
        """
        shift = min(self.scores) - min(other.scores)
        weights = [sum(math.exp((min(one.scores) - s) / one.scale) for s in one.scores) for one in (self, other)]
        change = math.log(weights[0] / weights[1])
        moved = [(a - b - shift) / self.scale + change for a, b in zip(self.scores, other.scores, strict=True)]
        epsilon, length = max(abs(one) for one in moved), max(moved) - min(moved)
        return Price(pure=epsilon, pure_rho=min(epsilon**2 / 2, length**2 / 8))


@dataclass(frozen=True)
class Coin(Release):
    """A coin that shows heads with probability share exp(-cost/scale)."""

    scale: float
    cost: int
    output: bool
    share: Fraction = Fraction(1)

    def told_apart(self, other: "Coin") -> str | None:
        if (self.scale, self.share) == (other.scale, other.share):
            return None
        ours, theirs = (f"of scale {one.scale} and share {float(one.share)}" for one in (self, other))
        return f"the coin, {ours} and {theirs}"

    def price(self, other: "Coin") -> Price:
        """The larger log-ratio of the probabilities of heads and tails."""
        if self.cost == other.cost:
            return Price()
        if self.share == 1 and 0 in (self.cost, other.cost):
            return Price.of_pure(math.inf)  # tails never comes in one of the two runs
        left = float(1 - self.share)
        tails = [math.log(left - (1 - left) * math.expm1(-one.cost / one.scale)) for one in (self, other)]
        return Price.of_pure(max(abs(self.cost - other.cost) / self.scale, abs(tails[0] - tails[1])))


def checked_scores(scores: Sequence[int]) -> tuple[int, ...]:
    """Scores as whole numbers, or an error: exact sampling is for these alone."""
    if not len(scores) or not all(isinstance(score, int | np.integer) for score in scores):
        raise ValueError("A selection needs scores that are whole numbers, at least one of them.")
    return tuple(int(score) for score in scores)
