"""The smooth tree: leaves at the h-bit codewords with a ones and z zeros, in increasing order.

Item i sits at the i-th codeword; the prefix of t items is the set of leaves below codeword t, which is exactly a
dyadic nodes, one at each set bit. An item's used nodes are the left children on its path: its zero bits, exactly z.
So every prefix carries exactly a noises of one law, without padding, and an item enters z releases.

The next codeword replaces the lowest run of m ones by one higher one and m - 1 lowest ones. The new highest node
takes the sums of the dropped nodes and the new item, the others are empty; a dropped node never returns. The m - 1
lowest ones are the next run, so the empty nodes are all dropped by the next step. For Laplace noise z sqrt(a) is least
(unbalanced), for Gaussian noise z a (balanced).
"""

from functools import lru_cache
from math import comb

from dpcvx.arrays import Array
from dpcvx.privacy.counters.tree import Tree
from dpcvx.privacy.noise import Source


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


class SmoothTree(Tree):
    """Smooth tree aggregation; `balanced` is for Gaussian noise."""

    name = "smooth tree"

    def __init__(self, horizon: int, shape: tuple[int, ...], source: Source, *, balanced: bool = False) -> None:
        self.touches, self.terms = self.counts(horizon, balanced)
        self._codeword = (1 << self.terms) - 1
        super().__init__(horizon, shape, source)

    @classmethod
    def counts(cls, horizon: int, gaussian: bool) -> tuple[int, int]:
        return codeword_shape(horizon, gaussian)

    def _advance(self, item: Array) -> Array:
        word = self._codeword
        lowest = word & -word
        raised = word + lowest
        changed = (word ^ raised) // lowest  # the lowest run of ones, and the bit above it
        self._codeword = raised | (changed >> 2)
        return self._lay(self.terms + 1 - changed.bit_length())
