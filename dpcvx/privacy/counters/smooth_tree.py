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
from dpcvx.privacy.counters.counter import Structure
from dpcvx.privacy.counters.tree import Tree
from dpcvx.privacy.noise import Law


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
    """Smooth tree aggregation, unbalanced for Laplace noise and balanced for Gaussian noise."""

    key = "smooth"
    name = "smooth tree"

    @classmethod
    def structure(cls, horizon: int, norm: int) -> Structure:
        return Structure(*codeword_shape(horizon, balanced=norm == 2))

    @classmethod
    def noises_per_round(cls, horizon: int, norm: int) -> float:
        # the mean length of the lowest run of ones over all codewords: it is at least j in binom(z + a - j + 1, z) of
        # them, those with a - j + 1 ones and j - 1 more in that run; together binom(z + a + 1, z + 1) - 1
        zeros, ones = codeword_shape(horizon, balanced=norm == 2)
        return (zeros + ones + 1) / (zeros + 1) - 1 / comb(zeros + ones, ones)

    @classmethod
    def title(cls, norm: int) -> str:
        return "smooth tree, balanced" if norm == 2 else "smooth tree"

    @classmethod
    def audited_horizons(cls, law: type[Law]) -> tuple[int, ...]:
        # independent coordinates and pure noise make the sharpest audit, also of short codewords
        return (8, 64) if law.norm == 1 and not law.joint else (64,)

    def _first_noise(self) -> Array:
        self._codeword = (1 << self.terms) - 1
        return super()._first_noise()

    def _step(self) -> int:
        word = self._codeword
        lowest = word & -word
        raised = word + lowest
        changed = (word ^ raised) // lowest  # the lowest run of ones, and the bit above it
        self._codeword = raised | (changed >> 2)
        return self.terms + 1 - changed.bit_length()
