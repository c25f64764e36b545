"""Balls that are recognised by the atom of their norm, behind whatever auxiliary variables cvxpy introduces."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.nonpos import Inequality
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.conic.declaration import Declaration


def declared_ball(
    declaration: Declaration, order: Callable[[cp.Expression], float | None]
) -> tuple[Array, Array, float] | None:
    """(center, axes, q) where the one thing said of x is |w * x + b| <= r, entry by entry; otherwise None.

    `axes` are the numbers r/|w_i|, how far each entry goes by itself.

    Args:
        declaration: what the user wrote.
        order: the q of a norm's atom, or None where it is no such norm.
    """
    x = declaration.variable
    if len(declaration.constraints) != 1 or declaration.attribute_constraints or declaration.has_user_auxiliaries:
        return None
    constraint = declaration.constraints[0]
    if any(x.attributes[key] for key in ("symmetric", "diag", "PSD", "NSD")) or x.attributes["sparsity"]:
        return None
    found = _unwrapped(constraint.args[0] - constraint.args[1], order) if isinstance(constraint, Inequality) else None
    if found is None or not found[0] > 0:
        return None
    factor, constant, atom = found
    q = order(atom)
    if q is None or not atom.args[0].is_affine() or atom.args[0].size != x.size:
        return None
    if getattr(atom, "axis", None) is not None:
        return None
    weights = _own_weights(atom.args[0], x)
    if weights is None:
        return None
    origin = _value(atom.args[0], x, np.zeros(x.shape)).ravel(order="F")
    return -origin / weights, -constant / factor / np.abs(weights), q


def _unwrapped(
    expression: cp.Expression, order: Callable[[cp.Expression], float | None]
) -> tuple[float, float, cp.Expression] | None:
    """(factor, constant, norm) of an expression that is factor * norm + constant, otherwise None."""
    if expression.size != 1:
        return None
    if order(expression) is not None:
        return 1.0, 0.0, expression
    kind, args = type(expression).__name__, expression.args
    moving = [arg for arg in args if not arg.is_constant()]
    if len(moving) != 1:
        return None
    inner = _unwrapped(moving[0], order)
    if inner is None:
        return None
    factor, constant, atom = inner
    others = [float(np.ravel(arg.value)[0]) for arg in args if arg is not moving[0] and arg.size == 1]
    if len(others) != len(args) - 1:
        return None
    if kind == "AddExpression":
        return factor, constant + sum(others), atom
    if kind == "NegExpression":
        return -factor, -constant, atom
    if kind in ("multiply", "MulExpression"):
        return others[0] * factor, others[0] * constant, atom
    if kind == "DivExpression" and moving[0] is args[0]:
        return factor / others[0], constant / others[0], atom
    return inner if kind in ("Promote", "Sum", "reshape") else None


def _own_weights(affine: cp.Expression, x: cp.Variable) -> Array | None:
    """w where the expression is w * x + b, entry by entry; otherwise None. Its derivative is cvxpy's own."""
    gradient = _at(x, np.zeros(x.shape), lambda: affine.grad[x])
    if gradient is None:
        return None
    J = sparse.csr_array(np.atleast_2d(gradient) if np.isscalar(gradient) else gradient)
    diagonal = J.diagonal()
    same = J.shape == (x.size, x.size) and (J - sparse.diags_array(diagonal)).count_nonzero() == 0
    return diagonal if same and np.all(diagonal != 0) else None


def _value(expression: cp.Expression, x: cp.Variable, point: Array) -> Array:
    return np.asarray(_at(x, point, lambda: expression.value), dtype=float)


def _at(x: cp.Variable, point: Array, read: Callable[[], Any]) -> Any:
    """What is read while the variable has a value, which is taken back afterwards."""
    kept = x.value
    x.save_value(point)
    try:
        return read()
    finally:
        x.save_value(kept)


def around(center: Array, x: Array, half: Array) -> tuple[Array, Array]:
    """The interval of half-width `half` around <center, x>, rounded outward."""
    middle = x @ center
    slip = 1e-15 * x.shape[-1] * (np.abs(x) @ np.abs(center))
    return middle - half - slip, middle + half + slip
