"""A whole city at the price of one: every pair of nodes plays by one noisy sum of the times of all links.

All pairs see the same people's times. With full information a learner sees nothing but the private sum of all times, so
one `PrivateSums` serves every pair, and its epsilon is that of all routes together. Bandits see what their own trips
took, each by a release of its own: k of them cost what `compose` says of k certificates.

Pairs are played in parts, by `sweep`: here or on a cluster, and what is finished stays. Each part draws the same noise
from the same seed, which is one noisy sum that all parts look at; only a simulation can do so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from decision_sets.networks import Network, Routes
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.experiments.sweep.folder import Row
from dpcvx.experiments.sweep.result import SweepResult
from dpcvx.experiments.sweep.task import Sweep
from dpcvx.learners import FTPL, FTRL, AdaptiveBandit, PrivateBandit
from dpcvx.privacy import Certificate, PrivateSums, compose
from dpcvx.privacy.composition import Composition
from dpcvx.privacy.exact_sums import ExactSums
from dpcvx.privacy.running_sums import RunningSums
from dpcvx.storage.fingerprint import fingerprint
from dpcvx.studies.idle import idle_regret, regret_of_point
from dpcvx.studies.routing.days import Days
from dpcvx.studies.routing.declared import Declared, declare_times, usual_trip
from dpcvx.studies.routing.pair import PROJECTED, Wish
from dpcvx.studies.routing.play import Tally, drawn_days
from dpcvx.studies.routing.roads import Roads

_PART = 16  # pairs that are played together
_REMEMBERED = 2_000_000  # entries of prefixes for which all pairs of a part find their actions together
_LOOKED_AT = 8  # pairs among which the smallest set of routes is sought
Pair = tuple[Any, Any]


@dataclass(frozen=True)
class City:
    """Pairs of nodes that are served by one sum.

    Attributes:
        network, days, wish: the network, days on it, and what is asked for.
        pairs: (origin, destination) by names of nodes.
        by_driver: whether one of the drivers is protected; otherwise a whole day.
    """

    network: Network
    days: Days
    wish: Wish
    pairs: tuple[Pair, ...]
    by_driver: bool = False

    @cached_property
    def unit(self) -> float:
        """The mean time of a usual trip over all pairs that have a route: in it all times are told."""
        origins = sorted({self.network.number_of(origin, "origin") for origin, _ in self.pairs})
        found, _, _ = Roads(self.network).fastest(self.days.usual, np.array(origins))
        place = {origin: k for k, origin in enumerate(origins)}
        times = [
            found[place[self.network.number_of(origin)], self.network.number_of(destination, "destination")]
            for origin, destination in self.pairs
        ]
        known = [time for time in times if np.isfinite(time) and time > 0]
        if not known:
            raise ArgumentError(f"None of the {len(self.pairs)} pairs is joined by a route that takes any time.")
        return float(np.mean(known))

    @cached_property
    def declared(self) -> Declared:
        """What the times of all links may be."""
        return declare_times(self.network.times, self.days.times, self.unit, self.wish.ceiling)

    @property
    def protects(self) -> str:
        return f"one of {self.wish.drivers:,} drivers" if self.by_driver else "a whole day"

    def sums(self, seed: int | None) -> PrivateSums:
        """The one noisy sum of all links; without a seed it is secure."""
        wish, declared = self.wish, self.declared
        options: dict[str, Any] = {"neighbours": declared.change(wish.drivers)} if self.by_driver else {}
        if not wish.delta:
            options["noise"] = "knorm"
        return PrivateSums(declared.loss_set, wish.horizon, wish.epsilon, wish.delta, seed=seed, **options)

    @property
    def certificate(self) -> Certificate:
        """What is promised for the routes of all pairs together."""
        return self.sums(None).certificate

    def bandits(self) -> Composition:
        """What as many private bandits, one for each pair and each of epsilon, promise together.

        A certificate does not depend on the routes: each is a pure one of epsilon. So one is made, for the pair with
        the fewest coordinates among some that have a route.
        """
        X, Y, T = min(self._some_routes(), key=lambda X: X.size), self.declared.loss_set, self.wish.horizon
        options: dict[str, Any] = {"neighbours": self.declared.change(self.wish.drivers)} if self.by_driver else {}
        one = PrivateBandit(AdaptiveBandit(X, Y, T), self.wish.epsilon, **options).certificate
        return compose([one] * len(self.pairs), delta=self.wish.delta or None)

    def _some_routes(self) -> list[Routes]:
        """The routes of a few pairs, all of which have some."""
        found: list[Routes] = []
        refused: ValueError | None = None
        for pair in self.pairs:
            try:
                found.append(self.routes(*pair))
            except ValueError as error:
                refused = error
            if len(found) == _LOOKED_AT:
                break
        if not found and refused is not None:
            raise refused
        return found

    def routes(self, origin: Any, destination: Any) -> Routes:
        """The routes of a pair."""
        return self.wish.to(self.network, origin, destination, self.days.usual)

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return -(-len(self.pairs) // _PART)

    def play(self, part: int, seed: int) -> list[Row]:
        """The rows of the pairs of one part, all of which look at one noisy sum and at one exact one."""
        mine = self.pairs[part * _PART : (part + 1) * _PART]
        rounds = drawn_days(len(self.days.times), self.wish.horizon, self.wish.seed)
        sums = self.sums(seed), ExactSums(self.declared.loss_set, self.wish.horizon)
        travellers = [Traveller(self, pair, sums) for pair in mine]
        at_once = max(1, _REMEMBERED // len(self.network.links))
        for start in range(0, len(rounds), at_once):
            days = rounds[start : start + at_once]
            released = [Released.of(each, self.declared.days[days]) for each in sums]
            for traveller in travellers:
                traveller.take(days, released)
        return [traveller.row() for traveller in travellers]

    @property
    def key(self) -> str:
        """What tells this city and this wish from others."""
        parts = (self.network.times, self.days.usual, self.days.times)
        return fingerprint(f"{self.wish} {self.by_driver} {self.pairs} {self.network.links}", parts)


class Released(NamedTuple):
    """What sums released in some rounds: the prefix of each, and the deviation of its Gaussian noise."""

    prefixes: Array
    deviations: Array

    @classmethod
    def of(cls, sums: RunningSums, losses: Array) -> "Released":
        """What is seen before each of these losses, which the sums take."""
        seen = []
        for loss in losses:
            seen.append((sums.prefix, sums.gaussian_deviation))
            sums.update(loss)
        prefixes, deviations = zip(*seen, strict=True)
        return cls(np.array(prefixes), np.array(deviations))


class Traveller:
    """One pair: its routes, its learners on the sums, and what they pay.

    Args:
        city: the city.
        pair: origin and destination.
        sums: the noisy ones, and the exact ones.
    """

    def __init__(self, city: City, pair: Pair, sums: tuple[RunningSums, ...]) -> None:
        self.pair, self._city, self._note = pair, city, ""
        self._learners: list[FTRL | FTPL] = []
        self._tallies: list[Tally] = []
        try:
            X = city.routes(*pair)
        except ValueError as error:
            self._X, self._note = None, " ".join(str(error).split())
            return
        self._X, self._trip = X, usual_trip(X, city.days.usual)
        self._costs = city.declared.days[:, X.links]
        if X.dim:  # otherwise there is one route, and nothing to choose
            self._learners = [_learner(X, each, city.wish.seed) for each in sums]
            self._tallies = [Tally(X, self._costs, city.wish.horizon, 1) for _ in sums]

    _X: Routes | None

    def take(self, days: Array, released: Sequence[Released]) -> None:
        """Some rounds, for which the sums released what is given."""
        if self._learners:
            for learner, tally, seen in zip(self._learners, self._tallies, released, strict=True):
                tally.take_all(learner.answers(*seen)[:, None], days)

    def row(self) -> Row:
        """What came of it, per trip and in the unit of this pair's usual trip; without a route a note says so."""
        origin, destination = map(str, self.pair)
        names = ("links", "best", "nothing", "usual", "private", "free", "bound")
        known: dict[str, Any] = dict.fromkeys(names)
        if self._X is not None:
            X, (route, trip) = self._X, self._trip
            T, own = self._city.wish.horizon, self._city.unit / trip if trip else 0.0
            mean = self._costs[drawn_days(len(self._costs), T, self._city.wish.seed)].mean(axis=0)
            paid = [own * tally.regret[0, -1] / T for tally in self._tallies] or [0.0, 0.0]
            bound = self._learners[0].regret_bound if self._learners else None
            proved = None if bound is None else own * bound.total / T
            known = {
                "links": X.size,
                "best": own * -float(X.support(-mean)),
                "nothing": own * idle_regret(X, mean) if self._learners else 0.0,
                "usual": own * regret_of_point(X, mean, route),
                "private": float(paid[0]),
                "free": float(paid[1]),
                "bound": proved if self._learners else 0.0,
            }
        demand = (self._city.network.trips or {}).get(self.pair)
        return {"origin": origin, "destination": destination, "trips": demand, **known, "note": self._note}


