"""Days on a road network: how long every link takes on each of them. A documented generator, seeded.

Where the network has demand, capacities and the constants of the BPR formula, a day is drawn and its traffic follows:

    demand     all trips by a factor of 15 % deviation, those between two nodes by another one of 30 %, both lognormal
               of mean 1;
    capacity   of each link by a normal factor of 10 % deviation, at least 30 %;
    incidents  on each link with probability 2 % its capacity falls to 30 %;
    routes     a user equilibrium of the day's demand, by a few steps of Frank and Wolfe from the usual times.

Where a network is too large for an equilibrium each day (origins x links above a limit), drivers keep to their usual
routes: the usual volumes are multiplied by the factor of all trips and by one of 15 % for each link. Capacity and
incidents stay.

Where demand or capacities are not known, times are drawn around those of empty roads:

    usual      t0 (1 + a link's own delay, exponential of mean 0.3): which links are slow is drawn once;
    a day      that delay by a lognormal factor of 50 % for each link and one of 30 % for all links, of mean 1; and on
               each link with probability 2 % an incident by which it takes 3 times as long.

The usual times are those of the mean demand, and of these factors at their mean. All this is public: it describes what
the learners are tried on, and nothing of it is learnt from anybody.
"""

from dataclasses import dataclass

import numpy as np

from decision_sets.networks import Network
from dpcvx.arguments import whole
from dpcvx.arrays import Array
from dpcvx.experiments.progress import progress_bar
from dpcvx.streams import stream
from dpcvx.studies.routing.roads import Roads
from dpcvx.studies.routing.traffic import Demand, Traffic, equilibrium, has_traffic, link_times

_ALL_TRIPS, _PAIR, _CAPACITY, _LEAST = 0.15, 0.30, 0.10, 0.30
_INCIDENT, _LEFT = 0.02, 0.30
_DELAY, _LINK_DELAY, _SLOWER = 0.3, 0.5, 3.0
_USUAL_STEPS, _DAY_STEPS, _FEWEST = 60, 10, 8
_WORK = 4e7  # origins x links x steps that are done for the usual day
_DAILY = 2e4  # origins x links up to which each day has an equilibrium of its own


@dataclass(frozen=True)
class Days:
    """Times of all links on some days.

    Attributes:
        usual: public usual times.
        times: (days, links).
        traffic: the usual traffic; None where demand is not known.
        assumed: sentences on where these numbers come from.
    """

    usual: Array
    times: Array
    traffic: Traffic | None
    assumed: tuple[str, ...]


def travel_days(network: Network, days: int = 200, seed: int = 0, progress: bool | None = False) -> Days:
    """Draw days on a network; see the module.

    Args:
        network: the network.
        days: how many.
        seed: of their random numbers.
        progress: whether to show a progress bar.
    """
    days, rng = whole(days, "days"), stream(seed, "travel_days")
    demand = Demand.of(network) if has_traffic(network) else None
    if demand is None:
        return _drawn(network, days, rng)
    roads, work = Roads(network), len(demand.origins) * len(network.links)
    steps = int(np.clip(_WORK / work, _FEWEST, _USUAL_STEPS))
    usual = equilibrium(roads, demand, link_times(network), steps)
    assigned = work <= _DAILY
    found = []
    with progress_bar(days, progress) as bar:
        for day in range(days):
            capacity = _capacity(network, rng)
            all_trips = _factor(rng, _ALL_TRIPS)
            if assigned:
                trips = demand.trips * all_trips * _factor(rng, _PAIR, demand.trips.shape)
                drawn = Demand(demand.origins, trips)
                found.append(equilibrium(roads, drawn, link_times(network, capacity), _DAY_STEPS, usual.times).times)
            else:
                volumes = usual.volumes * all_trips * _factor(rng, _ALL_TRIPS, usual.volumes.shape)
                found.append(link_times(network, capacity)(volumes))
            bar.show(day + 1)
    return Days(usual.times, np.array(found), usual, _assumed(demand, usual, assigned))


def _assumed(demand: Demand, usual: Traffic, assigned: bool) -> tuple[str, ...]:
    said = (
        f"Times follow from the network's own {demand.trips.sum():,.0f} trips a day by the BPR formula: usual times "
        f"are those of a user equilibrium ({usual.steps} steps of Frank and Wolfe, gap {usual.gap:.2g})."
    )
    each = "its drivers find an equilibrium of their own" if assigned else "drivers keep to their usual routes"
    return (
        said,
        f"On each day demand varies by {_ALL_TRIPS:.0%} in all and {_PAIR if assigned else _ALL_TRIPS:.0%} "
        f"{'between two nodes' if assigned else 'on a link'}, capacity by {_CAPACITY:.0%}, with probability "
        f"{_INCIDENT:.0%} an incident leaves a link {_LEFT:.0%} of it, and {each}.",
    )


def _capacity(network: Network, rng: np.random.Generator) -> Array:
    assert network.capacity is not None
    size = len(network.links)
    factor = np.maximum(1 + _CAPACITY * rng.standard_normal(size), _LEAST)
    return np.asarray(network.capacity * factor * np.where(rng.random(size) < _INCIDENT, _LEFT, 1.0))


def _drawn(network: Network, days: int, rng: np.random.Generator) -> Days:
    """Days of a network of which no traffic is known."""
    size = len(network.links)
    delay = rng.exponential(_DELAY, size)
    factors = _factor(rng, _LINK_DELAY, (days, size)) * _factor(rng, _PAIR, (days, 1))
    times = network.times * (1 + delay * factors)
    times = np.where(rng.random((days, size)) < _INCIDENT, _SLOWER * times, times)
    lacking = [name for name in ("trips", "capacity", "b", "power") if getattr(network, name) is None]
    why = f"the network has no {', '.join(lacking)}" if lacking else "no link of the network slows down under traffic"
    if lacking == ["trips"]:
        why += "; a file of them comes by --trips"
    return Days(
        np.asarray(network.times * (1 + delay)),
        times,
        None,
        (
            f"Traffic does not follow from this network ({why}), so times are drawn: each link has a usual delay, "
            f"exponential of mean {_DELAY:.0%} of its empty time; on a day it varies by {_LINK_DELAY:.0%}, and all "
            f"delays together by {_PAIR:.0%}; with probability {_INCIDENT:.0%} an incident makes a link take "
            f"{_SLOWER:g} times as long.",
        ),
    )


def _factor(rng: np.random.Generator, deviation: float, shape: tuple[int, ...] = ()) -> Array:
    """Lognormal numbers of mean 1 and that deviation."""
    s = np.sqrt(np.log1p(deviation**2))
    return np.asarray(np.exp(s * rng.standard_normal(shape) - s**2 / 2))
