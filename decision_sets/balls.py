"""Balls of the p-norms, and ellipsoids."""

from functools import partial

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from decision_sets.arguments import center_of, finite_array, positive, whole
from decision_sets.boxes import draw_corner
from decision_sets.named import named
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets import DecisionSet


@named("5", losses="ball:2")
def norm_ball(n: int, p: float = 2, radius: float = 1.0, center: ArrayLike | None = None) -> DecisionSet:
    """The ball {‖x - center‖_p <= radius} in R^n, for any p from 1 to infinity.

    Example:
        >>> import decision_sets
        >>> decision_sets.norm_ball(2).project([3, 4]).round(6).tolist()
        [0.6, 0.8]
        >>> round(decision_sets.norm_ball(2, p=1).support([3, 4]), 6)
        4.0
    """
    n, radius = whole(n, "n", at_least=1), positive(radius, "radius")
    middle = center_of(n, center)
    if isinstance(p, bool) or not isinstance(p, int | float | np.integer | np.floating) or not p >= 1:
        raise ArgumentError(f"p must be a number of at least 1, or infinity, but {p!r} came.")
    x = cp.Variable(n)
    name = f"norm_ball({n}, p={p:g})"
    if p == 1:
        return DecisionSet(
            x,
            [cp.norm1(x - middle) <= radius],
            oracle=partial(cheapest_tip, middle, radius),
            vertex_sampler=partial(draw_tip, middle, radius),
            name=name,
        )
    if p == 2:
        return DecisionSet(x, [cp.norm2(x - middle) <= radius], name=name)
    if np.isinf(p):
        corners = partial(draw_corner, middle - radius, middle + radius)
        return DecisionSet(x, [cp.norm_inf(x - middle) <= radius], vertex_sampler=corners, name=name)
    # approx=False: one power cone for each coordinate instead of towers of second-order cones.
    constraints = [cp.pnorm(x - middle, p, approx=False) <= radius]
    return DecisionSet(x, constraints, oracle=partial(lowest_in_power_ball, p, middle, radius), name=name)


def ellipsoid(shape_matrix: ArrayLike, center: ArrayLike | None = None) -> DecisionSet:
    """The ellipsoid {(x - center)' Q^-1 (x - center) <= 1}, Q = ``shape_matrix`` symmetric positive definite.

    Example:
        >>> import decision_sets
        >>> round(decision_sets.ellipsoid([[4, 0], [0, 1]]).support([1, 0]), 6)
        2.0
    """
    Q = finite_array(shape_matrix, "shape_matrix", ndim=2)
    n = Q.shape[0]
    if Q.shape != (n, n) or not np.allclose(Q, Q.T, rtol=1e-10, atol=1e-12 * np.abs(Q).max()):
        raise ArgumentError(f"shape_matrix must be square and symmetric, but the one of shape {Q.shape} is not.")
    axes, directions = np.linalg.eigh((Q + Q.T) / 2)
    if axes[0] <= 0:
        raise ArgumentError(f"shape_matrix must be positive definite, but it has the eigenvalue {axes[0]:.3g}.")
    middle = center_of(n, center)
    x = cp.Variable(n)
    half_inverse = (directions / np.sqrt(axes)).T
    constraints = [cp.norm2(half_inverse @ (x - middle)) <= 1]
    return DecisionSet(x, constraints, oracle=partial(lowest_in_ellipsoid, Q, middle), name=f"ellipsoid({n})")


def cheapest_tip(center: Array, radius: float, c: Array) -> Array:
    """Return the minimiser of <c, x> over the 1-norm ball: the tip against the largest coefficient."""
    tip = center.copy()
    i = int(np.argmax(np.abs(c)))
    tip[i] -= radius if c[i] >= 0 else -radius
    return tip


def draw_tip(center: Array, radius: float, point: Array, rng: np.random.Generator) -> Array:
    """Draw a tip of the 1-norm ball whose mean is ``point``: each coordinate's share, opposite tips for the rest."""
    offset = (point - center) / radius
    rest = max(0.0, 1.0 - float(np.abs(offset).sum())) / (2 * offset.size)
    shares = np.concatenate([np.maximum(offset, 0.0), np.maximum(-offset, 0.0)]) + rest
    chosen = int(rng.choice(shares.size, p=shares / shares.sum()))
    tip = center.copy()
    tip[chosen % offset.size] += radius if chosen < offset.size else -radius
    return tip


def lowest_in_power_ball(p: float, center: Array, radius: float, c: Array) -> Array:
    """Return the minimiser of <c, x> over the p-norm ball, 1 < p < infinity, where Hölder's inequality is tight."""
    largest = np.abs(c).max()
    if largest == 0:
        return center.copy()
    magnitude = (np.abs(c) / largest) ** (1 / (p - 1))
    point: Array = center - radius * np.sign(c) * magnitude / np.sum(magnitude**p) ** (1 / p)
    return point


def lowest_in_ellipsoid(Q: Array, center: Array, c: Array) -> Array:
    """Return the minimiser center - Q c / sqrt(c' Q c) of <c, x> over the ellipsoid."""
    step = Q @ c
    length = np.sqrt(c @ step)
    return center - step / length if length > 0 else center.copy()
