"""Many minimisers of <g, z> + F(z) over one polytope at once, F its barrier, by a primal-dual method.

With s = s0 - G z and multipliers l > 0 of the rows the minimiser solves

    g + G'l = 0,    s_i l_i = 1,

and the method solves s_i l_i = mu for mu that falls to 1. Its steps are Mehrotra's: where the full step to mu = 0 leads
tells how far mu can fall now, and corrects for the curvature of s l. From the analytic center z = 0, where G'(1/s) = 0,
it takes about ten steps however large g is; Newton's method on F alone takes several for each digit of g.
"""

import numpy as np
from scipy.linalg import blas, lapack

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts import SparseChart

_ITERATIONS = 30
_SHARE = 0.99  # of the way to the boundary that a step may take
_CLOSE = 0.1  # distance of the products s l from 1 at which Newton's method on F is as fast


def approach(G: Array, s0: Array, g: Array) -> Array:
    """Points z (r, k), strictly inside, close to the minimisers of <g, z> + F(z) for covectors g (r, k)."""
    r, m = len(g), len(s0)
    columns = np.asfortranarray(G.T)
    size = np.maximum(np.sqrt((g * g).sum(axis=1, keepdims=True)), 1.0)
    z, both, step = np.zeros(g.shape), np.empty((r, 2 * m)), np.empty((r, 2 * m))
    s, loads, ds, dl = both[:, :m], both[:, m:], step[:, :m], step[:, m:]
    s[:] = s0
    loads[:] = size / s0
    for _ in range(_ITERATIONS):
        products = s * loads
        left = np.maximum.reduce(np.abs(g + loads.dot(G)), axis=1, keepdims=True)
        off = np.maximum.reduce(np.abs(products - 1), axis=1, keepdims=True)
        going = (left > 1e-6 * size) | (off > _CLOSE)
        if not going.any():
            break
        inverse = 1 / s
        weights = loads * inverse
        factors = [_factor(columns, w) for w in np.sqrt(weights)]
        ds[:] = _solved(factors, g).dot(columns)
        dl[:] = -loads - weights * ds
        reach = _longest(both, step)
        average = np.add.reduce(products, axis=1, keepdims=True) / m
        ahead = np.add.reduce((s + reach * ds) * (loads + reach * dl), axis=1, keepdims=True) / m
        target = np.maximum(average * np.minimum(np.maximum(ahead / average, 0.0), 1.0) ** 3, 1.0)
        fall = np.maximum(1 - target / average, 0.0)
        pull = (target - fall * fall * ds * dl) * inverse
        dz = -_solved(factors, g + pull.dot(G))
        ds[:] = -dz.dot(columns)
        dl[:] = pull - loads - weights * ds
        length = going * np.minimum(1.0, _SHARE * _longest(both, step))
        moved, before = z + length * dz, z
        both += length * step
        s[:] = s0 - moved.dot(columns)
        z = moved
        if not (s > 0).all():
            return before  # rounding is all that is left
    return z


def approach_sparse(chart: SparseChart, g: Array) -> tuple[Array, Array]:
    """z and the multipliers l for one covector g on a sparse chart, s_i l_i = w_i with its weights w.

    There the first equation holds up to a covector that vanishes on the tangent space. What it misses falls with every
    step by the share of the way that is left, so it need not be looked at.
    """
    weights, s0 = chart.structure.weights, chart.s0
    total = float(weights.sum())
    size = max(float(np.linalg.norm(chart.tangential(g))), 1.0)
    z, s, loads, left = np.zeros(len(g)), s0.copy(), size * weights / s0, 1.0
    for _ in range(2 * _ITERATIONS):
        products = s * loads
        if left <= 1e-6 and np.abs(products / weights - 1).max() <= _CLOSE:
            break
        factor = chart.curved(z, loads / s)
        ds = chart.slack_step(-factor.solve(g))
        dl = -loads - loads / s * ds
        reach = _step(s, ds, loads, dl)
        average = float(products.sum()) / total
        ahead = float((s + reach * ds) @ (loads + reach * dl)) / total
        target = max(average * min(max(ahead / average, 0.0), 1.0) ** 3, 1.0)
        fall = max(1 - target / average, 0.0)
        pull = (target * weights - fall * fall * ds * dl) / s
        dz = -factor.solve(g + chart.gradient_of(-pull))
        ds = chart.slack_step(dz)
        dl = pull - loads - loads / s * ds
        length = min(1.0, _SHARE * _step(s, ds, loads, dl))
        moved = z + length * dz
        slack = chart.slack(moved)
        if not (slack > 0).all():
            break  # rounding is all that is left
        z, s, loads, left = moved, slack, loads + length * dl, left * (1 - length)
    return z, loads


def _step(s: Array, ds: Array, loads: Array, dl: Array) -> float:
    """How far both may go until an entry is zero; at most 10."""
    return -1 / min(float((ds / s).min()), float((dl / loads).min()), -0.1)


def _factor(columns: Array, roots: Array) -> Array:
    H = blas.dsyrk(1.0, columns * roots, lower=1)
    L, failed = lapack.dpotrf(H, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the weights of the rows are too far apart")
    return np.asarray(L)


def _solved(factors: list[Array], right: Array) -> Array:
    return np.array([lapack.dpotrs(L, b, lower=1)[0] for L, b in zip(factors, right, strict=True)])


def _longest(at: Array, step: Array) -> Array:
    """How far each row of `at`, positive, may go along `step` until an entry is zero; at most 10."""
    return np.asarray(-1 / np.minimum(np.minimum.reduce(step / at, axis=1, keepdims=True), -0.1))
