"""One origin and one destination: learners with full information and bandits, with privacy and without.

They are held against the best fixed route in hindsight; so is the usual route, fastest on public usual times, and doing
nothing, which is to stay at the center of the set. All numbers are per trip, in the unit of the usual trip.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from decision_sets.networks import Network, Routes, routes
from dpcvx.arguments import positive, share, whole
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, DpcvxError
from dpcvx.learners import FTPL, FTRL, AdaptiveBandit, PrivateBandit, private_bandit
from dpcvx.learners.bandits.choice import bandits
from dpcvx.privacy import Certificate, Change
from dpcvx.sets import LossSet
from dpcvx.studies.idle import idle_regret, regret_of_point
from dpcvx.studies.routing.days import Days
from dpcvx.studies.routing.declared import CEILING, Declared, declare_times, usual_trip
from dpcvx.studies.routing.play import Played, drawn_days, play
from dpcvx.studies.settings import BANDIT, FULL_INFORMATION

PROJECTED = 200  # coordinates up to which projections are quick enough for many rounds
BANDITS_UP_TO = 250  # coordinates up to which bandits are played
_BOLD = 3.0  # times the learning rate of the least bound
_SECURE_ROUNDS = 25  # played with exact noise for a certificate
_REPLICATED = 800  # coordinates x replicas of a simulation


@dataclass(frozen=True)
class Wish:
    """What is asked for.

    Attributes:
        epsilon, delta: privacy; with a delta of 0 there is pure privacy alone.
        horizon: rounds.
        drivers: n, of whom one may change; see `declared`.
        ceiling: k of the declared box.
        cycles, hops: see `routes`.
        replicas, seed: of the simulations.
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    horizon: int = 10_000
    drivers: int = 1000
    ceiling: float = CEILING
    cycles: str = "toward"
    hops: int | None = None
    replicas: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        share(self.delta, "delta")
        for name in ("horizon", "drivers", "replicas"):
            whole(getattr(self, name), name)
        whole(self.seed, "seed", at_least=0)

    def to(self, network: Network, origin: Any, destination: Any, usual: Array) -> Routes:
        """The routes between two nodes."""
        return routes(network, origin, destination, times=usual, cycles=self.cycles, hops=self.hops)


@dataclass(frozen=True)
class Case:
    """A learner to be played: in which setting, what of a day is protected, and how it is made.

    Attributes:
        setting: full information or bandit.
        protects: in words; "nothing" without privacy.
        epsilon, delta: None and 0 without.
        make: makes the secure learner, or the one without privacy.
        manner: "practice" of bandits that learn soon and have no bound, "proved" of those with one; "bold" with full
            information at three times the rate of the least bound; otherwise nothing.
    """

    setting: str
    protects: str
    epsilon: float | None
    delta: float
    make: Callable[[], Any]
    manner: str = ""

    @property
    def proved(self) -> bool:
        """Whether a bound is proved for learners of this kind."""
        return self.manner != "practice"

    @property
    def kind(self) -> str:
        """The setting, and the manner."""
        return f"{self.setting}, {self.manner}" if self.manner else self.setting

    @property
    def name(self) -> str:
        if self.epsilon is None:
            return f"{self.kind}: no privacy"
        return f"{self.kind}: {self.protects}, epsilon {self.promise}"

    @property
    def promise(self) -> str:
        """Epsilon and delta in a few characters."""
        if self.epsilon is None:
            return "none"
        return f"{self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")


@dataclass(frozen=True)
class Outcome:
    """What came of a case: what was played, a secure certificate where there is privacy, or why there is neither."""

    case: Case
    played: Played | None = None
    certificate: Certificate | None = None
    reason: str = ""


@dataclass(frozen=True)
class PairFindings:
    """All that is found about one pair.

    Attributes:
        network, days, wish: what it was found on.
        X, declared: the routes, and what times may be.
        route: the usual one.
        rounds: the day of each round.
        outcomes: of all cases.
    """

    network: Network
    days: Days
    wish: Wish
    X: Routes
    declared: Declared
    route: Array
    rounds: Array
    outcomes: tuple[Outcome, ...] = field(default=())

    @property
    def left_out(self) -> str:
        """That bandits were not played, and why; empty where they were."""
        if any(one.case.setting == BANDIT for one in self.outcomes):
            return ""
        if self.X.bandit_refusal is not None:
            return self.X.bandit_refusal
        return (
            f"Bandits are left out: the routes have {self.X.size} coordinates, and above {BANDITS_UP_TO} none is quick."
        )

    @property
    def mean(self) -> Array:
        """The mean loss of all rounds, in the coordinates of X."""
        losses = self.declared.days[self.rounds].mean(axis=0)
        return losses if len(losses) == self.X.size else np.asarray(losses[self.X.links])

    @property
    def best(self) -> float:
        """What a trip costs on the best fixed route."""
        return -float(self.X.support(-self.mean))

    @property
    def idle(self) -> float:
        """How much more a trip costs who does nothing."""
        return idle_regret(self.X, self.mean)

    @property
    def usual(self) -> float:
        """How much more it costs on the usual route."""
        return regret_of_point(self.X, self.mean, self.route)


