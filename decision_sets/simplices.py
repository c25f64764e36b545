"""Simplices: probability vectors, and the k-sets of n things."""

from functools import partial

import cvxpy as cp
import numpy as np

from decision_sets.arguments import positive, whole
from decision_sets.named import named
from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet


@named("10")
def simplex(n: int, scale: float = 1.0) -> DecisionSet:
    """The simplex {x >= 0, sum(x) = scale} in R^n: distributions over n arms, times ``scale``.

    Example:
        >>> import decision_sets
        >>> X = decision_sets.simplex(4)
        >>> X.dim, abs(X.argmin([3, 1, 2, 5])).tolist()
        (3, [0.0, 1.0, 0.0, 0.0])
    """
    n, scale = whole(n, "n", at_least=2), positive(scale, "scale")
    x = cp.Variable(n, nonneg=True)
    return DecisionSet(x, [cp.sum(x) == scale], vertex_sampler=partial(draw_corner, scale), name=f"simplex({n})")


@named("10,3")
def capped_simplex(n: int, k: int) -> DecisionSet:
    """The capped simplex {0 <= x <= 1, sum(x) = k} in R^n: its vertices are the k-element subsets of n things.

    Example:
        >>> import decision_sets
        >>> decision_sets.capped_simplex(5, 2).argmin([3, 1, 2, 5, 4]).tolist()  # the two cheapest of five
        [0.0, 1.0, 1.0, 0.0, 0.0]
    """
    n = whole(n, "n", at_least=2)
    k = whole(k, "k", at_least=1, at_most=n - 1)
    x = cp.Variable(n)
    return DecisionSet(
        x,
        [x >= 0, x <= 1, cp.sum(x) == k],
        oracle=partial(cheapest_subset, k),
        vertex_sampler=partial(systematic_sample, k),
        name=f"capped_simplex({n}, {k})",
    )


def draw_corner(scale: float, point: Array, rng: np.random.Generator) -> Array:
    """Draw a corner of the simplex of the given scale: each coordinate's share of the point is its probability."""
    weights = np.maximum(point, 0.0)
    corner = np.zeros(point.size)
    corner[rng.choice(point.size, p=weights / weights.sum())] = scale
    return corner


def cheapest_subset(k: int, c: Array) -> Array:
    """Return the indicator of the k things of the least costs."""
    subset = np.zeros(c.size)
    subset[np.argpartition(c, k - 1)[:k]] = 1.0
    return subset


def systematic_sample(k: int, probabilities: Array, rng: np.random.Generator) -> Array:
    """Draw exactly ``k`` of n things, the i-th with probability ``probabilities[i]``; they sum to k.

    The probabilities are laid end to end in random order on [0, k], and the things hit by u, u + 1, ..., u + k - 1
    for one uniform u in [0, 1) are taken. Returns the indicator vector.
    """
    n = probabilities.size
    order = rng.permutation(n)
    ends = np.cumsum(np.clip(probabilities[order], 0.0, 1.0))
    ends *= k / ends[-1]
    rank = np.arange(k)
    hit = np.searchsorted(ends, rng.uniform() + rank, side="right")
    # A width above 1 by rounding could be hit twice, and the last mark could pass the end: keep the hits distinct.
    hit = np.minimum(np.maximum.accumulate(hit - rank) + rank, n - k + rank)
    chosen = np.zeros(n)
    chosen[order[hit]] = 1.0
    return chosen
