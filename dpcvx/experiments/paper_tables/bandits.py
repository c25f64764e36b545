"""The paper's Table 2: bandit linear optimisation, here on the ball, and arms, with only the value <loss, action> seen.

The paper's noise is scaled to the largest feedback, which protects a loss that is taken away ("zero-out"); by its own
definition a loss is replaced, and the noise then guarantees as many times epsilon as the diameter has radii.
"""

import math
from typing import Any

from dpcvx.experiments.baselines import ExploredGradients
from dpcvx.experiments.paper_tables.full_information import experts, sphere
from dpcvx.experiments.paper_tables.methods import NON_PRIVATE, Make, Method, Setting
from dpcvx.learners import Exp2, LogBarrierBandit, PrivateBandit, SCRiBLe, private_bandit
from dpcvx.sets import DecisionSet, LossSet

COLUMNS = ("regret in T", "regret in 1/eps", "regret in N")


def _earlier(X: DecisionSet, Y: LossSet, T: int, epsilon: float) -> PrivateBandit:
    return PrivateBandit(ExploredGradients(X, Y, T, seed=0), epsilon, batch=1, seed=0)


def _ours(X: DecisionSet, Y: LossSet, T: int, epsilon: float) -> PrivateBandit:
    return private_bandit(X, Y, T, epsilon, seed=0)


# arms


def _exp2(tuning: str, neighbours: str) -> Make:
    return lambda X, Y, T, epsilon: PrivateBandit(
        Exp2(X, Y, T, tuning=tuning, seed=0), epsilon, batch=1, neighbours=neighbours, seed=0
    )


def _scalar_guarantee(learner: Any, epsilon: float) -> float:
    """Noise for the largest |<l, x>| against what a replaced loss moves."""
    return epsilon * float(learner.sizes.feedback_range / learner.sizes.magnitude)


# the ball


def _vector(neighbours: str) -> Make:
    return lambda X, Y, T, epsilon: PrivateBandit(
        SCRiBLe(X, Y, T, seed=0), epsilon, noise="vector", batch=1, neighbours=neighbours, seed=0
    )


def _paper_scrible(X: DecisionSet, Y: LossSet, T: int, epsilon: float) -> PrivateBandit:
    """The step of Theorem 4.5: eta^2 = nu log T/(2 N^2 T (M^2 + lambda^2 N |X|^2)), lambda = |Y|_1/epsilon."""
    plain = SCRiBLe(X, Y, T, seed=0)
    spread = plain.sizes.magnitude**2 + X.size * (float(Y.radius(1)) / epsilon * X.norm_bound(2)) ** 2
    eta = math.sqrt(X.nu * math.log(T) / (2 * X.size**2 * T * spread))
    inner = SCRiBLe(X, Y, T, learning_rate=eta, seed=0)
    return PrivateBandit(inner, epsilon, noise="vector", batch=1, neighbours="zero-out", seed=0)


def _vector_guarantee(learner: Any, epsilon: float) -> float:
    """Noise for the largest |l|_1 against the diameter."""
    return epsilon * float(learner.loss_set.diameter(1)) / float(learner.loss_set.radius(1))


def _judged(make: Make) -> Make:
    """The bandit inside, tuned for scalar noise of the same deviation, which has a bound."""

    def inner(X: DecisionSet, Y: LossSet, T: int, epsilon: float) -> Any:
        scale = make(X, Y, T, epsilon).certificate.scale
        return SCRiBLe(X, Y, T, seed=0).with_noise(scale, T)

    return inner


SETTINGS = (
    Setting(
        "bandit linear optimisation: ball",
        sphere,
        ("T^(2/3)/eps", "sqrt(T)/eps", "sqrt(T)"),
        (
            Method("earlier: gradients", ("2/3", "2/3", "2/3"), _earlier),
            Method(
                "paper, own constants",
                ("1/2", "1", "2"),
                _paper_scrible,
                judge=_judged(_vector("zero-out")),
                guarantee=_vector_guarantee,
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
            Method(NON_PRIVATE, ("1/2", "", "1"), lambda X, Y, T, epsilon: SCRiBLe(X, Y, T), logarithm=True),
        ),
    ),
    Setting(
        "arms",
        experts,
        ("N T^(2/3)/eps", "sqrt(T N log N)/eps", "sqrt(N T)"),
        (
            Method("earlier: gradients", ("2/3", "2/3", "2/3"), _earlier),
            Method(
                "paper, own constants",
                ("1/2", "1", "1/2+"),
                _exp2("paper", "zero-out"),
                judge=_exp2("rigorous", "zero-out"),
                guarantee=_scalar_guarantee,
                logarithm=True,
            ),
            Method("paper, corrected", ("1/2", "1", "1/2+"), _exp2("rigorous", "replace"), logarithm=True),
            Method("ours", ("1/2", "1/2", "1/2+"), _ours, logarithm=True),
            Method(NON_PRIVATE, ("1/2", "", "1/2"), lambda X, Y, T, epsilon: LogBarrierBandit(X, Y, T), logarithm=True),
        ),
    ),
)
