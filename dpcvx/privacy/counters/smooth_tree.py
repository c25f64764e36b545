"""The smooth tree: leaves at the h-bit codewords with a ones and z zeros, in increasing order.

Item i sits at the i-th codeword; the prefix of t items is the set of leaves below codeword t, which is exactly a
dyadic nodes, one at each set bit. An item's used nodes are the left children on its path: its zero bits, exactly z.
So every prefix carries exactly a noises of one law, without padding, and an item enters z releases.

The next codeword replaces the lowest run of m ones by one higher one and m - 1 lowest ones. The new highest node
takes the sums of the dropped nodes and the new item, the others are empty; a dropped node never returns. For Laplace
noise z sqrt(a) is least (unbalanced), for Gaussian noise z a (balanced).
"""

from functools import lru_cache
from math import comb

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.counters.counter import Counter
from dpcvx.privacy.noise import Source

_SHORT = 4  # nodes up to which a loop is faster than a cumulative sum


@lru_cache(maxsize=1024)
def codeword_shape(horizon: int, balanced: bool) -> tuple[int, int]:
    """(zeros, ones) of the codewords: binom(zeros + ones, ones) >= horizon with the least noise; (0, 0) for T = 1."""
    if horizon == 1:
        return 0, 0
    best: tuple[float, int, int] | None = None
    for zeros in range(1, 65):
        ones = _fewest_ones(horizon, zeros)
        cost = zeros * ones if balanced else zeros * zeros * ones
        if best is None or (cost, zeros) < best[:2]:
            best = (float(cost), zeros, ones)
    assert best is not None
    return best[1], best[2]


def _fewest_ones(horizon: int, zeros: int) -> int:
    """The least a with binom(zeros + a, a) >= horizon, by bisection."""
    high = 1
    while comb(zeros + high, high) < horizon:
        high *= 2
    low = high // 2  # too few, or 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if comb(zeros + middle, middle) >= horizon else (middle, high)
    return high


class SmoothTree(Counter):
    """Smooth tree aggregation; `balanced` is for Gaussian noise."""

    name = "smooth tree"

    def __init__(self, horizon: int, shape: tuple[int, ...], source: Source, *, balanced: bool = False) -> None:
        self.touches, self.terms = self.counts(horizon, balanced)
        super().__init__(horizon, shape, source)

    @classmethod
    def counts(cls, horizon: int, gaussian: bool) -> tuple[int, int]:
        return codeword_shape(horizon, gaussian)

    def _start(self) -> Array:
        a = self.terms
        self._codeword = (1 << a) - 1
        # by depth d, from the highest set bit down: sums of the nodes up to d, and of their noises
        self._covered = np.zeros((a + 1, *self.shape), dtype=self.dtype)
        self._carried = np.zeros((a + 1, *self.shape), dtype=self.dtype)
        self._renew(a)
        return np.asarray(self._carried[a])  # a view: `_renew` changes it in place

    def _advance(self, item: Array) -> Array:
        word = self._codeword
        lowest = word & -word
        carried = word + lowest
        changed = (word ^ carried) // lowest  # the lowest run of ones, and the bit above it
        self._codeword = carried | (changed >> 2)
        self._renew(changed.bit_length() - 1)
        return self._noise

    def _renew(self, count: int) -> None:
        """Replace the lowest `count` nodes: the first takes what they covered and the new item, the rest is empty."""
        if not count:
            return
        top = self.terms - count
        if not self.source.needs_values:
            noise = self.source.draw(self._covered[:count])
        else:
            values = np.zeros((count, *self.shape), dtype=self.dtype)
            values[0] = self.total - self._covered[top]
            noise = self.source.draw(values)
            self._covered[top + 1 :] = self.total
        carried = self._carried
        if count > _SHORT:
            noise[0] += carried[top]
            np.add.accumulate(noise, axis=0, out=carried[top + 1 :])
            return
        for i in range(count):
            np.add(carried[top + i], noise[i], out=carried[top + i + 1])
