"""The paper's binary tree (its Algorithm 2): a prefix is a sum of dyadic nodes, padded to one law at every time.

Prefix t has one node for each set bit of t, of as many items, the largest first. One item enters at most levels =
bit_length(T - 1) used nodes. Fresh padding brings every prefix to floor(log2 T) noises.
"""

from dpcvx.arrays import Array
from dpcvx.privacy.counters.tree import Tree
from dpcvx.privacy.noise import Source


def tree_levels(horizon: int) -> int:
    """Used nodes that one item enters when the prefixes 0..T-1 are released: ceil(log2 T), and 0 for T = 1."""
    return (horizon - 1).bit_length()


class BinaryTree(Tree):
    """Binary tree aggregation with padding."""

    name = "binary tree"

    def __init__(self, horizon: int, shape: tuple[int, ...], source: Source) -> None:
        self.touches, self.terms = self.counts(horizon, False)
        super().__init__(horizon, shape, source)

    @classmethod
    def counts(cls, horizon: int, gaussian: bool) -> tuple[int, int]:
        return tree_levels(horizon), horizon.bit_length() - 1

    def _advance(self, item: Array) -> Array:
        # the new node is the lowest set bit of t; the nodes before it are its other bits
        return self._lay(self.items.bit_count() - 1)
