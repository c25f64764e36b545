"""The learners whose regret is compared: without privacy, private by default, and with the noise of the paper.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
Its scales protect a loss that is taken away, while by its own definition a loss is replaced; every learner states the
epsilon that it gives by that definition.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpcvx.learners import FTRL, private_bandit
from dpcvx.learners.bandits.bandit import Bandit
from dpcvx.learners.bandits.choice import bandits
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies.paper_bandit import paper_bandit, true_epsilon
from dpcvx.studies.settings import BANDIT, FULL_INFORMATION

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
    """A learner, how tables call it, the epsilon that it gives, and whether it draws random numbers."""

    learner: Any
    name: str
    epsilon: float | None
    draws: bool = True


def contenders(settings: tuple[str, ...], horizon: int, epsilons: tuple[float, ...], delta: float) -> list[Contender]:
    """All that are compared at one horizon."""
    made = []
    for setting in settings:
        slack = delta if setting == FULL_INFORMATION else 0.0  # the noise of bandits is Laplace noise
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
    assert wanted.epsilon is not None
    learner = paper_bandit(X, Y, wanted.horizon, wanted.epsilon)
    return Made(learner, learner.name.removeprefix("private "), true_epsilon(X, Y, wanted.epsilon))


_MAKERS: dict[tuple[str, str], Callable[[DecisionSet, LossSet, Contender], Made]] = {
    (FULL_INFORMATION, WITHOUT): _ftrl,
    (FULL_INFORMATION, PAPER): _paper_ftrl,
    (FULL_INFORMATION, PRIVATE): _ftrl,
    (BANDIT, WITHOUT): _bandit,
    (BANDIT, PAPER): _paper_bandit,
    (BANDIT, PRIVATE): _private_bandit,
}
