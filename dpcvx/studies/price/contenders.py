"""The learners whose regret is compared: without privacy, private by default, in practice, and with the paper's noise.

In practice one would take the adaptive bandit, for which no worst-case bound is proved, and with full information the
learner of the smallest proved bound among all that are known.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
Its scales protect a loss that is taken away, while by its own definition a loss is replaced; every learner states the
epsilon that it gives by that definition. The paper knows no declared changes: there the same learner is compared that
protects the whole round.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpcvx.learners import FTRL, private_bandit, private_learner
from dpcvx.learners.bandits.bandit import Bandit
from dpcvx.learners.bandits.choice import bandits
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies.paper_bandit import paper_bandit, true_epsilon
from dpcvx.studies.settings import BANDIT, FULL_INFORMATION

WITHOUT, PAPER, PRIVATE, PRACTICE, WHOLE = ("without privacy", "paper", "private", "in practice", "whole round")


@dataclass(frozen=True)
class Contender:
    """A learner to be made: in which setting, in which role, for which horizon and privacy."""

    setting: str
    role: str
    horizon: int
    epsilon: float | None = None
    delta: float = 0.0

    def make(self, X: DecisionSet, Y: LossSet, neighbours: str | Neighbours = "replace") -> "Made":
        """The learner, as a simulation; what one person may change counts for "private" and "in practice" alone."""
        options = {"neighbours": neighbours} if self.role in (PRIVATE, PRACTICE) else {}
        return _MAKERS[self.setting, self.role](X, Y, self, **options)


@dataclass(frozen=True)
class Made:
    """A learner, how tables call it, the epsilon that it gives, and whether it draws random numbers."""

    learner: Any
    name: str
    epsilon: float | None
    draws: bool = True


def compared_role(neighbours: str | Neighbours) -> str:
    """Which learner stands beside the private one at every epsilon."""
    return WHOLE if isinstance(neighbours, Neighbours) and neighbours.declared_change else PAPER


def contenders(
    settings: tuple[str, ...], horizon: int, epsilons: tuple[float, ...], delta: float, beside: str = PAPER
) -> list[Contender]:
    """All that are compared at one horizon; `beside` is the role of the learner beside the private one."""
    made = []
    for setting in settings:
        slack = delta if setting == FULL_INFORMATION else 0.0  # the noise of bandits is Laplace noise
        made.append(Contender(setting, WITHOUT, horizon))
        made += [Contender(setting, role, horizon, e, slack) for e in epsilons for role in (beside, PRIVATE, PRACTICE)]
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


def _best_learner(X: DecisionSet, Y: LossSet, wanted: Contender, **options: Any) -> Made:
    assert wanted.epsilon is not None
    learner = private_learner(X, Y, wanted.horizon, wanted.epsilon, wanted.delta, seed=0, **options)
    return Made(learner, learner.name, wanted.epsilon)


def _bandit(X: DecisionSet, Y: LossSet, wanted: Contender) -> Made:
    learner = ranked_bandits(X, Y, wanted.horizon)[0]
    return Made(learner, learner.name, None)


def _private_bandit(X: DecisionSet, Y: LossSet, wanted: Contender, **options: Any) -> Made:
    assert wanted.epsilon is not None
    learner = private_bandit(X, Y, wanted.horizon, wanted.epsilon, seed=0, **options)
    return Made(learner, learner.name, learner.epsilon)


def _practical_bandit(X: DecisionSet, Y: LossSet, wanted: Contender, **options: Any) -> Made:
    return _private_bandit(X, Y, wanted, choose="practice", **options)


def _paper_bandit(X: DecisionSet, Y: LossSet, wanted: Contender) -> Made:
    assert wanted.epsilon is not None
    learner = paper_bandit(X, Y, wanted.horizon, wanted.epsilon)
    return Made(learner, learner.name.removeprefix("private "), true_epsilon(X, Y, wanted.epsilon))


_MAKERS: dict[tuple[str, str], Callable[..., Made]] = {
    (FULL_INFORMATION, WITHOUT): _ftrl,
    (FULL_INFORMATION, PAPER): _paper_ftrl,
    (FULL_INFORMATION, PRIVATE): _ftrl,
    (FULL_INFORMATION, PRACTICE): _best_learner,
    (FULL_INFORMATION, WHOLE): _ftrl,
    (BANDIT, WITHOUT): _bandit,
    (BANDIT, PAPER): _paper_bandit,
    (BANDIT, PRIVATE): _private_bandit,
    (BANDIT, PRACTICE): _practical_bandit,
    (BANDIT, WHOLE): _private_bandit,
}
