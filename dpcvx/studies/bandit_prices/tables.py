"""What the parts of a private bandit are worth: noise, batches, learner, and the set that is played; all simulation.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

import math
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np

from dpcvx.arrays import Array
from dpcvx.learners import AdaptiveBandit, Exp2, HybridBandit, LogBarrierBandit, SCRiBLe
from dpcvx.learners.bandits.bandit import Bandit
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies.bandit_prices.contests import (
    Contest,
    ContestRow,
    extreme,
    flows,
    hardest,
    second_moment,
)
from dpcvx.studies.playing_sets import Pair, arms, ball, cube

ARM_FACTORS = (0.5, 1, 2, 4, 8)  # of the gap sqrt(N V/T)
ALL_FACTORS = (*ARM_FACTORS, 16, 32, 64)  # up to the largest gap there is
BODY_FACTORS = (2, 4, 8)  # of n sqrt(nu V/T)
HALF = 0.5  # what the idle player pays per round on the cube


def _paper(X: DecisionSet, Y: LossSet, T: int) -> Bandit:
    return Exp2(X, Y, T, tuning="paper", exploration="uniform")


def _cut(X: DecisionSet, Y: LossSet, T: int) -> Bandit:
    return Exp2(X, Y, T, tuning="rigorous")


def _moments(X: DecisionSet, Y: LossSet, T: int) -> Bandit:
    return Exp2(X, Y, T, tuning="moments")


# the paper's noise is scaled to the largest loss instead of the range of losses, which is twice as large here
ARM_LEARNERS: dict[str, tuple[Callable[[DecisionSet, LossSet, int], Bandit], float]] = {
    "EXP2, the paper's constants": (_paper, 2.0),
    "EXP2, noise cut": (_cut, 1.0),
    "EXP2 by moments": (_moments, 1.0),
    "log-barrier": (LogBarrierBandit, 1.0),
    "entropy and barrier": (HybridBandit, 1.0),
    "adaptive": (AdaptiveBandit, 1.0),
}
BATCHES: dict[str, int | str] = {"": 1, ", batches": "auto"}


# (i)


def noise_rows(horizon: int, flow_horizon: int, replicas: int, epsilon: float = 1.0) -> list[ContestRow]:
    """Scalar noise against the paper's vector noise: SCRiBLe on a ball, a cube and flows, at the same true epsilon."""
    rows = []
    games = (
        ("ball N = 20", ball(20), horizon),
        ("cube N = 20", cube(20), horizon),
        ("flows on 65 edges", flows(), flow_horizon),
    )
    for game, sets, T in games:
        contest = _contest(game, sets, T, epsilon, extreme(sets)[None], replicas)
        learner = SCRiBLe(*sets, T)
        rows += [
            contest.row("SCRiBLe, vector noise", learner, noise="vector", batch=1),
            contest.row("SCRiBLe, scalar noise", learner, batch=1),
            contest.row("SCRiBLe, scalar noise, batches", learner),
        ]
        if contest.pick.name == "private Exp2":
            rows.append(contest.row("EXP2 by moments, batches", Exp2(*sets, T, tuning="moments")))
    return rows


# (ii)


def batch_rows(horizon: int, epsilons: Iterable[float], replicas: int) -> list[ContestRow]:
    """Batches against none: ten arms and a ball, each at its hardest gap."""
    kinds = ("EXP2 by moments", "log-barrier")
    return [
        row
        for epsilon in epsilons
        for row in (
            *(arm_row(kind, batch, horizon, epsilon, replicas) for kind in kinds for batch in BATCHES),
            *(ball_row(5, batch, horizon, epsilon, replicas) for batch in BATCHES),
        )
    ]


# (iii)


def arm_rows(horizons: Iterable[int], replicas: int, epsilon: float = 1.0) -> list[ContestRow]:
    """Ten arms at their hardest gap: EXP2 by three tunings and the others, with and without batches.

    The learner of the paper plays without batches: it has no bound by which to choose their length.
    """
    return [
        arm_row(kind, batch, T, epsilon, replicas)
        for T in horizons
        for kind in ARM_LEARNERS
        for batch in BATCHES
        if batch == "" or ARM_LEARNERS[kind][0] is not _paper
    ]


@cache
def arm_row(
    kind: str,
    batch: str,
    horizon: int,
    epsilon: float,
    replicas: int,
    count: int = 10,
    factors: tuple[float, ...] = ARM_FACTORS,
) -> ContestRow:
    """One learner of `ARM_LEARNERS` at its worst gap c sqrt(N V/T), c among the factors."""
    contest = _arm_contest(count, horizon, epsilon, replicas, factors)
    make, weaker = ARM_LEARNERS[kind]
    learner = make(*contest.sets, horizon)
    return contest.row(kind + batch, learner, epsilon=weaker * epsilon, batch=BATCHES[batch])


@cache
def _arm_contest(count: int, horizon: int, epsilon: float, replicas: int, factors: tuple[float, ...]) -> Contest:
    sets = arms(count)
    gap = math.sqrt(count * second_moment(sets, epsilon) / horizon)
    apart = np.ones(count)
    apart[0] = -1.0  # a gap of 2
    return _contest(f"{count} arms", sets, horizon, epsilon, hardest(apart, gap / 2, factors), replicas)


@cache
def ball_row(size: int, batch: str, horizon: int, epsilon: float, replicas: int) -> ContestRow:
    """SCRiBLe on a ball at its worst gap."""
    sets = ball(size)
    contest = body_contest(f"ball N = {size}", sets, extreme(sets), horizon, epsilon, replicas)
    return contest.row("SCRiBLe" + batch, SCRiBLe(*sets, horizon), batch=BATCHES[batch])


def body_contest(game: str, sets: Pair, direction: Array, horizon: int, epsilon: float, replicas: int) -> Contest:
    """A set at multiples of the gap n sqrt(nu V/T) of SCRiBLe."""
    gap = sets[0].dim * math.sqrt(sets[0].nu * second_moment(sets, epsilon) / horizon)
    return _contest(game, sets, horizon, epsilon, hardest(direction, gap, BODY_FACTORS), replicas)


# (iv)


def cube_rows(horizon: int, replicas: int, size: int = 10, epsilon: float = 1.0) -> list[ContestRow]:
    """The cube by its vertices and as a body, on a loss spread over all coordinates: the idle player pays `HALF`."""
    sets = cube(size)
    contest = _contest(f"cube N = {size}", sets, horizon, epsilon, np.full((1, size), HALF / size), replicas)
    learners = {
        "EXP2 by moments": _moments(*sets, horizon),
        "SCRiBLe": SCRiBLe(*sets, horizon),
        "entropy and barrier": HybridBandit(*sets, horizon),
        "adaptive": AdaptiveBandit(*sets, horizon),
    }
    return [
        contest.row(name + batch, learner, batch=BATCHES[batch])
        for name, learner in learners.items()
        for batch in BATCHES
    ]


def _contest(game: str, sets: Pair, horizon: int, epsilon: float, losses: Array, replicas: int) -> Contest:
    return Contest(f"{game}, T = {horizon}, epsilon = {epsilon:g}", sets, horizon, epsilon, losses, replicas)
