"""Sets of matrices: density matrices, and balls of the nuclear and the spectral norm."""

from functools import partial

import cvxpy as cp
import numpy as np

from decision_sets.arguments import positive, whole
from decision_sets.named import named
from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet


@named("3")
def spectrahedron(k: int) -> DecisionSet:
    """The spectrahedron {X symmetric, X >= 0, trace(X) = 1}: density matrices of order k, the hull of v v', ‖v‖ = 1.

    Example:
        >>> import decision_sets
        >>> X = decision_sets.spectrahedron(2)  # density matrices
        >>> X.argmin([[1, 0], [0, 2]]).round(6).tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """
    k = whole(k, "k", at_least=2)
    X = cp.Variable((k, k), symmetric=True)
    constraints = [X >> 0, cp.trace(X) == 1]
    return DecisionSet(X, constraints, oracle=lowest_state, vertex_sampler=draw_state, name=f"spectrahedron({k})")


@named("2,3")
def nuclear_ball(m: int, n: int, radius: float = 1.0) -> DecisionSet:
    """The ball {sum of the singular values of X <= radius} of m x n matrices: the hull of radius u v'.

    Example:
        >>> import decision_sets
        >>> round(decision_sets.nuclear_ball(2, 3).support([[3, 0, 0], [0, 4, 0]]), 6)
        4.0
    """
    m, n = whole(m, "m", at_least=1), whole(n, "n", at_least=1)
    radius = positive(radius, "radius")
    X = cp.Variable((m, n))
    return DecisionSet(
        X,
        [cp.normNuc(X) <= radius],
        oracle=partial(lowest_rank_one, radius),
        vertex_sampler=partial(draw_rank_one, radius),
        name=f"nuclear_ball({m}, {n})",
    )


@named("2,3")
def spectral_ball(m: int, n: int, radius: float = 1.0) -> DecisionSet:
    """The ball {largest singular value of X <= radius} of m x n matrices.

    Example:
        >>> import decision_sets
        >>> round(decision_sets.spectral_ball(2, 3).support([[3, 0, 0], [0, 4, 0]]), 6)
        7.0
    """
    m, n = whole(m, "m", at_least=1), whole(n, "n", at_least=1)
    radius = positive(radius, "radius")
    X = cp.Variable((m, n))
    return DecisionSet(
        X,
        [cp.sigma_max(X) <= radius],
        oracle=partial(lowest_isometry, radius),
        vertex_sampler=partial(draw_isometry, radius),
        name=f"spectral_ball({m}, {n})",
    )


def lowest_state(C: Array) -> Array:
    """Return the minimiser v v' of <C, X> over the spectrahedron: v is an eigenvector of the least eigenvalue of C."""
    v = np.linalg.eigh((C + C.T) / 2).eigenvectors[:, 0]
    return np.outer(v, v)


def draw_state(point: Array, rng: np.random.Generator) -> Array:
    """Draw a matrix v v' whose mean is ``point``: v is an eigenvector, its eigenvalue the probability."""
    weights, states = np.linalg.eigh((point + point.T) / 2)
    weights = np.maximum(weights, 0.0)
    v = states[:, rng.choice(weights.size, p=weights / weights.sum())]
    return np.outer(v, v)


def lowest_rank_one(radius: float, C: Array) -> Array:
    """Return the minimiser of <C, X> over the nuclear ball: -radius u v' for the first singular vectors of C."""
    U, _, Vt = np.linalg.svd(C, full_matrices=False)
    return -radius * np.outer(U[:, 0], Vt[0])


def draw_rank_one(radius: float, point: Array, rng: np.random.Generator) -> Array:
    """Draw a matrix ±radius u v' whose mean is ``point``: singular values as shares, opposite signs for the rest."""
    U, sigma, Vt = np.linalg.svd(point / radius, full_matrices=False)
    rest = max(0.0, 1.0 - float(sigma.sum())) / (2 * sigma.size)
    shares = np.concatenate([sigma + rest, np.full(sigma.size, rest)])
    chosen = int(rng.choice(shares.size, p=shares / shares.sum()))
    i, sign = chosen % sigma.size, 1.0 if chosen < sigma.size else -1.0
    return sign * radius * np.outer(U[:, i], Vt[i])


def lowest_isometry(radius: float, C: Array) -> Array:
    """Return the minimiser of <C, X> over the spectral ball: -radius U V' for the singular vectors of C."""
    U, _, Vt = np.linalg.svd(C, full_matrices=False)
    isometry: Array = -radius * (U @ Vt)
    return isometry


def draw_isometry(radius: float, point: Array, rng: np.random.Generator) -> Array:
    """Draw a matrix radius U diag(±1) V' whose mean is ``point``: the signs have the singular values as means."""
    U, sigma, Vt = np.linalg.svd(point / radius, full_matrices=False)
    signs = np.where(2 * rng.uniform(size=sigma.size) < 1 + sigma, 1.0, -1.0)
    isometry: Array = radius * (U * signs) @ Vt
    return isometry
