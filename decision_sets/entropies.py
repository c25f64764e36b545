"""Distributions that stay near a given one: entropy and Kullback-Leibler balls."""

from functools import partial

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from decision_sets.arguments import finite_array, positive, whole
from decision_sets.named import named
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets import DecisionSet


@named("5,1")
def entropy_ball(n: int, at_least: float) -> DecisionSet:
    """The distributions {sum(x) = 1, -sum(x log x) >= at_least} over n things; entropy in nats, below log(n).

    Example:
        >>> import decision_sets
        >>> X = decision_sets.entropy_ball(4, at_least=1.0)  # log(4) = 1.386 is the most
        >>> X.contains([0.25, 0.25, 0.25, 0.25]), X.contains([1, 0, 0, 0])
        (True, False)
    """
    n = whole(n, "n", at_least=2)
    highest = float(np.log(n))
    if not isinstance(at_least, int | float | np.integer | np.floating) or not 0 <= at_least < highest:
        raise ArgumentError(
            f"at_least must be a number from 0 to below log({n}) = {highest:.6g}, but {at_least!r} came."
        )
    x = cp.Variable(n)
    # KL(x || uniform) = log(n) - entropy(x), so the linear minimiser is that of a Kullback-Leibler ball.
    oracle = partial(cheapest_distribution, np.full(n, 1 / n), highest - float(at_least))
    constraints = [cp.sum(x) == 1, cp.sum(cp.entr(x)) >= at_least]
    return DecisionSet(x, constraints, oracle=oracle, name=f"entropy_ball({n}, at_least={at_least:g})")


def kl_ball(center: ArrayLike, radius: float) -> DecisionSet:
    """The distributions {sum(x) = 1, sum(x log(x / center)) <= radius} near ``center``, a positive distribution.

    Example:
        >>> import decision_sets
        >>> X = decision_sets.kl_ball([0.5, 0.3, 0.2], radius=0.1)
        >>> bool(X.argmin([1, 0, 0])[0] < 0.5), X.contains([0.5, 0.3, 0.2])
        (True, True)
    """
    q, radius = finite_array(center, "center", ndim=1), positive(radius, "radius")
    if q.size < 2 or np.any(q <= 0) or not np.isclose(q.sum(), 1.0, rtol=0.0, atol=1e-9):
        raise ArgumentError(
            f"center must be a distribution with at least two entries, all positive and of sum 1, "
            f"but {q.size} came, with smallest {q.min():.3g} and sum {q.sum():.10g}."
        )
    q = q / q.sum()
    x = cp.Variable(q.size)
    constraints = [cp.sum(x) == 1, cp.sum(cp.rel_entr(x, q)) <= radius]
    oracle = partial(cheapest_distribution, q, radius)
    return DecisionSet(x, constraints, oracle=oracle, name=f"kl_ball({q.size}, radius={radius:g})")


def cheapest_distribution(center: Array, radius: float, c: Array) -> Array:
    """Return the minimiser of <c, x> over the distributions x with KL(x || center) <= radius.

    It is the exponential tilt x ~ center * exp(-beta c) whose divergence, which grows with beta, equals the radius.
    """
    excess = c - c.min()
    spread = excess.max()
    cheapest = np.where(excess == 0, center, 0.0)
    if spread == 0 or -np.log(cheapest.sum()) <= radius:
        return normalised(cheapest)
    excess = excess / spread

    def tilted(beta: float) -> Array:
        return normalised(center * np.exp(-beta * excess))

    def inside(beta: float) -> bool:
        return bool(rel_entr(tilted(beta), center).sum() <= radius)

    low, high = 0.0, 1.0
    while inside(high) and high < 2.0**60:
        low, high = high, 2 * high
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if inside(middle) else (low, middle)
    return tilted(low)


def normalised(weights: Array) -> Array:
    """Return the weights divided by their sum."""
    shares: Array = weights / weights.sum()
    return shares
