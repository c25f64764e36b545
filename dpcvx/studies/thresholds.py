"""When privacy is free: the epsilon at which the price of the noise equals the regret of learning itself.

The regret of FTRL is at most its learning part plus E max <Z, x> over the set, Z being the noise on a prefix. Above the
threshold the second is the smaller one.
"""

import math
from collections.abc import Callable

import numpy as np

from dpcvx.errors import ArgumentError
from dpcvx.learners import FTRL
from dpcvx.privacy.prefix_noise import PrefixNoise
from dpcvx.sets import DecisionSet
from dpcvx.streams import stream

_DRAWS = 4000
_SEARCHED = (1e-6, 500.0)  # epsilons between which `free_epsilon` looks


def mean_maximum(decision_set: DecisionSet, noise: PrefixNoise, seed: int = 0) -> float:
    """E max <Z, x> over the set by Monte Carlo, for the worst prefix of a counter."""
    rng = stream(seed, "mean_maximum")
    shape = (_DRAWS, decision_set.size)
    draws = sum(noise.law.simulate(rng, shape) for _ in range(noise.terms))
    return float(np.mean(decision_set.support(decision_set.unflatten(np.asarray(draws)))))


def crossing(price: Callable[[float], float], learning: float, searched: tuple[float, float]) -> float:
    """The epsilon at which a price that falls with epsilon equals what learning costs, to a thousandth.

    Args:
        price: of an epsilon.
        learning: what learning costs.
        searched: the least and the largest epsilon that are looked at; 0 is returned where the price is no higher than
            learning even at the least, and infinity where it is higher even at the largest.
    """
    if price(searched[1]) > learning:
        return math.inf
    if price(searched[0]) <= learning:
        return 0.0
    low, high = (math.log(end) for end in searched)
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if price(math.exp(middle)) > learning else (low, middle)
    return math.exp(high)


def free_epsilon(make: Callable[[float], FTRL]) -> float:
    """The epsilon at which the price of noise equals the learning part of a learner's bound.

    Args:
        make: the learner for an epsilon, over a known number of rounds; give it a seed, since many are made.

    Raises:
        ArgumentError: where the learner has no horizon or no bound, or there is no such epsilon.
    """
    learner = make(1.0)
    if learner.horizon is None:
        raise ArgumentError("free_epsilon needs a learner with a known horizon.")
    if learner.regret_bound is None:
        raise ArgumentError("The learner has no proved bound to compare with.")

    def price(epsilon: float) -> float:
        noise = make(epsilon).noise
        return 0.0 if noise is None else mean_maximum(learner.decision_set, noise)

    found = crossing(price, learner.regret_bound.learning, _SEARCHED)
    if not 0 < found < math.inf:
        raise ArgumentError(
            f"No epsilon between {_SEARCHED[0]:g} and {_SEARCHED[1]:g} makes noise and learning cost the same."
        )
    return found
