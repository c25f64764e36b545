"""argmin of <c, x> + sum x log x over boxes and capped simplices."""

import numpy as np

from dpcvx.arrays import Array

_EXCESS = 1e-12  # relative error of a sum
_ROUNDS = 100  # of the search for a price; each halves the bracket at least


def clipped_exponentials(lower: Array, upper: Array, total: float | None, c: Array) -> Array:
    """argmin over { lower <= x <= upper, sum x = total }: x = clip(exp(-c - mu), lower, upper).

    The sum falls in mu. Newton's method on its logarithm, kept in a bracket, finds mu; a box needs none: mu = 1.
    """
    if total is None:
        return np.asarray(np.clip(np.exp(np.minimum(-1 - c, 700.0)), lower, upper))
    room = (total - float(lower.sum())) / c.shape[-1]
    low = (-c - np.log(upper)).min(axis=-1, keepdims=True) - 1.0  # all entries at their upper ends
    high = (-c - np.log(lower + room)).max(axis=-1, keepdims=True) + 1.0  # none above lower + room: too small a sum
    mu = (low + high) / 2
    x = np.empty_like(c)
    for _ in range(_ROUNDS):
        free = np.exp(np.minimum(-c - mu, 700.0))
        x = np.clip(free, lower, upper)
        excess = x.sum(axis=-1, keepdims=True) - total
        if np.abs(excess).max() <= _EXCESS * total:
            break
        low, high = np.where(excess > 0, mu, low), np.where(excess > 0, high, mu)
        moving = np.where((free > lower) & (free < upper), free, 0.0).sum(axis=-1, keepdims=True)
        # the free entries must sum to what the others leave
        with np.errstate(over="ignore"):
            share = (moving - excess) / np.where(moving > 0, moving, 1.0)
        newton = mu - np.log(np.where((moving > 0) & (share > 0), share, 1.0))
        inside = (moving > 0) & (share > 0) & (newton > low) & (newton < high)
        mu = np.where(inside, newton, (low + high) / 2)
    return x
