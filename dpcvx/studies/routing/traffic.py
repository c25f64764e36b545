"""How long links take under traffic, and how drivers spread over them: the BPR formula and user equilibrium.

    t(v) = t0 (1 + b (v/c)^p)        v trips a day on the link, c its capacity, t0 its time when it is empty

In a user equilibrium nobody has a faster route. It minimises the sum of the integrals of t, found by the method of
Frank and Wolfe: all trips on the fastest routes at the present times, then the best point between the two. The gap, by
how much all trips together are slower than on these fastest routes, relative to them, says how far it is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from decision_sets.networks import Network
from dpcvx.arrays import Array
from dpcvx.studies.routing.roads import Roads

_SLOWEST = 1e100  # times its empty time, that a link takes at most: beyond, numbers overflow
_GAP = 1e-4
_HALVINGS = 30


@dataclass(frozen=True)
class Demand:
    """Trips between nodes, by numbers of nodes.

    Attributes:
        origins: where trips begin.
        trips: (origins, nodes).
    """

    origins: Array
    trips: Array

    @classmethod
    def of(cls, network: Network) -> "Demand | None":
        """The demand of a network; None where it has none."""
        given = {} if network.trips is None else network.trips
        rows: dict[int, dict[int, float]] = {}
        for (origin, destination), amount in given.items():
            start, end = network.number_of(origin), network.number_of(destination)
            if start != end and amount > 0:
                row = rows.setdefault(start, {})
                row[end] = row.get(end, 0.0) + float(amount)
        if not rows:
            return None
        trips = np.zeros((len(rows), len(network.nodes)))
        for k, row in enumerate(rows.values()):
            trips[k, list(row)] = list(row.values())
        return cls(np.array(list(rows)), trips)


@dataclass(frozen=True)
class Traffic:
    """Trips and times on all links, the gap, and the steps that it took."""

    volumes: Array
    times: Array
    gap: float
    steps: int


def has_traffic(network: Network) -> bool:
    """Whether times under traffic follow from what is known: demand, capacity and the two constants."""
    known = all(part is not None for part in (network.capacity, network.b, network.power))
    return known and bool(network.trips) and bool(np.any(network.b))


def link_times(network: Network, capacity: Array | None = None) -> Callable[[Array], Array]:
    """The time of all links as a function of the trips on them.

    Args:
        network: with `capacity`, `b` and `power`.
        capacity: of this day; by default that of the network. A link of capacity 0 or infinity is never slower.
    """
    assert network.capacity is not None and network.b is not None and network.power is not None
    held = network.capacity if capacity is None else capacity
    limited = (held > 0) & np.isfinite(held) & (network.b > 0)
    share = np.divide(1.0, held, out=np.zeros(len(held)), where=limited)
    b, power = np.where(limited, network.b, 0.0), network.power

    def times(volumes: Array) -> Array:
        with np.errstate(over="ignore"):
            slower = np.where(b > 0, b * (volumes * share) ** power, 0.0)
        return np.asarray(network.times * np.minimum(1 + slower, _SLOWEST))

    return times


def equilibrium(
    roads: Roads, demand: Demand, times: Callable[[Array], Array], steps: int, start: Array | None = None
) -> Traffic:
    """User equilibrium by at most so many steps of Frank and Wolfe.

    Args:
        roads: the graph of the network.
        demand: trips.
        times: of all links, by the trips on them.
        steps: at most so many; fewer where the gap is closed.
        start: times by whose fastest routes it begins; by default those of empty links.
    """
    empty = np.zeros(roads.links)
    volumes, _ = roads.load(times(empty) if start is None else start, demand.origins, demand.trips)
    gap, taken = np.inf, 0
    while gap > _GAP and taken < steps:
        taken += 1
        now = times(volumes)
        other, least = roads.load(now, demand.origins, demand.trips)
        gap = max(float(now @ volumes) / least - 1, 0.0) if least > 0 else 0.0  # rounding may say less
        if gap > _GAP:
            volumes = volumes + _best_share(times, volumes, other - volumes) * (other - volumes)
    return Traffic(volumes, times(volumes), gap, taken)


def _best_share(times: Callable[[Array], Array], volumes: Array, move: Array) -> float:
    """Where between 0 and 1 the sum of the integrals of the times is least: its derivative along the move grows."""
    low, high = 0.0, 1.0
    if float(times(volumes + move) @ move) <= 0:
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float(times(volumes + middle * move) @ move) > 0:
            high = middle
        else:
            low = middle
    return low
