"""Balls that are recognised by the atom of their norm, behind whatever auxiliary variables cvxpy introduces."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np
from cvxpy.constraints.nonpos import Inequality

from dpcvx.arrays import Array
from dpcvx.sets.conic.declaration import Declaration


def declared_ball(
    declaration: Declaration, order: Callable[[cp.Expression], float | None]
) -> tuple[Array, float, float] | None:
    """(center, radius, q) where the one thing said of x is |a x + b| <= r with a number a, otherwise None.

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


def _probe(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(0).uniform(1, 2, shape)


def _value(expression: cp.Expression, x: cp.Variable, point: Array) -> Array:
    kept = x.value
    x.save_value(point)
    try:
        return np.asarray(expression.value, dtype=float)
    finally:
        x.save_value(kept)


def around(center: Array, x: Array, half: Array) -> tuple[Array, Array]:
    """The interval of half-width `half` around <center, x>, rounded outward."""
    middle = x @ center
    slip = 1e-15 * x.shape[-1] * (np.abs(x) @ np.abs(center))
    return middle - half - slip, middle + half + slip
