"""What a law of noise answers for: its calibration, its moments, its likelihood and how it is drawn.

A law has a scale in units of the grid, and measures how far a release moves in a norm of its own. What the classes
answer, for no scale yet:

    accepts, check_delta    for which delta they are made;
    rho, per_unit           the budget behind (epsilon, delta), and the scale that a release which moves by 1 needs;
    calibrated              the law with the scale that some releases need.

And with a scale: what it gives (`claimed`, by composition as the certificate counts it, and `exact`, by its density),
`log_moment` for regret bounds, `log_ratio` for the audit, `simulate` and `measurement` for the two sources of noise.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.sensitivity import Grid
from dpcvx.sets import LossSet

_LEAST = 1e-9  # scale where nothing moves or nothing is released


class Spent(NamedTuple):
    """What releases cost: epsilon at some delta, and for Gaussian noise the rho of zero-concentrated privacy."""

    epsilon: float
    rho: float | None


@dataclass(frozen=True)
class Price:
    """What two neighbouring values of some releases are apart, exactly: prices add up.

    Attributes:
        pure: the epsilon of all releases by pure noise.
        pure_rho: their zero-concentrated privacy, epsilon^2/2 of each.
        rho: that of all releases by Gaussian noise.
    """

    pure: float = 0.0
    pure_rho: float = 0.0
    rho: float = 0.0

    @classmethod
    def of_pure(cls, epsilon: float) -> "Price":
        """Of one release by pure noise."""
        return cls(pure=epsilon, pure_rho=epsilon * epsilon / 2)

    def __add__(self, other: "Price") -> "Price":
        return Price(self.pure + other.pure, self.pure_rho + other.pure_rho, self.rho + other.rho)


@dataclass(frozen=True)
class Releases:
    """What noise must hide: the noisy releases in which one person's losses appear.

    Attributes:
        count: how many of them one loss enters.
        moved: how far one person moves one of them, in units of the grid and the norm of the law.
        rounds_per_person: rounds in which the person may appear.
        loss_set, neighbours, grid: the losses, what one person may change, and the units.
    """

    count: int
    moved: float
    rounds_per_person: int
    loss_set: LossSet
    neighbours: Neighbours
    grid: Grid


@dataclass(frozen=True)
class Law(ABC):
    """A law of noise with its scale, in units of the grid."""

    scale: float

    key: ClassVar[str]  # how users ask for it
    name: ClassVar[str]  # how certificates call it
    norm: ClassVar[int]  # 1 or 2: in which the sensitivity of a loss is taken
    joint: ClassVar[bool] = False  # whether the coordinates of one noise depend on each other
    exact_sampler: ClassVar[bool] = True  # whether it can be drawn exactly, on integers
    in_paper: ClassVar[bool] = True  # whether calibration="paper" is for it
    notes: ClassVar[tuple[str, ...]] = ()  # for the certificate
    ROUNDED_UP: ClassVar[float] = 1 + 1e-12  # scales are never too small by rounding

    # calibration

    @classmethod
    @abstractmethod
    def accepts(cls, delta: float) -> bool:
        """Whether it gives (epsilon, delta)-privacy for this delta."""

    @classmethod
    @abstractmethod
    def check_delta(cls, delta: float) -> None:
        """Say in a ValueError why it does not accept this delta."""

    @classmethod
    @abstractmethod
    def rho(cls, epsilon: float, delta: float) -> float | None:
        """The zero-concentrated privacy behind (epsilon, delta), where the calibration goes through it."""

    @classmethod
    @abstractmethod
    def per_unit(cls, count: int, epsilon: float, delta: float) -> float:
        """The scale that `count` releases need of which each moves by 1."""

    @classmethod
    def suits(cls, neighbours: Neighbours, loss_set: LossSet) -> bool:
        """Whether it is looked at where no law is named."""
        return True

    @classmethod
    def reach(cls, neighbours: Neighbours, loss_set: LossSet) -> float:
        """What the scale of a law that moves by 1 is multiplied by, at most, to tell how large its draws are."""
        return float(neighbours.change(loss_set, cls.norm))

    @classmethod
    def calibrated(cls, releases: Releases, epsilon: float, delta: float) -> Self:
        """The law with the scale at which the releases are (epsilon, delta)-private."""
        return cls.of_scale(cls.per_unit(releases.count, epsilon, delta) * releases.moved * cls.ROUNDED_UP)

    @classmethod
    def of_scale(cls, scale: float) -> Self:
        """The law with a scale, or with a tiny one where nothing has to be hidden."""
        return cls(max(scale, _LEAST))

    def scaled(self, factor: float) -> Self:
        """The law of a multiple of the noise."""
        return replace(self, scale=self.scale * factor)

    # what it gives

    @abstractmethod
    def claimed(self, count: int, moved: float, delta: float) -> Spent:
        """What `count` releases that move by `moved` cost at delta, as the certificate counts it."""

    @abstractmethod
    def exact(self, shift: float, delta: float) -> Spent:
        """What noise on releases that move by `shift`, all together and in the law's norm, costs at delta exactly."""

    @abstractmethod
    def length(self, shift: Sequence[int] | Sequence[float]) -> float:
        """Of a shift, in the norm of the scale."""

    @abstractmethod
    def price(self, shift: Sequence[int] | Sequence[float]) -> Price:
        """What a release costs of which two neighbouring values are `shift` apart, entry by entry."""

    @abstractmethod
    def cost(self, distance: int | float) -> float:
        """What a release by exact noise costs that moves by `distance`, rounded up: epsilon, or rho for Gaussian."""

    @abstractmethod
    def together(self, count: int) -> float:
        """How far `count` releases move together, in the law's norm, where each moves by 1."""

    def change(self, units: float) -> float:
        """How far one loss moves a release in the norm of the scale, given its sensitivity in `norm`."""
        return units

    def distance(self, moved: int | float, units: int | float) -> int | float:
        """How far one person moves a release in the norm of the scale.

        Args:
            moved: the same in `norm`.
            units: how far one loss moves it in `norm`.
        """
        return moved

    # moments, likelihood and draws

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Of one coordinate (of the one that varies most)."""

    @property
    @abstractmethod
    def mean_absolute(self) -> float:
        """An upper bound of E |z| of one coordinate, in standard deviations; of sums of such noises too."""

    @property
    def largest_rate(self) -> float:
        """Above this s the moment E exp(s z) is infinite."""
        return float("inf")

    @abstractmethod
    def log_moment(self, s: float) -> float:
        """log E exp(s z) of one coordinate z, or what may stand for it in means of maxima; infinite where none may."""

    @abstractmethod
    def summands(self, terms: int, deviation: float) -> tuple["Law", int]:
        """A law and a number of independent copies whose sum is that of `terms` noises with this standard deviation."""

    @abstractmethod
    def log_ratio(self, noisy: Array, first: Array, second: Array) -> Array:
        """ln p(noisy | first)/p(noisy | second), over the last axis, for noise on the values `first` or `second`."""

    @abstractmethod
    def measurement(self, size: int) -> Any:
        """OpenDP's measurement on vectors of integers.

        Raises:
            ValueError: where there is no exact sampler.
        """

    @abstractmethod
    def exact_draws(self, shape: tuple[int, ...]) -> Array:
        """Draws as 64-bit integers, by the samplers of the package.

        Raises:
            ValueError, OverflowError: where there is no exact sampler, or none for this scale.
        """

    @abstractmethod
    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draws for simulation."""


