"""Extreme points, by the oracles alone: vertices of X, losses that favour one of them, random extreme losses of Y."""

from collections.abc import Callable
from functools import partial

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.pairing import Pairing

LISTED = 128  # extreme losses that stand for all of them where each costs a call of a solver


def check_shapes(X: DecisionSet, Y: LossSet) -> None:
    """Refuse losses and decisions whose shapes do not go together."""
    Pairing(X, Y.shape)


def random_vertex(X: DecisionSet, rng: np.random.Generator) -> Array:
    """The minimiser of a random linear function over X: a vertex where X is a polytope."""
    return X.argmin(rng.standard_normal(X.shape))


def opposite_vertex(X: DecisionSet, vertex: Array) -> Array:
    """The point of X that is farthest behind the center, seen from a vertex."""
    return X.argmin(vertex - X.center)


def favouring(X: DecisionSet, Y: LossSet, vertex: Array) -> Array:
    """The loss of Y under which a vertex is better than the center of X by as much as possible."""
    return Y.argmin(Pairing(X, Y.shape).usage(vertex - X.center))


def ends(Y: LossSet, rng: np.random.Generator) -> Array:
    """Two losses at the ends of Y in a random direction with as many entries -1 as 1: (2, *shape)."""
    signs = np.where(rng.permutation(Y.size) < Y.size // 2, -1.0, 1.0)
    direction = Y.unflatten(signs)
    return np.stack([Y.argmin(direction), Y.argmin(-direction)])


def extreme_losses(Y: LossSet, rng: np.random.Generator) -> Callable[[np.random.Generator, int], Array]:
    """A sampler (rng, count) -> (count, *shape) of independent random extreme losses.

    Corners of a box, points of a sphere, vertices of a cross-polytope; elsewhere one of `LISTED` minimisers of linear
    functions over Y, drawn once and in opposite pairs, so that a symmetric Y gives losses of mean zero.
    """
    if Y.recognised.extremes(np.random.default_rng(0), 1) is not None:
        return partial(known_extremes, Y)
    covectors = rng.standard_normal((LISTED // 2, *Y.shape))
    listed = np.concatenate([Y.argmin(covectors), Y.argmin(-covectors)])
    return partial(_any_of, listed)


def known_extremes(Y: LossSet, rng: np.random.Generator, count: int) -> Array:
    """Random extreme losses of a set that has a formula for them."""
    found = Y.recognised.extremes(rng, count)
    assert found is not None
    return Y.unflatten(found)


def _any_of(listed: Array, rng: np.random.Generator, count: int) -> Array:
    return np.asarray(listed[rng.integers(len(listed), size=count)])
