"""Balls of the p-norms, and ellipsoids."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from decision_sets.arguments import Array, center_of, finite_array, positive_number, whole_number
from decision_sets.boxes import corner_sampler
from dpcvx import DecisionSet


def norm_ball(n: int, p: float = 2, radius: float = 1.0, center: ArrayLike | None = None) -> DecisionSet:
    """The ball {‖x - center‖_p <= radius} in R^n, for any p from 1 to infinity."""
    n, radius = whole_number("n", n, at_least=1), positive_number("radius", radius)
    middle = center_of(n, center)
    if isinstance(p, bool) or not isinstance(p, int | float | np.integer | np.floating) or not p >= 1:
        raise ValueError(f"p must be a number of at least 1, or infinity, but {p!r} came.")
    x = cp.Variable(n)
    name = f"norm_ball({n}, p={p:g})"
    if p == 1:
        return DecisionSet(
            x,
            [cp.norm1(x - middle) <= radius],
            oracle=cross_polytope_oracle(middle, radius),
            vertex_sampler=cross_polytope_sampler(middle, radius),
            name=name,
        )
    if p == 2:
        return DecisionSet(x, [cp.norm2(x - middle) <= radius], name=name)
    if np.isinf(p):
        corners = corner_sampler(middle - radius, middle + radius)
        return DecisionSet(x, [cp.norm_inf(x - middle) <= radius], vertex_sampler=corners, name=name)
    # approx=False: one power cone for each coordinate instead of towers of second-order cones.
    constraints = [cp.pnorm(x - middle, p, approx=False) <= radius]
    return DecisionSet(x, constraints, oracle=power_ball_oracle(p, middle, radius), name=name)


def ellipsoid(shape_matrix: ArrayLike, center: ArrayLike | None = None) -> DecisionSet:
    """The ellipsoid {(x - center)' Q^-1 (x - center) <= 1}, Q = ``shape_matrix`` symmetric positive definite."""
    Q = finite_array("shape_matrix", shape_matrix, ndim=2)
    n = Q.shape[0]
    if Q.shape != (n, n) or not np.allclose(Q, Q.T, rtol=1e-10, atol=1e-12 * np.abs(Q).max()):
        raise ValueError(f"shape_matrix must be square and symmetric, but the one of shape {Q.shape} is not.")
    axes, directions = np.linalg.eigh((Q + Q.T) / 2)
    if axes[0] <= 0:
        raise ValueError(f"shape_matrix must be positive definite, but it has the eigenvalue {axes[0]:.3g}.")
    middle = center_of(n, center)
    x = cp.Variable(n)
    half_inverse = (directions / np.sqrt(axes)).T

    def lowest_point(c: Array) -> Array:
        step = Q @ c
        length = np.sqrt(c @ step)
        return middle - step / length if length > 0 else middle.copy()

    return DecisionSet(x, [cp.norm2(half_inverse @ (x - middle)) <= 1], oracle=lowest_point, name=f"ellipsoid({n})")


def cross_polytope_oracle(center: Array, radius: float) -> Callable[[Array], Array]:
    """Return the linear minimiser over the 1-norm ball: the corner against the largest coefficient."""

    def cheapest_corner(c: Array) -> Array:
        corner = center.copy()
        i = int(np.argmax(np.abs(c)))
        corner[i] -= radius if c[i] >= 0 else -radius
        return corner

    return cheapest_corner


def cross_polytope_sampler(center: Array, radius: float) -> Callable[[Array, np.random.Generator], Array]:
    """Return the sampler of corners of the 1-norm ball: each coordinate's share, and opposite corners for the rest."""

    def draw_corner(point: Array, rng: np.random.Generator) -> Array:
        offset = (point - center) / radius
        rest = max(0.0, 1.0 - float(np.abs(offset).sum())) / (2 * offset.size)
        shares = np.concatenate([np.maximum(offset, 0.0), np.maximum(-offset, 0.0)]) + rest
        chosen = int(rng.choice(shares.size, p=shares / shares.sum()))
        corner = center.copy()
        corner[chosen % offset.size] += radius if chosen < offset.size else -radius
        return corner

    return draw_corner


def power_ball_oracle(p: float, center: Array, radius: float) -> Callable[[Array], Array]:
    """Return the linear minimiser over the p-norm ball, 1 < p < infinity, where Hölder's inequality is an equality."""

    def lowest_point(c: Array) -> Array:
        largest = np.abs(c).max()
        if largest == 0:
            return center.copy()
        magnitude = (np.abs(c) / largest) ** (1 / (p - 1))
        point: Array = center - radius * np.sign(c) * magnitude / np.sum(magnitude**p) ** (1 / p)
        return point

    return lowest_point