def rounded_up(number: Fraction) -> float:
    """The least floating-point number that is not below a fraction."""
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


class PureLaw(Law):
    """Noise whose density falls by e^(-1/scale) for each unit of a norm: it gives delta = 0."""

    norm = 1

    @classmethod
    def accepts(cls, delta: float) -> bool:
        return delta == 0

    @classmethod
    def check_delta(cls, delta: float) -> None:
        if not cls.accepts(delta):
            raise ValueError(f"{cls.key.capitalize()} noise gives delta = 0; leave delta out.")

    @classmethod
    def rho(cls, epsilon: float, delta: float) -> float | None:
        return None

    @classmethod
    def per_unit(cls, count: int, epsilon: float, delta: float) -> float:
        return max(count, 1) / epsilon

    def claimed(self, count: int, moved: float, delta: float) -> Spent:
        return Spent(count * moved / self.scale if count and moved else 0.0, None)

    def exact(self, shift: float, delta: float) -> Spent:
        return Spent(float(shift / self.scale), None)

    def price(self, shift: Sequence[int] | Sequence[float]) -> Price:
        return Price.of_pure(float(self.length(shift) / self.scale))

    def cost(self, distance: int | float) -> float:
        return rounded_up(Fraction(distance) / Fraction(self.scale))

    def together(self, count: int) -> float:
        return count

    @property
    def mean_absolute(self) -> float:
        return 1.0

    def summands(self, terms: int, deviation: float) -> tuple[Law, int]:
        return self, terms
