"""Private prefix sums."""

from dpcvx.privacy.counters.binary_tree import BinaryTree, tree_levels
from dpcvx.privacy.counters.counter import Counter
from dpcvx.privacy.counters.smooth_tree import SmoothTree, codeword_shape
from dpcvx.privacy.counters.toeplitz import Toeplitz

__all__ = ["BinaryTree", "Counter", "SmoothTree", "Toeplitz", "codeword_shape", "tree_levels"]
