"""The paper's private bandit with its own constants, and what it really guarantees.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
Its noise is scaled to the largest feedback, which protects a loss that is taken away ("zero-out"). By its own
definition a loss is replaced, which can move the feedback by more; by that factor the guaranteed epsilon is larger.
"""

import math

import numpy as np

from dpcvx.learners import Exp2, PrivateBandit, SCRiBLe
from dpcvx.learners.bandits.bandit import Bandit
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of

_BLOCK = 256  # arms that are looked at together


def paper_bandit(X: DecisionSet, Y: LossSet, horizon: int, epsilon: float) -> PrivateBandit:
    """EXP2 on arms (its Theorem 4.1), elsewhere SCRiBLe with vector noise (its Theorem 4.5), as a simulation."""
    if X.recognised.arms() is None:
        rate = _paper_rate(X, Y, horizon, float(Y.radius(1)) / epsilon)
        inner: Bandit = SCRiBLe(X, Y, horizon, learning_rate=rate, seed=0)
        noise = "vector"
    else:
        inner = Exp2(X, Y, horizon, tuning="paper", exploration="uniform", seed=0)
        noise = "scalar"  # <Z, e_i> is one coordinate of Z
    return PrivateBandit(inner, epsilon, noise=noise, batch=1, neighbours="zero-out", seed=0)


def true_epsilon(X: DecisionSet, Y: LossSet, epsilon: float) -> float:
    """What `paper_bandit` guarantees where one loss is replaced by another."""
    arms = X.recognised.arms()
    if arms is None:
        return epsilon * _ratio(float(Y.diameter(1)), float(Y.radius(1)))
    worst = 0.0
    for first in range(0, arms.count, _BLOCK):
        low, high = Y.ranges(X.unflatten(arms.actions(np.arange(first, min(first + _BLOCK, arms.count)))))
        worst = max(worst, *map(_ratio, (high - low).tolist(), np.maximum(-low, high).tolist()))
    return epsilon * worst


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
