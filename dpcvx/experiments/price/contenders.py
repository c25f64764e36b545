"""The learners whose regret is compared: without privacy, private by default, and with the noise of the paper.

The paper's scales are those of a loss that is taken away, and are held here against its own definition, by which a loss
is replaced; every learner states the epsilon that it gives by that one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx.learners import FTRL, Exp2, PrivateBandit, SCRiBLe, private_bandit
from dpcvx.learners.action_sets import arms_of
from dpcvx.learners.bandit import Bandit
from dpcvx.learners.bandit_choice import bandits
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of

SETTINGS = ("full information", "bandit")
WITHOUT, PAPER, PRIVATE = ("without privacy", "paper", "private")


@dataclass(frozen=True)
class Contender:
    """A learner to be made: in which setting, in which role, for which horizon and privacy."""

    setting: str
    role: str
    horizon: int
    epsilon: float | None = None
    delta: float = 0.0

    def make(self, X: DecisionSet, Y: LossSet) -> "Made":
        """The learner, as a simulation."""
        return _MAKERS[self.setting, self.role](X, Y, self)


@dataclass(frozen=True)
class Made:
    """A learner, how tables call it, the epsilon that it gives, and whether it draws anything."""

    learner: Any
    name: str
    epsilon: float | None
    draws: bool = True


def contenders(settings: tuple[str, ...], horizon: int, epsilons: tuple[float, ...], delta: float) -> list[Contender]:
    """All that are compared at one horizon."""
    made = []
    for setting in settings:
        slack = delta if setting == "full information" else 0.0  # feedback has Laplace noise
        made.append(Contender(setting, WITHOUT, horizon))
        made += [Contender(setting, role, horizon, e, slack) for e in epsilons for role in (PAPER, PRIVATE)]
    return made


def ranked_bandits(X: DecisionSet, Y: LossSet, horizon: int) -> list[Bandit]:
    """The bandit learners that the set admits, without noise, the one with the smallest proved bound first."""
    found, _ = bandits(X, Y, horizon, seed=0)
    return sorted(found, key=lambda learner: learner.uncapped_bound)


def _ftrl(X: DecisionSet, Y: LossSet, wanted: Contender, **options: Any) -> Made:
    learner = FTRL(X, Y, wanted.horizon, wanted.epsilon, wanted.delta, seed=0, **options)
    name = f"FTRL, {learner.regularizer.name}"
    if wanted.epsilon is None:
        return Made(learner, name, None, draws=False)
    return Made(learner, name, learner.certificate.epsilon)


def _paper_ftrl(X: DecisionSet, Y: LossSet, wanted: Contender) -> Made:
    return _ftrl(X, Y, wanted, counter="tree", calibration="paper")


def _bandit(X: DecisionSet, Y: LossSet, wanted: Contender) -> Made:
    learner = ranked_bandits(X, Y, wanted.horizon)[0]
    return Made(learner, learner.name, None)


def _private_bandit(X: DecisionSet, Y: LossSet, wanted: Contender) -> Made:
    assert wanted.epsilon is not None
    learner = private_bandit(X, Y, wanted.horizon, wanted.epsilon, seed=0)
    return Made(learner, learner.name, learner.epsilon)


def _paper_bandit(X: DecisionSet, Y: LossSet, wanted: Contender) -> Made:
    """EXP2 on arms (its Theorem 4.1), elsewhere SCRiBLe with vector noise (its Theorem 4.5)."""
    assert wanted.epsilon is not None
    arms = arms_of(X)
    if arms is None:
        scale = float(Y.radius(1)) / wanted.epsilon
        inner: Bandit = SCRiBLe(X, Y, wanted.horizon, learning_rate=_paper_rate(X, Y, wanted.horizon, scale), seed=0)
        gives = _ratio(float(Y.diameter(1)), float(Y.radius(1)))
        noise = "vector"
    else:
        inner = Exp2(X, Y, wanted.horizon, tuning="paper", exploration="uniform", seed=0)
        low, high = Y.ranges(X.unflatten(arms.points))
        gives = max(map(_ratio, (high - low).tolist(), np.maximum(-low, high).tolist()))
        noise = "scalar"  # <Z, e_i> is one coordinate of Z
    learner = PrivateBandit(inner, wanted.epsilon, noise=noise, batch=1, neighbours="zero-out", seed=0)
    return Made(learner, inner.name, gives * wanted.epsilon)


def _paper_rate(X: DecisionSet, Y: LossSet, horizon: int, scale: float) -> float:
    """Its eta = (nu log T/(2 N^2 T (M^2 + lambda^2 N |X|^2)))^(1/2)."""
    N, M = X.size, sizes_of(X, Y).magnitude
    spread = M**2 + scale**2 * N * X.norm_bound(2) ** 2
    if not X.nu or not spread:
        return 1.0
    return math.sqrt(X.nu * math.log(max(horizon, 2)) / (2 * N**2 * horizon * spread))


def _ratio(moved: float, assumed: float) -> float:
    """How many times further a loss moves what is released than its noise assumes."""
    return moved / assumed if assumed else 0.0


_MAKERS: dict[tuple[str, str], Callable[[DecisionSet, LossSet, Contender], Made]] = {
    ("full information", WITHOUT): _ftrl,
    ("full information", PAPER): _paper_ftrl,
    ("full information", PRIVATE): _ftrl,
    ("bandit", WITHOUT): _bandit,
    ("bandit", PAPER): _paper_bandit,
    ("bandit", PRIVATE): _private_bandit,
}
