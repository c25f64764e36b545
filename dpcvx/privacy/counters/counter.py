"""Private prefix sums behind one streaming interface.

A counter of horizon T takes items l_1, ..., l_T one by one; after t < T of them `prefix` is L~_t = l_1 + ... + l_t +
noise, released for every t = 0, ..., T-1 (the action of round t+1 depends on L~_t). The T-th item releases nothing.
Items are arrays whose last axis holds the coordinates; any leading axes are independent replicas.

A counter class answers, for a horizon and the norm (1 or 2) of a law of noise, all that a plan, a regret bound, a table
or an audit asks, so that none of them needs to know which counter it has. `Tree` and `Factorisation` answer for all of
their kind; what is left for a new one is in `BinaryTree` and `Toeplitz`.

Running, `update` adds an item to the sum and asks `_next_noise` for the noise of the new prefix (`_first_noise` for
that of the empty one). A tree finds out by `_step` which nodes stay, and draws for the others by `_draw`; a
factorisation filters what it draws.
"""

import copy
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, NoReturn

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import HorizonError, ProtocolError
from dpcvx.privacy.counters.factors import Factors
from dpcvx.privacy.noise import Law, Source


class Structure(NamedTuple):
    """How a counter spends noise.

    Attributes:
        touches: noisy releases that one item enters, the composition count of the privacy proof.
        terms: noises in one prefix.
    """

    touches: int
    terms: int


class Counter(ABC):
    """A private prefix sum of at most `horizon` items.

    Args:
        horizon: T.
        shape: of an item, leading axes included.
        source: of the noise.
        norm: of the law of the noise, 1 or 2; some counters are built differently for either.
    """

    key: ClassVar[str]  # how users ask for it
    name: ClassVar[str]  # how certificates call it
    constant: ClassVar[bool]  # whether every prefix has one law of noise; otherwise the noise grows to the last one
    largest_horizon: ClassVar[float] = float("inf")
    in_paper: ClassVar[bool] = False  # whether calibration="paper" is for it

    # what the class answers

    @classmethod
    @abstractmethod
    def structure(cls, horizon: int, norm: int) -> Structure:
        """Releases of one item and noises of one prefix, by the integer formulas."""

    @classmethod
    def refusal(cls, law: type[Law]) -> str | None:
        """Why it does not go with a law of noise, in a sentence; None where it does."""
        return None

    @classmethod
    @abstractmethod
    def moved(cls, horizon: int, round_units: int | float, rounds: int, size: int, largest: float) -> int | float:
        """How far one person moves one release at most, in units of the grid and in the norm of the law.

        A person's rounds may lie in several epochs, each with a counter of its own and noise for this whole distance.
        These price together at most one distance where a counter with j of the rounds moves by j/rounds of it. So what
        a counter adds to the change of the losses themselves, as by rounding, counts for every round, not once.

        Args:
            horizon: T.
            round_units: how far the loss of one round moves, rounded.
            rounds: in which the person appears.
            size: coordinates of a loss.
            largest: largest absolute entry of a rounded loss, in units.
        """

    @classmethod
    def roundings(cls, horizon: int) -> int:
        """How often one entry of a loss is rounded on its way through all releases."""
        return 1

    @classmethod
    @abstractmethod
    def deviation(cls, horizon: int, norm: int, items: int | None = None) -> float:
        """Standard deviation of the prefix of so many items, in units of one noise; by default of the worst prefix."""

    @classmethod
    def noises_per_round(cls, horizon: int, norm: int) -> float:
        """How many noises of the shape of an item a round draws on average."""
        return float(cls.structure(horizon, norm).terms)

    @classmethod
    def factors(cls, horizon: int) -> Factors | None:
        """The matrices that tell the law of all prefixes without running it; None where it has to be run for that."""
        return None

    @classmethod
    def title(cls, norm: int) -> str:
        """Its name in the table of counters."""
        return cls.name

    @classmethod
    @abstractmethod
    def relative_deviation(cls, horizon: int, norm: int) -> float:
        """Deviation of the worst prefix where one item moves by 1: the number in the table of counters.

        In units of 1/epsilon for Laplace noise, in units of the multiplier of one release for Gaussian noise.
        """

    @classmethod
    def audited_horizons(cls, law: type[Law]) -> tuple[int, ...]:
        """The horizons at which the table of the audit tries it."""
        return (8,)

    # how it runs

    def __init__(self, horizon: int, shape: tuple[int, ...], source: Source, *, norm: int = 1) -> None:
        if horizon < 1:
            raise ValueError(f"The horizon must be at least 1, not {horizon}.")
        self.horizon, self.shape, self.source = int(horizon), shape, source
        self.touches, self.terms = self.structure(horizon, norm)
        self.items = 0
        self._torn = False
        self.dtype = np.int64 if source.secure else np.float64
        self.total: Array = np.zeros(shape, dtype=self.dtype)  # the true sum: private
        self._noise = self._first_noise()

    def __copy__(self) -> "Counter":
        if self.source.secure:
            raise copy.Error("A secure counter cannot be copied: the same private state would be released twice.")
        return copy.deepcopy(self)

    @property
    def prefix(self) -> Array:
        """L~_t for the t items so far, in units of the grid; asking twice gives the same release."""
        if self._torn or self.items >= self.horizon:
            self._refuse()
        return self.total + self._noise

    @property
    def unpadded(self) -> Array:
        """The prefix without noise that is there for its law alone and protects nothing; the prefix, where none is."""
        return self.prefix

    def update(self, item: Array) -> None:
        """Take the next item; raises `HorizonError`, and changes nothing, past the horizon."""
        if self.items >= self.horizon:
            raise HorizonError(f"The horizon of {self.horizon} rounds is used up; the item was not taken.")
        if self._torn:
            self._refuse()
        self._torn = True  # until the new noise is there: the new sum with the old noise would show the item
        self.total += item
        self.items += 1
        if self.items < self.horizon:
            self._noise = self._next_noise(item)
        self._torn = False

    def _refuse(self) -> NoReturn:
        """Say why nothing is released."""
        if self._torn:
            raise ProtocolError(
                "An update was interrupted before its noise was drawn; this counter releases nothing more."
            )
        raise HorizonError(f"The horizon of {self.horizon} rounds is used up; nothing more is released.")

    @abstractmethod
    def _first_noise(self) -> Array:
        """The noise of the empty prefix."""

    @abstractmethod
    def _next_noise(self, item: Array) -> Array:
        """The noise of the prefix after the item that was just added, `self.items` of them."""
