"""Discrete Laplace draws one by one, each of a scale of its own: what does not depend on the scale is made ahead.

The words and their logarithms wait in blocks; a draw takes the next ones and decides as `laplace` does.
"""

import math

import numpy as np

from dpcvx.privacy.samplers.entropy import WORD, words
from dpcvx.privacy.samplers.floors import floor_one, logarithms
from dpcvx.privacy.samplers.geometric import LARGEST, low_bits, remainder_one
from dpcvx.privacy.samplers.scales import exact_scale
from dpcvx.privacy.secret import Secret
from dpcvx.storage.process import ProcessGuard

_BLOCK = 512


class LaplaceStream(Secret):
    """Independent draws with P(z) proportional to exp(-|z|/scale).

    What waits in it is secret: it belongs to one process, and neither a copy nor a checkpoint holds it.
    """

    described = "stream of secure noise"

    def __init__(self) -> None:
        self._magnitudes: list[tuple[int, float]] = []  # sign and head in one word, and the logarithm
        self._words: list[int] = []
        self._guard = ProcessGuard()

    def draw(self, scale: float) -> int:
        """One draw.

        Raises:
            ValueError, OverflowError: where the scale is none, see `exact_scale`.
            EntropyError: where the system has no random bits.
            ProtocolError: after a fork.
        """
        self._guard.check()
        t = exact_scale(scale)
        low = low_bits(t)
        while True:
            word, logarithm = self._next_magnitude()
            size = floor_one(word >> 1, WORD - 1, logarithm, math.ldexp(t, -low), LARGEST >> low)
            if low:
                size = (size << low) + self._remainder(low, t)
            if not word & 1:
                return size
            if size:
                return -size

    def _remainder(self, low: int, scale: float) -> int:
        while True:
            if not self._words:
                self._words = words(_BLOCK).tolist()
            found = remainder_one(self._words.pop(), low, scale)
            if found is not None:
                return found

    def _next_magnitude(self) -> tuple[int, float]:
        if not self._magnitudes:
            drawn = words(_BLOCK)
            logs = logarithms(drawn >> np.uint64(1), WORD - 1)
            self._magnitudes = list(zip(drawn.tolist(), logs.tolist(), strict=True))
        return self._magnitudes.pop()

    def saved(self) -> tuple[type["LaplaceStream"], tuple[()]]:
        return LaplaceStream, ()  # a loaded one draws new noise in its own process
