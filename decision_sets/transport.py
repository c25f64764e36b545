"""Transport plans between two distributions."""

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from decision_sets.arguments import finite_array
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets import DecisionSet


def transport_polytope(row_sums: ArrayLike, column_sums: ArrayLike) -> DecisionSet:
    """The transport polytope {X >= 0, X 1 = row_sums, X' 1 = column_sums}.

    The sums are positive, and both sides have the same total.

    Example:
        >>> import decision_sets
        >>> X = decision_sets.transport_polytope([1, 2], [2, 1])
        >>> X.dim, abs(X.argmin([[0, 1], [1, 0]])).round(6).tolist()
        (1, [[1.0, 0.0], [1.0, 1.0]])
    """
    rows, columns = _positive_sums(row_sums, "row_sums"), _positive_sums(column_sums, "column_sums")
    if not np.isclose(rows.sum(), columns.sum(), rtol=1e-9, atol=0.0):
        raise ArgumentError(
            f"row_sums and column_sums must have the same total, but they sum to {rows.sum()} and {columns.sum()}."
        )
    columns = columns * (rows.sum() / columns.sum())
    X = cp.Variable((rows.size, columns.size), nonneg=True)
    constraints = [cp.sum(X, axis=1) == rows, cp.sum(X, axis=0) == columns]
    return DecisionSet(X, constraints, name=f"transport_polytope({rows.size} x {columns.size})")


def _positive_sums(value: ArrayLike, name: str) -> Array:
    sums = finite_array(value, name, ndim=1)
    if sums.size < 2:
        raise ArgumentError(f"{name} must have at least two entries, but one came: then only one plan exists.")
    if np.any(sums <= 0):
        i = int(np.argmax(sums <= 0))
        raise ArgumentError(f"{name} must be positive, but its entry {i} is {sums[i]}.")
    return sums
