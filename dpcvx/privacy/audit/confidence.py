"""From counts to a lower confidence bound on epsilon.

(epsilon, delta)-DP says P[S | a] <= e^epsilon P[S | b] + delta for every event S and neighbouring streams a and b. So
epsilon >= ln((P[S | a] - delta)/P[S | b]), and Clopper-Pearson bounds on the probabilities bound epsilon from below.
"""

import numpy as np
from scipy.special import betaincinv

from dpcvx.arrays import Array

CONFIDENCE = 1 - 1e-6  # one-sided


def lower_probability(count: int | Array, samples: int, alpha: float) -> Array:
    """The Clopper-Pearson lower bound: below the probability except with probability alpha."""
    k = np.asarray(count, dtype=float)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), samples - np.maximum(k, 1) + 1, alpha), 0.0)


def upper_probability(count: int | Array, samples: int, alpha: float) -> Array:
    """The Clopper-Pearson upper bound: above the probability except with probability alpha."""
    k = np.asarray(count, dtype=float)
    inside = np.minimum(k, samples - 1)
    return np.where(k < samples, betaincinv(inside + 1, samples - inside, 1 - alpha), 1.0)


def epsilon_lower_bound(
    likely: int | Array,
    unlikely: int | Array,
    samples: int,
    *,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
) -> Array:
    """What epsilon is at least, given how often an event happened under two neighbouring streams.

    Args:
        likely: how often it happened in `samples` runs on the stream under which it is the likelier.
        unlikely: the same on the other stream.
        samples: runs on each stream.
        delta: of the claim.
        confidence: one-sided; the error probability is split evenly over the two bounds.
    """
    alpha = (1 - confidence) / 2
    numerator = lower_probability(likely, samples, alpha) - delta
    ratio = np.maximum(numerator, 0.0) / upper_probability(unlikely, samples, alpha)
    return np.log(np.maximum(ratio, 1.0))
