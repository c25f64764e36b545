"""Outputs by a script: inside `scripted`, secure releases ignore their values, and are kept with them.

Two runs on one script see the same outputs. Whatever else they show must then be the same too, to the bit, if privacy
rests on the releases alone; and the values of the releases say what these cost. That is a coupling, see `audit`.

A learner's own draws are no noise, and the same in both runs: `own_generator` takes them from the script where no seed
was given.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.noise.law import Law
from dpcvx.privacy.noise.release import Coin, NoisyVector, Release, Selection
from dpcvx.streams import Seed, stream

_LARGEST = 2**60  # outputs stay within 64-bit integers, also when they are summed


class Script:
    """Outputs that follow from a seed and from what is public about the releases: their order, laws and shapes.

    Attributes:
        releases: all that were made, in order.
    """

    def __init__(self, seed: int) -> None:
        self._outputs, self._own = stream(seed, "script").spawn(2)
        self.releases: list[Release] = []

    def vector(self, law: Law, values: Array) -> Array:
        """Whole numbers of the size of the noise in place of noisy values."""
        noise = np.rint(self._outputs.laplace(0.0, law.standard_deviation, values.shape))
        output = np.clip(noise, -_LARGEST, _LARGEST).astype(np.int64)
        self.releases.append(NoisyVector(law, values.copy(), output))
        return output

    def selection(self, scale: float, scores: Sequence[int]) -> int:
        """Any candidate, whatever the scores."""
        output = int(self._outputs.integers(len(scores)))
        self.releases.append(Selection(scale, tuple(scores), output))
        return output

    def coin(self, scale: float, cost: int, share: Fraction = Fraction(1)) -> bool:
        """Either side, whatever the cost."""
        output = bool(self._outputs.integers(2))
        self.releases.append(Coin(scale, cost, output, share))
        return output

    def own_generator(self) -> np.random.Generator:
        """A new generator for draws that depend on nothing private."""
        return self._own.spawn(1)[0]


_CURRENT: ContextVar[Script | None] = ContextVar("script", default=None)


@contextmanager
def scripted(seed: int) -> Iterator[Script]:
    """Let all secure releases that are made inside, in this thread, follow one script."""
    script = Script(seed)
    token = _CURRENT.set(script)
    try:
        yield script
    finally:
        _CURRENT.reset(token)


def current_script() -> Script | None:
    """The script that releases follow here; None outside of a coupling, where they carry real noise."""
    return _CURRENT.get()


def own_generator(seed: Seed = None, purpose: str = "own draws") -> np.random.Generator:
    """The generator of a learner's own draws: by its seed; without one by the system, or the script of a coupling."""
    script = current_script()
    return stream(seed, purpose) if seed is not None or script is None else script.own_generator()
