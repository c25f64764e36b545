"""Shapes that are recognised behind auxiliary variables: norm balls by their atom, hulls of points by their weights."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np
from cvxpy.constraints.nonpos import Inequality

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.declaration import Declaration

_MATRIX_NORMS = {"normNuc": 1.0, "sigma_max": np.inf}


def norm_ball(declaration: Declaration) -> tuple[Array, float, float] | None:
    """(center, radius, q) where the one thing said of x is |a x + b|_q <= r with a number a, otherwise None."""
    return _ball(declaration, _order)


def matrix_norm_ball(declaration: Declaration) -> tuple[Array, float, float] | None:
    """The same for the q-norm of the singular values: q = 1 is the nuclear norm, q = infinity the spectral norm."""
    return _ball(declaration, lambda atom: _MATRIX_NORMS.get(type(atom).__name__))


def _ball(
    declaration: Declaration, order: Callable[[cp.Expression], float | None]
) -> tuple[Array, float, float] | None:
    x = declaration.variable
    if len(declaration.constraints) != 1 or declaration.attribute_constraints or declaration.has_user_auxiliaries:
        return None
    constraint = declaration.constraints[0]
    if any(x.attributes[key] for key in ("symmetric", "diag", "PSD", "NSD")) or x.attributes["sparsity"]:
        return None
    if not isinstance(constraint, Inequality) or not constraint.args[1].is_constant():
        return None
    atom, limit = constraint.args
    q = order(atom)
    if q is None or not atom.args[0].is_affine() or atom.args[0].size != x.size or np.size(limit.value) != 1:
        return None
    if getattr(atom, "axis", None) is not None:
        return None
    origin, probe = (_value(atom.args[0], x, point) for point in (np.zeros(x.shape), _probe(x.shape)))
    moved = (probe - origin).ravel(order="F")
    factor = moved / _probe(x.shape).ravel(order="F")
    if factor[0] == 0 or np.ptp(factor) > 1e-12 * abs(factor[0]):
        return None
    return -origin.ravel(order="F") / factor[0], float(np.ravel(limit.value)[0]) / abs(float(factor[0])), q


def _order(atom: cp.Expression) -> float | None:
    kind = type(atom).__name__
    if kind == "norm1":
        return 1.0
    if kind == "norm_inf":
        return np.inf
    if kind in ("Pnorm", "PnormApprox") and atom.p >= 1:
        return float(atom.p) if float(atom.p).is_integer() or kind == "Pnorm" else None
    return None


def _probe(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(0).uniform(1, 2, shape)


def _value(expression: cp.Expression, x: cp.Variable, point: Array) -> Array:
    kept = x.value
    x.save_value(point)
    try:
        return np.asarray(expression.value, dtype=float)
    finally:
        x.save_value(kept)


def hull_points(conic: ConicSet) -> Array | None:
    """The points of a hull declared as x = sum w_i p_i, w >= 0, sum w_i = 1, one a row; None for any other set.

    All rows must be w_j >= 0 on the auxiliary columns, the equalities must determine x from w and fix one positive
    sum of w.
    """
    weights = np.flatnonzero(conic.auxiliary)
    others = np.flatnonzero(~conic.auxiliary)
    single = np.diff(conic.A.indptr) == 1
    if not len(weights) or not conic.is_polyhedral or not single.all() or conic.columns > 2000:
        return None
    if not np.array_equal(np.sort(conic.A.indices), weights) or np.any(conic.A.data >= 0) or conic.b.any():
        return None
    E, e = conic.E.toarray(), conic.e
    Q, R = np.linalg.qr(E[:, others], mode="complete")
    k = len(others)
    if E.shape[0] != k + 1 or (k and np.abs(np.diagonal(R)).min() < 1e-4 * np.abs(R).max()):
        return None
    total, value = Q[:, k] @ E[:, weights], float(Q[:, k] @ e)
    if np.any(total * value <= 1e-12 * np.abs(total).max() * abs(value)):
        return None
    columns = np.zeros((conic.columns, len(weights)))
    columns[weights, np.arange(len(weights))] = value / total  # all weight on one point
    right = e[:, None] - E[:, weights] @ columns[weights]
    columns[others] = np.linalg.lstsq(E[:, others], right, rcond=None)[0]
    return conic.point(columns.T)
