"""Simplices: probability vectors, and the k-sets of n things."""

import cvxpy as cp
import numpy as np

from decision_sets.arguments import Array, positive_number, whole_number
from dpcvx import DecisionSet


def simplex(n: int, scale: float = 1.0) -> DecisionSet:
    """The simplex {x >= 0, sum(x) = scale} in R^n: distributions over n arms, times ``scale``."""
    n, scale = whole_number("n", n, at_least=2), positive_number("scale", scale)
    x = cp.Variable(n, nonneg=True)

    def draw_corner(point: Array, rng: np.random.Generator) -> Array:
        weights = np.maximum(point, 0.0)
        corner = np.zeros(n)
        corner[rng.choice(n, p=weights / weights.sum())] = scale
        return corner

    return DecisionSet(x, [cp.sum(x) == scale], vertex_sampler=draw_corner, name=f"simplex({n})")


def capped_simplex(n: int, k: int) -> DecisionSet:
    """The capped simplex {0 <= x <= 1, sum(x) = k} in R^n: its vertices are the k-element subsets of n things."""
    n = whole_number("n", n, at_least=2)
    k = whole_number("k", k, at_least=1, at_most=n - 1)
    x = cp.Variable(n)

    def cheapest_subset(c: Array) -> Array:
        subset = np.zeros(n)
        subset[np.argpartition(c, k - 1)[:k]] = 1.0
        return subset

    def draw_subset(point: Array, rng: np.random.Generator) -> Array:
        return systematic_sample(point, k, rng)

    return DecisionSet(
        x,
        [x >= 0, x <= 1, cp.sum(x) == k],
        oracle=cheapest_subset,
        vertex_sampler=draw_subset,
        name=f"capped_simplex({n}, {k})",
    )


def systematic_sample(probabilities: Array, k: int, rng: np.random.Generator) -> Array:
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
