"""Private prefix sums: the counters that can be asked for by name, and the one that is taken where none is named."""

from dpcvx.privacy.counters.binary_tree import BinaryTree, tree_levels
from dpcvx.privacy.counters.counter import Counter
from dpcvx.privacy.counters.factors import Factors
from dpcvx.privacy.counters.smooth_tree import SmoothTree, codeword_shape
from dpcvx.privacy.counters.toeplitz import Toeplitz
from dpcvx.privacy.counters.toeplitz_factors import prefix_lower_bound
from dpcvx.privacy.noise import Law

# by the name that users give; a new counter is one more class in this line
COUNTERS: dict[str, type[Counter]] = {counter.key: counter for counter in (BinaryTree, SmoothTree, Toeplitz)}

_LONG = 2**24  # rounds above which rounding may cost the Toeplitz counter its advantage


def default_counters(law: type[Law], horizon: int, *, fine: bool = False) -> list[type[Counter]]:
    """The counters among which that with the least noise is taken, where none is named.

    Args:
        law: of the noise.
        horizon: T.
        fine: whether one person changes little of a loss: then rounding may cost the Toeplitz counter its advantage.
    """
    if law.norm == 1:
        return [SmoothTree]
    if horizon <= _LONG and not fine:
        return [Toeplitz]
    return [counter for counter in (Toeplitz, SmoothTree) if horizon <= counter.largest_horizon]


def paper_counter() -> type[Counter]:
    """The counter that is taken for calibration="paper"."""
    return next(counter for counter in COUNTERS.values() if counter.in_paper)


__all__ = [
    "COUNTERS",
    "BinaryTree",
    "Counter",
    "Factors",
    "SmoothTree",
    "Toeplitz",
    "codeword_shape",
    "default_counters",
    "paper_counter",
    "prefix_lower_bound",
    "tree_levels",
]
