"""Boxes: every coordinate in its own interval."""

from functools import partial

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from decision_sets.arguments import positive, real_array, require_finite, whole
from decision_sets.named import named
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets import DecisionSet


def box(lower: ArrayLike, upper: ArrayLike) -> DecisionSet:
    """The box {lower <= x <= upper}; the bounds have the shape of x, or one of them is a number.

    Example:
        >>> import decision_sets
        >>> decision_sets.box([0, 0], [1, 2]).project([3, -1]).tolist()
        [1.0, 0.0]
    """
    low, high = real_array(lower, "lower"), real_array(upper, "upper")
    require_finite(low, "lower")
    require_finite(high, "upper")
    if low.shape != high.shape and low.ndim and high.ndim:
        raise ArgumentError(f"lower and upper must have one shape, but {low.shape} and {high.shape} came.")
    low, high = np.broadcast_arrays(low, high)
    if np.any(low >= high):
        position = tuple(int(i) for i in np.argwhere(low >= high)[0])
        raise ArgumentError(
            f"lower must be less than upper, but at entry {position} "
            f"lower is {low[position]} and upper is {high[position]}."
        )
    x = cp.Variable(low.shape)
    name = f"box({' x '.join(map(str, low.shape))})"
    return DecisionSet(x, [x >= low, x <= high], vertex_sampler=partial(draw_corner, low, high), name=name)


@named("5", losses="ball:1")
def cube(n: int, radius: float = 1.0) -> DecisionSet:
    """The cube {-radius <= x <= radius} in R^n.

    Example:
        >>> import decision_sets
        >>> X = decision_sets.cube(3)
        >>> X.nu, X.support([1, -2, 3])
        (3.0, 6.0)
    """
    n, radius = whole(n, "n", at_least=1), positive(radius, "radius")
    return box(np.full(n, -radius), np.full(n, radius))


def draw_corner(low: Array, high: Array, point: Array, rng: np.random.Generator) -> Array:
    """Draw a corner of the box [low, high] whose mean is ``point``, coordinates independent."""
    return np.where(rng.uniform(size=low.shape) * (high - low) < point - low, high, low)
