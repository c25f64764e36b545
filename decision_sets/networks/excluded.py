"""What a set of routes leaves out, measured on public times."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpcvx.arrays import Array

_DAYS = 400  # that are looked at
_SLIP = 1e-9  # relative difference of times that is none


class RoutesWarning(UserWarning):
    """The set of routes leaves out more than was asked for.

    Example:
        >>> import decision_sets, networkx as nx
        >>> roads = nx.DiGraph()
        >>> roads.add_weighted_edges_from([("a", "b", 2), ("b", "a", 2), ("a", "c", 1), ("c", "b", 3)], weight="time")
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     X = decision_sets.routes(roads, "a", "b", times=[[9, 1, 2, 3]], cycles="hops", hops=1)
        >>> caught[0].category.__name__
        'RoutesWarning'
    """


@dataclass(frozen=True)
class Excluded:
    """What a set of routes shuts out, on the times it was made with.

    Attributes:
        links: how many links on ways from the origin to the destination no route of the set uses.
        of: how many there are on such ways.
        best: the least usual time of any route, which that of the best fixed route is.
        kept: the least usual time of a route in the set.
        days: days of times that were looked at: those given, of very many some; 0 where only usual times were given.
        missed: the share of these days on which no route of the set is as fast as the fastest.
        slower: the mean over the days of the time of the fastest in the set, relative to that of the fastest.
        notes: what was assumed.
    """

    links: int
    of: int
    best: float
    kept: float
    days: int = 0
    missed: float = 0.0
    slower: float = 1.0
    notes: tuple[str, ...] = ()

    @property
    def shuts_out_the_best(self) -> bool:
        """Whether the best fixed route is not in the set."""
        return self.kept > self.best * (1 + _SLIP) + _SLIP * max(abs(self.best), 1e-300)

    def __str__(self) -> str:
        lines = [f"{self.links} of {self.of} links on the way are in no route of the set"]
        if self.shuts_out_the_best:
            lines.append(f"the best fixed route takes {self.best:.6g}, the best in the set {self.kept:.6g}")
        else:
            lines.append(f"the best fixed route, which takes {self.best:.6g}, is in the set")
        if self.days:
            lines.append(
                f"on {100 * self.missed:.3g} % of {self.days} days the fastest route is not in it; "
                f"the fastest in it takes {self.slower:.6g} times as long in the mean"
            )
        return "; ".join([*lines, *self.notes])


def measure(
    times: tuple[Array, Array | None],
    counts: tuple[int, int],
    best: Callable[[Array], float],
    kept: Callable[[Array], float],
    notes: tuple[str, ...] = (),
) -> Excluded:
    """The report of a set.

    Args:
        times: the usual times of all links, and those of days, (days, links), where they are known.
        counts: links that no route of the set uses, and links on the way.
        best, kept: the least time of any route, and of one in the set, for times of all links.
        notes: see `Excluded`.
    """
    usual, days = times
    found = Excluded(*counts, best(usual), kept(usual), notes=notes)
    if days is None:
        return found
    days = days[np.unique(np.linspace(0, len(days) - 1, _DAYS).astype(int))]
    ratios = np.array([_ratio(kept(day), best(day)) for day in days])
    missed, slower = float((ratios > 1 + _SLIP).mean()), float(ratios.mean())
    return replace(found, days=len(days), missed=missed, slower=slower)


def _ratio(kept: float, best: float) -> float:
    return kept / best if best > 0 else 1.0 + (kept > 0)
