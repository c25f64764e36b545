"""Extreme points, by the oracles alone: vertices of X, losses that favour one of them, random extreme losses of Y."""

from collections.abc import Callable
from functools import partial

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet, LossSet

LISTED = 128  # extreme losses that stand for all of them where each costs a call of a solver


def check_shapes(X: DecisionSet, Y: LossSet) -> None:
    """Refuse losses and decisions of different shapes."""
    if X.shape != Y.shape:
        raise ValueError(f"The decisions have shape {X.shape}, but the losses have shape {Y.shape}.")


def random_vertex(X: DecisionSet, rng: np.random.Generator) -> Array:
    """The minimiser of a random linear function over X: a vertex where X is a polytope."""
    return X.argmin(rng.standard_normal(X.shape))


def opposite_vertex(X: DecisionSet, vertex: Array) -> Array:
    """The point of X that is farthest behind the center, seen from a vertex."""
    return X.argmin(vertex - X.center)


def favouring(X: DecisionSet, Y: LossSet, vertex: Array) -> Array:
    """The loss of Y under which a vertex is better than the center of X by as much as possible."""
    return Y.argmin(vertex - X.center)


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
    if Y.box is not None and Y.dim == Y.size:
        lower, upper = (Y.unflatten(end) for end in Y.box)
        return partial(_corners, lower, upper)
    radius, q = Y.centered_ball or (0.0, 0.0)
    if q == 2:
        return partial(_sphere, Y.shape, radius)
    if q == 1:
        return partial(cross_polytope, Y.shape, radius)
    covectors = rng.standard_normal((LISTED // 2, *Y.shape))
    listed = np.concatenate([Y.argmin(covectors), Y.argmin(-covectors)])
    return partial(_any_of, listed)


def _corners(lower: Array, upper: Array, rng: np.random.Generator, count: int) -> Array:
    return np.where(rng.random((count, *lower.shape)) < 0.5, lower, upper)


def _sphere(shape: tuple[int, ...], radius: float, rng: np.random.Generator, count: int) -> Array:
    directions = rng.standard_normal((count, *shape))
    flat = directions.reshape(count, -1)
    flat *= radius / np.linalg.norm(flat, axis=1, keepdims=True)
    return directions


def cross_polytope(shape: tuple[int, ...], radius: float, rng: np.random.Generator, count: int) -> Array:
    """Vertices +-radius e_i, i uniform."""
    vertices = np.zeros((count, *shape))
    flat = vertices.reshape(count, -1)
    signs = np.where(rng.random(count) < 0.5, -radius, radius)
    flat[np.arange(count), rng.integers(flat.shape[1], size=count)] = signs
    return vertices


def _any_of(listed: Array, rng: np.random.Generator, count: int) -> Array:
    return np.asarray(listed[rng.integers(len(listed), size=count)])
