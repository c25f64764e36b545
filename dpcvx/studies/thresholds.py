"""When privacy is free: the epsilon at which the price of the noise equals the regret of learning itself.

The regret of FTRL is at most its learning part plus E max <Z, x> over the set. Above the threshold the second is the
smaller one.
"""

import numpy as np

from dpcvx.learners import FTRL
from dpcvx.privacy.prefix_noise import PrefixNoise
from dpcvx.sets import DecisionSet

_DRAWS = 4000
_RANGE = (1e-6, 500.0)  # of epsilon


def mean_maximum(decision_set: DecisionSet, noise: PrefixNoise, seed: int = 0) -> float:
    """E max <Z, x> over the set by Monte Carlo, for the worst prefix of a counter with independent coordinates."""
    rng = np.random.default_rng(seed)
    shape = (_DRAWS, *decision_set.shape)
    if noise.law.name == "Laplace":
        draws = sum(rng.laplace(0.0, noise.law.scale, shape) for _ in range(noise.terms))
    elif noise.gaussian:
        draws = rng.normal(0.0, noise.deviation, shape)
    else:
        raise ValueError(f"The coordinates of {noise.law.name} noise are not independent; no maximum is drawn for it.")
    return float(np.mean(decision_set.support(draws)))


def free_epsilon(learner: FTRL) -> float:
    """The epsilon at which the price of noise equals the learning part of the learner's bound.

    Args:
        learner: a private learner with a known horizon; its other settings are kept, epsilon is searched for.
    """
    if learner.horizon is None:
        raise ValueError("free_epsilon needs a learner with a known horizon.")
    bound = learner.regret_bound
    if bound is None:
        raise ValueError("The learner has no proved bound to compare with.")

    def price(epsilon: float) -> float:
        noise = learner.with_epsilon(epsilon).noise
        return 0.0 if noise is None else mean_maximum(learner.decision_set, noise)

    ends = [price(end) > bound.learning for end in _RANGE]
    if ends != [True, False]:
        raise ValueError(f"No epsilon between {_RANGE[0]:g} and {_RANGE[1]:g} makes noise and learning cost the same.")
    low, high = (float(np.log(end)) for end in _RANGE)
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if price(float(np.exp(middle))) > bound.learning else (low, middle)
    return float(np.exp(high))
