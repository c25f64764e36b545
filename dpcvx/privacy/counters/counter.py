"""Private prefix sums behind one streaming interface.

A counter of horizon T takes items l_1, ..., l_T one by one; after t < T of them `prefix` is L~_t = l_1 + ... + l_t +
noise, released for every t = 0, ..., T-1 (the action of round t+1 depends on L~_t). The T-th item releases nothing.

`touches` is the number of noisy releases that one item enters, the composition count of the privacy proof; `terms` is
the number of noises in one prefix. Items are arrays whose last axis holds the coordinates; any leading axes are
independent replicas.
"""

import copy
from abc import ABC, abstractmethod
from typing import NoReturn

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import HorizonError, ProtocolError
from dpcvx.privacy.noise import Source


class Counter(ABC):
    """A private prefix sum of at most `horizon` items."""

    name: str
    touches: int
    terms: int

    def __init__(self, horizon: int, shape: tuple[int, ...], source: Source) -> None:
        if horizon < 1:
            raise ValueError(f"The horizon must be at least 1, not {horizon}.")
        self.horizon, self.shape, self.source = int(horizon), shape, source
        self.items = 0
        self._torn = False
        self.dtype = np.int64 if source.secure else np.float64
        self.total: Array = np.zeros(shape, dtype=self.dtype)  # the true sum: private
        self._noise = self._start()

    @classmethod
    @abstractmethod
    def counts(cls, horizon: int, gaussian: bool) -> tuple[int, int]:
        """(touches, terms) for a horizon, by the integer formulas."""

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
            self._noise = self._advance(item)
        self._torn = False

    def _refuse(self) -> NoReturn:
        """Say why nothing is released."""
        if self._torn:
            raise ProtocolError(
                "An update was interrupted before its noise was drawn; this counter releases nothing more."
            )
        raise HorizonError(f"The horizon of {self.horizon} rounds is used up; nothing more is released.")

    @abstractmethod
    def _start(self) -> Array:
        """The noise of the empty prefix."""

    @abstractmethod
    def _advance(self, item: Array) -> Array:
        """The noise of the prefix after the item that was just added, `self.items` of them."""
