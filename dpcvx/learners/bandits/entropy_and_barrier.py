"""The minimiser of entropy with a logarithmic barrier on the simplex: ln p - beta/p = mu - scores, sum p = 1.

With omega the Wright function, omega + ln omega = z, p_i = beta/omega(ln beta - mu + score_i), so that one number mu is
left to find. From probabilities that are near, Newton's method on all ln p_i and mu at once is faster.
"""

import math

import numpy as np
from scipy.special import wrightomega

from dpcvx.actions.weights import ones
from dpcvx.arrays import Array, Bools
from dpcvx.errors import OracleError

_NEWTON = 100
_NEAR = 8  # steps from probabilities that are near
_LONGEST = 2.0  # step of a logarithm
_MISS = 1e-10  # by which the probabilities of a group may miss the sum 1
_OFF = 1e-9  # by which the equations may be off


def balanced(beta: float, scores: Array, mu: Array) -> tuple[Array, Array]:
    """The p (..., arms) with ln p - beta/p = mu - scores and sum 1, and mu; scores are infinite where no arm is.

    The sum is convex and increasing in mu, so Newton steps end above the solution and approach it from there. The
    largest p is between 1/N and 1, which says where mu is: no step goes beyond that.
    """
    least, N, shift = scores.min(axis=-1), scores.shape[-1], math.log(beta)
    top = least - beta
    mu = np.clip(mu, least - math.log(N) - beta * N, top)
    for _ in range(_NEWTON):
        p = beta / wrightomega(shift - mu[..., None] + scores)
        excess = p.sum(axis=-1) - 1
        if np.abs(excess).max() <= _MISS:
            return p / p.sum(axis=-1, keepdims=True), mu
        mu = np.minimum(mu - excess / (p * p / (p + beta)).sum(axis=-1), top)
    raise OracleError("The probabilities of the arms could not be normalised.")


def rebalanced(beta: float, scores: Array, mu: Array, p: Array, there: Bools | None = None) -> tuple[Array, Array]:
    """The same, by Newton's method from p, and mu, for scores that have changed a little.

    Args:
        there: which places hold an arm, None where all do; scores are finite at the others too.
    """
    one = ones(scores.shape[-1])
    y = np.log(p if there is None else np.where(there, p, 1.0))
    for _ in range(_NEAR):
        p = np.exp(y)
        if there is not None:
            p = p * there
        ratio = beta / p if there is None else np.where(there, beta / np.maximum(p, 1e-300), 0.0)
        off = y - ratio - mu[..., None] + scores
        if there is not None:
            off = off * there
        share = 1 / (1 + ratio)
        weight = p * share
        total = p @ one
        along = (1 - total + np.vecdot(weight, off)) / (weight @ one)
        step = share * (along[..., None] - off)
        longest = np.abs(step).max()
        if longest <= _OFF:
            return p / total[..., None], mu
        if not longest <= _LONGEST:
            break
        y, mu = y + step, mu + along
    return balanced(beta, scores if there is None else np.where(there, scores, np.inf), mu)
