"""The paper's Table 2: bandit linear optimisation, here on the ball, and arms, with only the value <loss, action> seen.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
Its own constants are those of `paper_bandit`.
"""

from typing import Any

from dpcvx.learners import Exp2, LogBarrierBandit, PrivateBandit, SCRiBLe, private_bandit
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies.baselines import ExploredGradients
from dpcvx.studies.paper_bandit import paper_bandit, true_epsilon
from dpcvx.studies.paper_tables.methods import NON_PRIVATE, Make, Method, Problem
from dpcvx.studies.playing_sets import arms, ball

COLUMNS = ("regret in T", "regret in 1/eps", "regret in N")


def _earlier(X: DecisionSet, Y: LossSet, T: int, epsilon: float) -> PrivateBandit:
    return PrivateBandit(ExploredGradients(X, Y, T, seed=0), epsilon, batch=1, seed=0)


def _ours(X: DecisionSet, Y: LossSet, T: int, epsilon: float) -> PrivateBandit:
    return private_bandit(X, Y, T, epsilon, seed=0)


def _practice(X: DecisionSet, Y: LossSet, T: int, epsilon: float) -> PrivateBandit:
    return private_bandit(X, Y, T, epsilon, choose="practice", seed=0)


# arms


def _exp2(tuning: str, neighbours: str) -> Make:
    return lambda X, Y, T, epsilon: PrivateBandit(
        Exp2(X, Y, T, tuning=tuning, seed=0), epsilon, batch=1, neighbours=neighbours, seed=0
    )


# the ball


def _vector(neighbours: str) -> Make:
    return lambda X, Y, T, epsilon: PrivateBandit(
        SCRiBLe(X, Y, T, seed=0), epsilon, noise="vector", batch=1, neighbours=neighbours, seed=0
    )


def _guarantee(learner: Any, epsilon: float) -> float:
    return true_epsilon(learner.decision_set, learner.loss_set, epsilon)


def _judged(make: Make) -> Make:
    """The bandit inside, tuned for scalar noise of the same deviation, which has a bound."""

    def inner(X: DecisionSet, Y: LossSet, T: int, epsilon: float) -> Any:
        scale = make(X, Y, T, epsilon).certificate.scale
        return SCRiBLe(X, Y, T, seed=0).with_noise(scale, T)

    return inner


PROBLEMS = (
    Problem(
        "bandit linear optimisation: ball",
        ball,
        ("T^(2/3)/eps", "sqrt(T)/eps", "sqrt(T)"),
        (
            Method("earlier: gradients", ("2/3", "2/3", "2/3"), _earlier),
            Method(
                "paper, own constants",
                ("1/2", "1", "2"),
                paper_bandit,
                judge=_judged(_vector("zero-out")),
                guarantee=_guarantee,
                logarithm=True,
            ),
            Method(
                "paper, corrected",
                ("1/2", "1", "3/2"),
                _vector("replace"),
                judge=_judged(_vector("replace")),
                logarithm=True,
            ),
            Method("ours", ("1/2", "1/2", "1"), _ours, logarithm=True),
            Method("ours, in practice", ("", "", ""), _practice, judge=_ours),
            Method(NON_PRIVATE, ("1/2", "", "1"), lambda X, Y, T, epsilon: SCRiBLe(X, Y, T), logarithm=True),
        ),
    ),
    Problem(
        "arms",
        arms,
        ("N T^(2/3)/eps", "sqrt(T N log N)/eps", "sqrt(N T)"),
        (
            Method("earlier: gradients", ("2/3", "2/3", "2/3"), _earlier),
            Method(
                "paper, own constants",
                ("1/2", "1", "1/2+"),
                paper_bandit,
                judge=_exp2("rigorous", "zero-out"),
                guarantee=_guarantee,
                logarithm=True,
            ),
            Method("paper, corrected", ("1/2", "1", "1/2+"), _exp2("rigorous", "replace"), logarithm=True),
            Method("ours", ("1/2", "1/2", "1/2+"), _ours),
            Method("ours, in practice", ("", "", ""), _practice, judge=_ours),
            Method(NON_PRIVATE, ("1/2", "", "1/2"), lambda X, Y, T, epsilon: LogBarrierBandit(X, Y, T), logarithm=True),
        ),
    ),
)
