"""The binary tree: a prefix is a sum of dyadic nodes, padded to one law at every time.

It is Algorithm 2 of "the paper": Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
Prefix t has one node for each set bit of t, of as many items, the largest first. One item enters at most levels =
bit_length(T - 1) used nodes. Fresh padding brings every prefix to floor(log2 T) noises.
"""

from dpcvx.arrays import Array
from dpcvx.privacy.counters.counter import Structure
from dpcvx.privacy.counters.tree import Tree


def tree_levels(horizon: int) -> int:
    """Used nodes that one item enters when the prefixes 0..T-1 are released: ceil(log2 T), and 0 for T = 1."""
    return (horizon - 1).bit_length()


class BinaryTree(Tree):
    """Binary tree aggregation with padding."""

    key = "tree"
    name = "binary tree"
    in_paper = True

    @classmethod
    def structure(cls, horizon: int, norm: int) -> Structure:
        return Structure(tree_levels(horizon), horizon.bit_length() - 1)

    @classmethod
    def noises_per_round(cls, horizon: int, norm: int) -> float:
        # all but the older nodes, one less than the set bits of t, of which half of the levels are set on average
        touches, terms = cls.structure(horizon, norm)
        return terms + 1 - touches / 2

    @classmethod
    def title(cls, norm: int) -> str:
        return "binary tree, padded"

    @property
    def unpadded(self) -> Array:
        return self.total + self._carried[-1]

    def _step(self) -> int:
        # the new node is the lowest set bit of t; the nodes before it are its other bits
        return self.items.bit_count() - 1
