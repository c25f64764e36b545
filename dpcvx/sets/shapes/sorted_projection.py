"""Projections that need a sort and no solver: onto the simplex, and onto the ball of the 1-norm."""

import numpy as np

from dpcvx.arrays import Array


def onto_simplex(p: Array, total: float) -> Array:
    """The projection onto { v >= 0, sum v = total }, on leading axes."""
    p = p - p.max(axis=-1, keepdims=True)  # a constant changes nothing, and far points keep their digits
    down = np.sort(p, axis=-1)[..., ::-1]
    excess = (np.cumsum(down, axis=-1) - total) / np.arange(1, p.shape[-1] + 1)
    last = (down > excess).sum(axis=-1, keepdims=True) - 1
    return np.asarray(np.maximum(p - np.take_along_axis(excess, last, -1), 0.0))


def onto_one_norm_ball(p: Array, radius: float) -> Array:
    """The projection onto { |v|_1 <= radius }, on leading axes: that of |p| onto the simplex, where p is outside."""
    sizes = np.abs(p)
    outside = sizes.sum(axis=-1, keepdims=True) > radius
    return np.where(outside, np.copysign(onto_simplex(sizes, radius), p), p)


def onto_weighted_ball(p: Array, axes: Array) -> Array:
    """The projection onto { sum |v_i|/axes_i <= 1 }, on leading axes: every entry loses mu/axes_i, as far as it has it.

    Entries are taken by |p_i| axes_i, the mu at which they vanish.
    """
    sizes = np.abs(p)
    outside = (sizes / axes).sum(axis=-1, keepdims=True) > 1
    order = np.argsort(-sizes * axes, axis=-1, kind="stable")
    ends = np.take_along_axis(sizes * axes, order, -1)
    weights = (1 / axes)[order]
    shares = np.cumsum(weights * weights, axis=-1)
    mu = (np.cumsum(np.take_along_axis(sizes, order, -1) * weights, axis=-1) - 1) / shares
    last = np.maximum((ends > mu).sum(axis=-1, keepdims=True) - 1, 0)
    kept = np.maximum(sizes - np.take_along_axis(mu, last, -1) / axes, 0.0)
    return np.where(outside, np.copysign(kept, p), p)
