"""Exponential weights of finitely many things, and draws by probabilities: what families and learners compute with."""

from functools import cache

import numpy as np

from dpcvx.arrays import Array

_FEW = 32  # probabilities that are summed up by a matrix


def softmin(scores: Array, total: float = 1.0) -> Array:
    """Numbers proportional to exp(-scores) with that sum along the last axis."""
    weights = np.exp(np.minimum.reduce(scores, axis=-1, keepdims=True) - scores)
    return np.asarray(weights * (total / (weights @ ones(scores.shape[-1])[:, None])))


def drawn(p: Array, rng: np.random.Generator) -> Array:
    """One index for each row of probabilities (..., k)."""
    ends = p @ _triangle(p.shape[-1]) if p.shape[-1] <= _FEW else p.cumsum(axis=-1)
    mark = rng.random((*p.shape[:-1], 1)) * ends[..., -1:]  # always below the last end
    return np.asarray((ends > mark).argmax(axis=-1))


@cache
def ones(size: int) -> Array:
    """By which a matrix product sums up rows, faster than `sum` where they are short; read-only."""
    vector = np.ones(size)
    vector.flags.writeable = False
    return vector


@cache
def _triangle(size: int) -> Array:
    """The matrix that makes sums of rows cumulative, faster than one by one where it is small."""
    return np.triu(np.ones((size, size)))
