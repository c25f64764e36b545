"""Contests of private bandits: learners on one pair of sets at one epsilon, each against the losses worst for it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import cvxpy as cp
import networkx as nx
import numpy as np
from scipy.special import stdtrit

import decision_sets as ds
from dpcvx.arrays import Array
from dpcvx.experiments.losses.extremes import favouring, random_vertex
from dpcvx.experiments.losses.sequence import Listed
from dpcvx.experiments.simulation import simulate
from dpcvx.learners import PrivateBandit, private_bandit
from dpcvx.sets import DecisionSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.streams import stream
from dpcvx.studies.idle import idle_regret, regret_of_point
from dpcvx.studies.playing_sets import Pair

LEVEL = 0.95  # of all intervals


@dataclass(frozen=True)
class ContestRow:
    """What one private learner paid.

    Attributes:
        contest, learner: their names.
        horizon: T.
        epsilon: what the learner really guarantees, which may be weaker than what the contest asks for.
        batch: rounds for which an action is held.
        regrets: of the replicas, against the losses that were worst for this learner.
        idle: the regret per round of the idle player, who always plays the center, against the same losses.
        bound: the proved regret per round, infinite without one.
        is_rival: whether it guarantees what the contest asks for.
        is_picked: whether `private_bandit` would choose it.
    """

    contest: str
    learner: str
    horizon: int
    epsilon: float
    batch: int
    regrets: tuple[float, ...]
    idle: float
    bound: float
    is_rival: bool
    is_picked: bool

    @property
    def mean(self) -> float:
        return float(np.mean(self.regrets))

    @property
    def standard_error(self) -> float:
        return float(np.std(self.regrets, ddof=1) / math.sqrt(len(self.regrets)))

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of the expected regret at `LEVEL`, by Student's law."""
        reach = float(stdtrit(len(self.regrets) - 1, (1 + LEVEL) / 2)) * self.standard_error
        return self.mean - reach, self.mean + reach

    @property
    def per_round(self) -> float:
        return self.mean / self.horizon


@dataclass(frozen=True, eq=False)
class Contest:
    """One pair of sets, one number of rounds, one epsilon.

    Attributes:
        losses: (k, *shape); each is the loss of all rounds in a run of its own, and a learner's worst run counts.
    """

    name: str
    sets: Pair
    horizon: int
    epsilon: float
    losses: Array
    replicas: int

    @cached_property
    def pick(self) -> PrivateBandit:
        """The choice of `private_bandit`."""
        return private_bandit(*self.sets, self.horizon, self.epsilon, seed=0)

    def row(self, name: str, learner: Any, *, epsilon: float | None = None, **options: Any) -> ContestRow:
        """Play a learner.

        Args:
            name: of the row.
            learner: a bandit learner of the same sets and horizon.
            epsilon: by default that of the contest.
            **options: further arguments of `PrivateBandit`.
        """
        private = PrivateBandit(learner, epsilon or self.epsilon, seed=0, **options)
        loss, regrets = self._worst(private)
        same = (private.name, private.batch, private.uncapped_bound, private.noise)
        return ContestRow(
            contest=self.name,
            learner=name,
            horizon=self.horizon,
            epsilon=private.certificate.epsilon,
            batch=private.batch,
            regrets=tuple(regrets.tolist()),
            idle=idle_regret(self.sets[0], loss),
            bound=private.uncapped_bound / self.horizon,
            is_rival=private.certificate.epsilon <= self.epsilon * (1 + 1e-9),
            is_picked=same == (self.pick.name, self.pick.batch, self.pick.uncapped_bound, "scalar"),
        )

    def _worst(self, private: PrivateBandit) -> tuple[Array, Array]:
        """The loss with the largest mean regret, and its regrets; a loss that cannot be worse is not played."""
        X, T = self.sets[0], self.horizon
        most = {k: regret_of_point(X, loss, X.argmin(-loss)) * T for k, loss in enumerate(self.losses)}
        found: tuple[int, Array] = (0, np.array([-np.inf]))
        for k in sorted(most, key=lambda k: -most[k]):
            if most[k] > found[1].mean():
                constant = Listed("constant", T, self.losses[k][None], np.zeros_like)
                run = simulate(private, constant, self.replicas, seed=k, checkpoints=1, progress=False)
                found = max(found, (k, run.regret[:, -1]), key=lambda pair: pair[1].mean())
        return self.losses[found[0]], found[1]


@dataclass(frozen=True)
class Choice:
    """How well `private_bandit` chose in a contest: the row it picked, and the best among its proved rivals."""

    picked: ContestRow
    best: ContestRow

    @property
    def ratio(self) -> float:
        return self.picked.mean / self.best.mean


def choices(rows: Iterable[ContestRow]) -> list[Choice]:
    """One for each contest in which the choice of `private_bandit` took part, among learners with a proved bound."""
    contests: dict[str, list[ContestRow]] = {}
    for row in rows:
        if row.is_rival and math.isfinite(row.bound):
            contests.setdefault(row.contest, []).append(row)
    return [
        Choice(picked, min(rivals, key=lambda row: row.mean))
        for rivals in contests.values()
        for picked in rivals
        if picked.is_picked
    ]


def hardest(direction: Array, gap: float, factors: Iterable[float]) -> Array:
    """A loss times c times the gap that is hardest to find, for each factor c, but never longer than the loss itself.

    A far smaller gap costs nothing, and a far larger one is found at once.
    """
    return np.stack([size * direction for size in sorted({min(1.0, factor * gap) for factor in factors})])


def second_moment(sets: Pair, epsilon: float) -> float:
    """The second moment V = M^2 + 2 (D/epsilon)^2 of the noisy feedback, relative to M^2."""
    sizes = sizes_of(*sets)
    return 1 + 2 * (sizes.feedback_range / (epsilon * sizes.magnitude)) ** 2


def extreme(sets: Pair) -> Array:
    """The loss under which a random vertex is better than the center by as much as possible."""
    X, Y = sets
    return favouring(X, Y, random_vertex(X, stream(0, "contests: extreme")))


# sets of this study alone


@cache
def polygon(sides: int) -> Pair:
    """A regular polygon around the unit circle with losses in the unit disc."""
    angles = 2 * np.pi * np.arange(sides) / sides
    normals = np.column_stack([np.cos(angles), np.sin(angles)])
    return ds.polytope(normals, np.ones(sides)), ds.loss_ball(2)


@cache
def flows(roads: int = 6, length: int = 10) -> Pair:
    """Flows on parallel roads of some edges each, with a crossing half way from each to the next; losses in [0, 1].

    They are declared by constraints alone: those of the catalogue would bring shortest paths as their oracle.
    """
    graph = nx.DiGraph()
    for road in range(roads):
        nx.add_path(graph, ["start", *((road, k) for k in range(1, length)), "end"])
    graph.add_edges_from(((road, length // 2), (road + 1, length // 2)) for road in range(roads - 1))
    outflow = -nx.incidence_matrix(graph, oriented=True)
    demand = np.zeros(len(graph))
    demand[list(graph).index("start")], demand[list(graph).index("end")] = 1.0, -1.0
    flow = cp.Variable(graph.number_of_edges(), nonneg=True)
    return DecisionSet(flow, [outflow @ flow == demand], name=f"flows on {flow.size} edges"), ds.loss_box(flow.size, 0)
