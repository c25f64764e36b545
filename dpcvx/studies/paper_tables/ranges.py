"""The ranges of epsilon, N and T over which the tables are measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ranges:
    """The values of epsilon, N and T at which the methods are run on one problem.

    Attributes:
        epsilon, size: epsilon and N where they do not vary.
        horizons: the values of T, each twice the one before.
        single: the T at which epsilon and N vary.
        sizes: the values of N.
        replicas: how often every run is repeated.
    """

    epsilon: float
    size: int
    horizons: tuple[int, ...]
    single: int
    sizes: tuple[int, ...]
    replicas: int


def halvings(largest: float) -> tuple[float, ...]:
    """The epsilons that are tried: largest, largest/2, ..."""
    return tuple(largest * 2.0**-k for k in range(9))


def doublings(first: int, last: int) -> tuple[int, ...]:
    """2^first, ..., 2^last."""
    return tuple(2**k for k in range(first, last + 1))


Scale = dict[str, Ranges]  # by the names of the tables' problems; "" is for all others

_OTHERS, _BALL, _ARMS = "", "bandit linear optimisation: ball", "arms"
QUICK: Scale = {
    _OTHERS: Ranges(4.0, 5, doublings(10, 15), 2**13, (3, 5, 8, 12), 32),
    _BALL: Ranges(1.0, 3, doublings(10, 14), 2**13, (2, 3, 4, 6), 24),
    _ARMS: Ranges(1.0, 5, doublings(12, 16), 2**14, (3, 5, 8, 12), 32),
}
FULL: Scale = {
    _OTHERS: Ranges(1.0, 5, doublings(10, 19), 2**16, (3, 5, 8, 12, 20), 80),
    _BALL: Ranges(1.0, 3, doublings(10, 16), 2**15, (2, 3, 4, 6, 8), 48),
    _ARMS: Ranges(1.0, 5, doublings(12, 18), 2**16, (3, 5, 8, 12, 20), 64),
}


def ranges_of(scale: Scale, problem: str) -> Ranges:
    """The ranges of the problem of that name."""
    return scale.get(problem, scale[_OTHERS])