def study_pair(
    network: Network, days: Days, origin: Any, destination: Any, wish: Wish, tell: Callable[[str], None]
) -> PairFindings:
    """Play all cases for one pair.

    Args:
        network, days: the network and days on it.
        origin, destination: names of nodes.
        wish: what is asked for.
        tell: called with a sentence at the beginning of each stage.

    Raises:
        ValueError: where there is no such route, or something cannot be done as it is wished.
    """
    tell(f"Declaring the routes from {origin} to {destination}")
    X = wish.to(network, origin, destination, days.usual)
    route, unit = usual_trip(X, days.usual)
    if unit <= 0:
        raise ArgumentError(
            f"The usual trip from {origin!r} to {destination!r} takes no time; there is nothing to learn."
        )
    declared = _declared(X, days, unit, wish)
    rounds = drawn_days(len(days.times), wish.horizon, wish.seed)
    outcomes = []
    for case in cases(X, declared.loss_set, declared.change(wish.drivers), wish):
        tell(f"Playing {wish.horizon:,} days: {case.name}")
        outcomes.append(_outcome(case, X, declared, rounds, wish))
    return PairFindings(network, days, wish, X, declared, route, rounds, tuple(outcomes))


def _declared(X: Routes, days: Days, unit: float, wish: Wish) -> Declared:
    """Losses on the links of these routes alone, each once: what other links take concerns nobody here."""
    if len(np.unique(X.links)) == X.size:
        return declare_times(X.network.times[X.links], days.times[:, X.links], unit, wish.ceiling)
    used = np.zeros(len(X.network.links))
    used[X.links] = 1.0
    return declare_times(used * X.network.times, used * days.times, unit, wish.ceiling)


def cases(X: Routes, Y: LossSet, change: Change, wish: Wish) -> list[Case]:
    """The learners that are played, without privacy first."""
    T, E, delta = wish.horizon, wish.epsilon, wish.delta
    driver, day = f"one of {wish.drivers:,} drivers", "a whole day"
    full: Any = lambda *privacy, **options: _full(X, Y, T, *privacy, **options)  # noqa: E731
    found = [Case(FULL_INFORMATION, "nothing", None, 0.0, full)]
    found.append(Case(FULL_INFORMATION, driver, E, delta, lambda: full(E, delta, neighbours=change)))
    found.append(Case(FULL_INFORMATION, day, E, delta, lambda: full(E, delta)))
    if X.size <= PROJECTED:
        found.append(Case(FULL_INFORMATION, day, E, delta, lambda: full(E, delta, bold=True), "bold"))
    if delta:
        found.append(Case(FULL_INFORMATION, day, E, 0.0, lambda: full(E)))
    if X.size > BANDITS_UP_TO or X.bandit_refusal is not None:
        return found

    def practice(**options: Any) -> PrivateBandit:
        return private_bandit(X, Y, T, E, choose="practice", **options)

    found += [
        Case(BANDIT, "nothing", None, 0.0, lambda: AdaptiveBandit(X, Y, T), "practice"),
        Case(BANDIT, driver, E, 0.0, lambda: practice(neighbours=change), "practice"),
        Case(BANDIT, day, E, 0.0, practice, "practice"),
        Case(BANDIT, "nothing", None, 0.0, lambda: _proved_bandit(X, Y, T), "proved"),
        Case(BANDIT, day, E, 0.0, lambda: private_bandit(X, Y, T, E), "proved"),
    ]
    return found


def _full(X: Routes, Y: LossSet, horizon: int, *privacy: float, bold: bool = False, **options: Any) -> FTRL | FTPL:
    """Where projections are quick FTRL with the Euclidean regulariser; on larger sets FTPL, by shortest paths alone.

    Pure privacy gets K-norm noise: on boxes its bound is about that of Laplace noise, and what it costs on days like
    these is little more than half. The bold learner has a larger bound, which is proved too, and learns sooner.
    """
    if privacy and not (len(privacy) > 1 and privacy[1]):
        options = {"noise": "knorm", **options}
    if X.size > PROJECTED:
        return FTPL(X, Y, horizon, *privacy, **options)
    if bold:
        options["learning_rate"] = _BOLD * FTRL(X, Y, horizon, regularizer="euclidean").learning_rate
    return FTRL(X, Y, horizon, *privacy, regularizer="euclidean", **options)


def _proved_bandit(X: Routes, Y: LossSet, horizon: int) -> Any:
    return min(bandits(X, Y, horizon)[0], key=lambda bandit: bandit.uncapped_bound)


def _outcome(case: Case, X: Routes, declared: Declared, rounds: Array, wish: Wish) -> Outcome:
    try:
        learner = case.make()
        alone = case.setting == FULL_INFORMATION and case.epsilon is None and isinstance(learner, FTRL)
        replicas = 1 if alone else max(1, min(wish.replicas, _REPLICATED // X.size))
        played = play(learner, X, declared.days, rounds, replicas, wish.seed)
        return Outcome(case, played, None if case.epsilon is None else _secure(learner, X, declared, rounds))
    except (DpcvxError, ValueError, OverflowError) as error:
        return Outcome(case, reason=" ".join(str(error).split()))


def _secure(learner: Any, X: Routes, declared: Declared, rounds: Array) -> Certificate:
    """The certificate of a learner without a seed after a few rounds with exact noise."""
    for day in rounds[:_SECURE_ROUNDS].tolist():
        action, loss = learner.act(), declared.days[day]
        costs = loss if len(loss) == X.size else loss[X.links]
        learner.update(loss if learner.sees == "loss" else float(action @ costs))
    certificate: Certificate = learner.certificate
    return certificate
