"""Play a learner against days that are drawn again and again: regret curves, and where the drivers go."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from decision_sets.networks import Routes
from dpcvx.arrays import Array
from dpcvx.experiments.progress import progress_bar
from dpcvx.learners import RegretBound
from dpcvx.privacy import Certificate
from dpcvx.streams import stream

_LOOKS = 48  # rounds at which regret is taken
_LATE = 10  # the last of so many parts is the end


@dataclass(frozen=True, eq=False)
class Played:
    """What some replicas of a learner played.

    Attributes:
        rounds: at which regret was taken; the last is the number of all.
        regret: (replicas, rounds) against the best fixed route in hindsight.
        first, last: the mean action of the first round, and of the last tenth of all.
        bound: the proved one of the expected regret, or None.
        certificate: of the simulation, or None.
    """

    rounds: Array
    regret: Array
    first: Array
    last: Array
    bound: RegretBound | None
    certificate: Certificate | None

    @property
    def per_trip(self) -> float:
        """Mean regret a round in the end."""
        return float(self.regret[:, -1].mean()) / int(self.rounds[-1])

    @property
    def error(self) -> float:
        """The standard error of that; 0 for one replica."""
        ends = self.regret[:, -1]
        return float(ends.std(ddof=1) / np.sqrt(len(ends))) / int(self.rounds[-1]) if len(ends) > 1 else 0.0

    @property
    def bound_per_trip(self) -> float | None:
        return None if self.bound is None else self.bound.total / int(self.rounds[-1])


def drawn_days(days: int, horizon: int, seed: int) -> Array:
    """Which of so many days each round is: independent draws."""
    return stream(seed, "routing: which day each round is").integers(days, size=horizon)


def looks(horizon: int) -> Array:
    """The rounds at which regret is taken."""
    return np.unique(np.geomspace(1, horizon, _LOOKS).round().astype(int))


class Tally:
    """Adds up what an action costs, round by round.

    Args:
        X: the routes.
        costs: (days, coordinates of X).
        horizon: rounds.
    """

    def __init__(self, X: Routes, costs: Array, horizon: int, replicas: int) -> None:
        self._X, self._costs, self._late = X, costs, horizon - max(1, horizon // _LATE)
        self.rounds = looks(horizon)
        self.regret = np.zeros((replicas, len(self.rounds)))
        self._incurred, self._counts = np.zeros(replicas), np.zeros(len(costs))
        self._round, self._taken = 0, 0
        self.first, self._last = np.zeros(X.size), np.zeros(X.size)

    def take(self, action: Array, day: int) -> Array:
        """Take one round's action, (replicas, coordinates), and return what it cost each replica."""
        return np.asarray(self._take(action[None], np.array([day]))[0])

    def take_all(self, actions: Array, days: Array) -> None:
        """Take the actions of many rounds, (rounds, replicas, coordinates)."""
        while len(days):
            until_look = int(self.rounds[self._taken]) - self._round
            self._take(actions[:until_look], days[:until_look])
            actions, days = actions[until_look:], days[until_look:]

    def _take(self, actions: Array, days: Array) -> Array:
        """Take rounds up to the next look at most, and return what each cost each replica."""
        values = np.einsum("trn,tn->tr", actions, self._costs[days])
        self._incurred += values.sum(axis=0)
        self._counts += np.bincount(days, minlength=len(self._counts))
        if not self._round:
            self.first = actions[0].mean(axis=0)
        late = actions[max(self._late - self._round, 0) :]
        self._last += late.mean(axis=1).sum(axis=0)
        self._round += len(days)
        if self._round == self.rounds[self._taken]:
            best = self._X.least_cost(self._counts @ self._costs)
            self.regret[:, self._taken] = self._incurred - best
            self._taken += 1
        return np.asarray(values)

    def played(self, bound: RegretBound | None, certificate: Certificate | None) -> Played:
        """The end of it."""
        return Played(self.rounds, self.regret, self.first, self._last / (self._round - self._late), bound, certificate)


def play(
    learner: Any, X: Routes, losses: Array, days: Array, replicas: int, seed: int, progress: bool | None = False
) -> Played:
    """Play replicas of a learner.

    Args:
        learner: with `simulated(replicas, seed)`.
        X: its routes.
        losses: (days, entries) the loss of each day, in the coordinates of X or in all links.
        days: the day of each round.
        replicas, seed: of the simulation.
        progress: whether to show a progress bar.
    """
    costs = losses if losses.shape[1] == X.size else losses[:, X.links]
    playing = learner.simulated(replicas, seed)
    tally = Tally(X, costs, len(days), replicas)
    with progress_bar(len(days), progress) as bar:
        for number, day in enumerate(days.tolist(), 1):
            values = tally.take(playing.act(), day)
            playing.update(values if playing.sees == "value" else losses[day])
            if not number % 64 or number == len(days):
                bar.show(number)
    return tally.played(playing.regret_bound, getattr(playing, "certificate", None))
