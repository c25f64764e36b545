"""A sequence of losses, fixed before the first round and made in blocks: a million rounds need no memory.

Losses that depend on what the learner played are outside the theorems; nothing here can express them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from dpcvx.arguments import whole
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.streams import stream

_STRETCH_ROUNDS = 4096
_STRETCH_ENTRIES = 2**20

Schedule = Callable[[Array], Array]
Draw = Callable[[np.random.Generator, Array], Array]


class Losses(ABC):
    """`horizon` losses of one shape; iterate over them, or take any `block`. All arrays are read-only.

    Attributes:
        name: how tables and plots call the sequence.
        horizon: number of rounds.
        shape: of one loss.
    """

    def __init__(self, name: str, horizon: int, shape: tuple[int, ...]) -> None:
        self.name, self.horizon, self.shape = name, whole(horizon, "horizon"), shape

    def block(self, start: int, stop: int) -> Array:
        """The losses of rounds start, ..., stop - 1, counted from 0: an array (stop - start, *shape).

        A round has the same loss in every block that contains it.
        """
        if not 0 <= start <= stop <= self.horizon:
            raise ArgumentError(f"block({start}, {stop}) is not within the {self.horizon} rounds of {self.name}.")
        rows = self._rows(start, stop) if stop > start else np.empty((0, *self.shape))
        rows.flags.writeable = False
        return rows

    @abstractmethod
    def _rows(self, start: int, stop: int) -> Array:
        """The losses of a block that is not empty."""

    def __len__(self) -> int:
        return self.horizon

    def __iter__(self) -> Iterator[Array]:
        length = stretch_length(self.shape)
        for start in range(0, self.horizon, length):
            yield from self.block(start, min(start + length, self.horizon))

    def __repr__(self) -> str:
        return f"Losses({self.name}: {self.horizon} rounds of shape {self.shape})"


class Listed(Losses):
    """A few losses and a schedule: the index of the loss for each round of an array of rounds."""

    def __init__(self, name: str, horizon: int, losses: Array, schedule: Schedule) -> None:
        super().__init__(name, horizon, losses.shape[1:])
        self._losses = np.ascontiguousarray(losses)
        self._schedule = schedule

    def _rows(self, start: int, stop: int) -> Array:
        return np.asarray(self._losses[self._schedule(np.arange(start, stop))])


class Stretched(Losses):
    """Losses made in stretches of fixed length; the stretch that was asked for last is kept in memory."""

    def __init__(self, name: str, horizon: int, shape: tuple[int, ...]) -> None:
        super().__init__(name, horizon, shape)
        self._length = stretch_length(shape)
        self._kept: tuple[int, Array] | None = None

    @abstractmethod
    def _stretch(self, index: int, rounds: Array) -> Array:
        """The losses of one whole stretch."""

    def _rows(self, start: int, stop: int) -> Array:
        length = self._length
        first, last = start // length, (stop - 1) // length
        pieces = [self._made(k)[max(start - k * length, 0) : stop - k * length] for k in range(first, last + 1)]
        return pieces[0] if first == last else np.concatenate(pieces)

    def _made(self, index: int) -> Array:
        kept = self._kept
        if kept is None or kept[0] != index:
            start = index * self._length
            rounds = np.arange(start, min(start + self._length, self.horizon))
            kept = self._kept = (index, np.ascontiguousarray(self._stretch(index, rounds)))
        return kept[1]


class Drawn(Stretched):
    """Random losses: every stretch has a generator of its own, so that it can be drawn without those before it.

    Args:
        kind: of the sequence, which has random numbers of its own.
        horizon, shape: see `Losses`.
        seed: of its random numbers.
        draw: the losses of some rounds, by a generator.
        name: where it is not the kind.
    """

    def __init__(
        self, kind: str, horizon: int, shape: tuple[int, ...], seed: int, draw: Draw, name: str | None = None
    ) -> None:
        super().__init__(name or kind, horizon, shape)
        self._kind, self._seed, self._draw = kind, whole(seed, "seed", at_least=0), draw

    def _stretch(self, index: int, rounds: Array) -> Array:
        return self._draw(stream(self._seed, f"losses, {self._kind}: stretches", index), rounds)


def choices(seed: int, kind: str) -> np.random.Generator:
    """The random numbers by which a sequence of that kind chooses what holds in all its rounds."""
    return stream(whole(seed, "seed", at_least=0), f"losses, {kind}: choices")


def stretch_length(shape: tuple[int, ...]) -> int:
    """Rounds of losses of this shape that are held at a time."""
    return max(1, min(_STRETCH_ROUNDS, _STRETCH_ENTRIES // max(1, int(np.prod(shape)))))
