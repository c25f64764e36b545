"""Polytopes, from their inequalities or from their vertices."""

from functools import partial

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from decision_sets.arguments import finite_array, real_array
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets import DecisionSet


def polytope(A: ArrayLike, b: ArrayLike, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> DecisionSet:
    """The polytope {A x <= b, lower <= x <= upper}; each bound is a number, a vector, or absent.

    ``A`` has shape (rows, n) and ``b`` length rows. A bound may be infinite in some coordinates, as long as the set
    as a whole is bounded.

    Example:
        >>> import decision_sets
        >>> X = decision_sets.polytope([[1, 1]], [1], lower=0)  # x >= 0, x_1 + x_2 <= 1
        >>> len(X.vertices())
        3
    """
    rows, limits = finite_array(A, "A", ndim=2), finite_array(b, "b", ndim=1)
    n = rows.shape[1]
    if limits.size != rows.shape[0]:
        raise ArgumentError(f"b must have one entry for each of the {rows.shape[0]} rows of A, but {limits.size} came.")
    x = cp.Variable(n)
    constraints = [rows @ x <= limits]
    for name, bound, sign in (("lower", lower, 1.0), ("upper", upper, -1.0)):
        if bound is None:
            continue
        values = real_array(bound, name)
        if values.shape not in ((), (n,)):
            raise ArgumentError(
                f"{name} must be a number or have length {n}, but an array of shape {values.shape} came."
            )
        values = np.broadcast_to(values, (n,))
        active = np.flatnonzero(np.isfinite(values))
        if active.size:
            constraints.append(sign * x[active] >= sign * values[active])
    return DecisionSet(x, constraints, name=f"polytope({rows.shape[0]} rows, {n} variables)")


def convex_hull(points: ArrayLike) -> DecisionSet:
    """The convex hull {sum_i w_i p_i : w >= 0, sum(w) = 1} of the rows p_i of ``points``, shape (count, n).

    Example:
        >>> import decision_sets
        >>> X = decision_sets.convex_hull([[0, 0], [2, 0], [0, 1]])
        >>> X.argmin([-1, 0]).tolist(), X.contains([1, 0.4])
        ([2.0, 0.0], True)
    """
    P = finite_array(points, "points", ndim=2)
    count, n = P.shape
    if np.all(P == P[0]):
        raise ArgumentError(f"points must hold at least two different rows, but all {count} are the same.")
    x, w = cp.Variable(n), cp.Variable(count, nonneg=True)
    constraints = [x == P.T @ w, cp.sum(w) == 1]
    oracle = partial(cheapest_row, P)
    return DecisionSet(x, constraints, oracle=oracle, name=f"convex_hull({count} points, {n} variables)")


def cheapest_row(P: Array, c: Array) -> Array:
    """Return the row p of ``P`` with the least <c, p>."""
    row: Array = P[np.argmin(P @ c)].copy()
    return row
