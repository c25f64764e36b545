"""At which sizes the tables are measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """Sizes at which the methods of one setting are run.

    Attributes:
        epsilon, size: the privacy and the N of a row.
        horizons: T, each twice the one before.
        single: the T at which epsilon and N vary.
        sizes: N, where it varies.
        replicas: of every run.
    """

    epsilon: float
    size: int
    horizons: tuple[int, ...]
    single: int
    sizes: tuple[int, ...]
    replicas: int


def halvings(largest: float) -> tuple[float, ...]:
    """largest, largest/2, ...: epsilons to be tried."""
    return tuple(largest * 2.0**-k for k in range(9))


def doublings(first: int, last: int) -> tuple[int, ...]:
    """2^first, ..., 2^last."""
    return tuple(2**k for k in range(first, last + 1))


Scale = dict[str, Grid]  # by the names of the tables' settings; "" is for all others

_OTHERS, _BALL, _ARMS = "", "bandit linear optimisation: ball", "arms"
QUICK: Scale = {
    _OTHERS: Grid(4.0, 5, doublings(10, 15), 2**13, (3, 5, 8, 12), 32),
    _BALL: Grid(1.0, 3, doublings(10, 14), 2**13, (2, 3, 4, 6), 24),
    _ARMS: Grid(1.0, 5, doublings(12, 16), 2**14, (3, 5, 8, 12), 32),
}
FULL: Scale = {
    _OTHERS: Grid(1.0, 5, doublings(10, 19), 2**16, (3, 5, 8, 12, 20), 80),
    _BALL: Grid(1.0, 3, doublings(10, 16), 2**15, (2, 3, 4, 6, 8), 48),
    _ARMS: Grid(1.0, 5, doublings(12, 18), 2**16, (3, 5, 8, 12, 20), 64),
}


def grid_of(scale: Scale, setting: str) -> Grid:
    return scale.get(setting, scale[_OTHERS])