def _learner(X: Routes, sums: RunningSums, seed: int) -> FTRL | FTPL:
    if X.size <= PROJECTED:
        return FTRL(X, sums=sums, regularizer="euclidean")
    return FTPL(X, sums=sums, seed=seed)


def play_city(
    city: City, folder: Any, *, workers: int | None = None, scheduler: str | None = None, progress: bool | None = None
) -> SweepResult:
    """Play all parts of a city by `sweep`, whose arguments these are; finished parts stay in the folder."""
    task = _task(city.play, city.key)
    settings = {"part": list(range(city.parts))}
    return Sweep(task, settings, [city.wish.seed]).run(folder, workers=workers, scheduler=scheduler, progress=progress)


def _task(play: Callable[[int, int], list[Row]], key: str) -> Callable[..., Any]:
    def pairs_of_a_part(part: int, seed: int) -> list[Row]:
        assert key  # by which the folder of another city is told from that of this one
        return play(part, seed)

    return pairs_of_a_part


@dataclass(frozen=True)
class Totals:
    """Means over all pairs that have a route, weighted by their trips where those of all are known.

    Attributes:
        pairs: with a route, and without.
        means: regret per trip of who does nothing, of the usual route, with privacy and without, and the proved bound.
        worst: the largest regret with privacy relative to doing nothing, of pairs in which there is something to learn.
    """

    pairs: tuple[int, int]
    means: dict[str, float]
    worst: float

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Totals":
        joined = [row for row in rows if row["links"] is not None]
        weights = np.array([float(row["trips"] or 0.0) for row in joined])
        if not len(weights) or weights.min() <= 0:
            weights = np.ones(len(joined))
        columns: dict[str, Array] = {
            name: np.array([float(row[name] or 0.0) for row in joined])
            for name in ("nothing", "usual", "private", "free", "bound")
        }
        means = {name: float(np.average(column, weights=weights)) for name, column in columns.items()}
        open_to = columns["nothing"] > 1e-9
        ratios = columns["private"][open_to] / columns["nothing"][open_to]
        return cls((len(joined), len(rows) - len(joined)), means, float(ratios.max()) if len(ratios) else 0.0)
