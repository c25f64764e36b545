"""The paper's binary tree (its Algorithm 2): a prefix is a sum of dyadic nodes, padded to one law at every time.

Node j of the current decomposition covers 2^j items; prefix t uses the nodes at the set bits of t. One item enters at
most levels = bit_length(T - 1) used nodes. Fresh padding brings every prefix to floor(log2 T) noises.
"""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.counters.counter import Counter
from dpcvx.privacy.noise import Source


def tree_levels(horizon: int) -> int:
    """Used nodes that one item enters when the prefixes 0..T-1 are released: ceil(log2 T), and 0 for T = 1."""
    return (horizon - 1).bit_length()


class BinaryTree(Counter):
    """Binary tree aggregation with padding."""

    name = "binary tree"

    def __init__(self, horizon: int, shape: tuple[int, ...], source: Source) -> None:
        self.touches, self.terms = self.counts(horizon, False)
        super().__init__(horizon, shape, source)

    @classmethod
    def counts(cls, horizon: int, gaussian: bool) -> tuple[int, int]:
        return tree_levels(horizon), horizon.bit_length() - 1

    def _start(self) -> Array:
        self._sums: dict[int, Array] = {}
        self._noises: dict[int, Array] = {}
        return self._padded()

    def _advance(self, item: Array) -> Array:
        t = self.items
        low = (t & -t).bit_length() - 1
        merged = item + np.zeros(self.shape, dtype=self.dtype)
        for j in range(low):
            merged += self._sums.pop(j)
            del self._noises[j]
        self._sums[low] = merged
        self._noises[low] = self.source.draw(merged[None])[0].copy()  # drawn once, kept until the node is dropped
        return self._padded()

    def _padded(self) -> Array:
        noise = np.zeros(self.shape, dtype=self.dtype)
        for kept in self._noises.values():
            noise += kept
        missing = self.terms - len(self._noises)
        if missing:
            noise += self.source.draw(np.zeros((missing, *self.shape), dtype=self.dtype)).sum(axis=0)
        return noise
