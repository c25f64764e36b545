"""Certified upper bounds of linear functions and norms over a declared set.

Take a strictly feasible z with slack s, and the Newton step dz, ds = -G dz, of -eta <c, y> + F. If its decrement is
below 1, then

    lambda = -(F'(s) + F''(s) ds)/eta

lies in the dual cone, and c - G'lambda = r is nothing but rounding. So for every point z* of the set

    <c, y*> <= <c, y> + <lambda, s> + |r| |z* - z|,

whatever Newton's method reached. The set lies in a ball around its analytic center in the coordinates of its chart
(`blow_up`), which bounds the last factor. Nothing here trusts an outside solver.
"""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import OracleError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.charts import Chart, Factor, SparseChart
from dpcvx.sets.geometry.newton import decrement, minimise_joint
from dpcvx.sets.geometry.primal_dual import approach_sparse
from dpcvx.sets.sparse_rows import entry_bounds, tighten_by_equalities

_NUDGES = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10)  # into the dual cone, in units of the set's width
_COARSE = 1e-4  # the same for large sets
_ROUNDED = 1e-15  # by which a sum of two numbers is rounded outward, of its terms
_SWEEPS = 3  # by which equalities tighten the box of a large set
_GAPS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-4, 1e-2)  # of the set's width in the direction asked for


def bound_by_multipliers(chart: Chart, nu: float, c: Array, multipliers: Array) -> float:
    """The bound of max <c, x> that nonnegative multipliers of the slacks prove, whatever solver they came from."""
    middle = float(c @ chart.x0)
    linear = chart.joint(chart.pull(c))
    missing = float(np.linalg.norm(chart.tangential(linear + chart.gradient_of(multipliers))))
    reach = blow_up(chart, nu)
    terms = np.abs(multipliers) @ np.abs(chart.s0) + np.abs(c) @ np.abs(chart.x0)
    return float(middle + multipliers @ chart.s0 + missing * reach + chart.rounding * terms)


def coarse_bound(chart: SparseChart, nu: float, c: Array) -> float:
    """A bound of max <c, x> over a large set, by the multipliers of one point near the central path."""
    linear = chart.pull(c)
    half_width = float(np.linalg.norm(chart.tangential(linear)))
    if not half_width > 1e-14 * float(np.linalg.norm(linear)):
        return float(c @ chart.x0) + half_width * blow_up(chart, nu) + 1e-14 * float(np.abs(c) @ np.abs(chart.x0))
    eta = chart.cones.nu / (_COARSE * half_width)
    return bound_by_multipliers(chart, nu, c, approach_sparse(chart, -eta * linear)[1] / eta)


def bound_by_dual(chart: Chart, nu: float, c: Array, dual: Array) -> float | None:
    """The bound of max <c, x> that a solver's dual point proves; None where it is too far outside the dual cone."""
    rise = _rise_by_dual(chart, nu, chart.joint(chart.pull(c)), dual)
    return None if rise is None else float(c @ chart.x0) + rise + 1e-14 * float(np.abs(c) @ np.abs(chart.x0))


def lifted_bound_by_dual(chart: Chart, nu: float, q: Array, dual: Array) -> float | None:
    """The same for max <q, v> over the lifted set."""
    rise = _rise_by_dual(chart, nu, chart.pull_lifted(q), dual)
    return None if rise is None else float(q @ chart.v0) + rise + 1e-14 * float(np.abs(q) @ np.abs(chart.v0))


def _rise_by_dual(chart: Chart, nu: float, linear: Array, dual: Array) -> float | None:
    """A bound of max <linear, z> over the lifted set.

    A point lambda of the dual cone proves <linear, z> <= <lambda, s0> + |r| |z|, r = linear - G'lambda. A solver's may
    be outside by its rounding, and is moved along -F'(s0), which lies inside and takes nothing from r at the center.
    """
    size = float(np.linalg.norm(chart.tangential(linear)))
    if not np.isfinite(dual).all():
        return None
    inward = -chart.cones.gradient(chart.s0)
    for share in _NUDGES:
        inside = dual + share * size * inward
        if chart.cones.dual_interior(inside):
            missing = float(np.linalg.norm(chart.tangential(linear + chart.gradient_of(inside))))
            rounding = 1e-14 * float(np.abs(inside) @ np.abs(chart.s0))
            return float(inside @ chart.s0) + missing * blow_up(chart, nu) + rounding
    return None


def upper_bound(chart: Chart, nu: float, c: Array) -> float:
    """A number that is at least max <c, x> over the set, and above it by about 1e-9 of the set's width along c."""
    rounding = 1e-14 * float(np.abs(c) @ np.abs(chart.x0))
    widths = abs(chart.P) @ np.abs(chart.column_widths())
    rise = _rise(chart, nu, chart.joint(chart.pull(c)), float(np.abs(c) @ widths))
    return float(c @ chart.x0) + rise + rounding


def lifted_bound(chart: Chart, nu: float, q: Array) -> float:
    """The same for max <q, v> over the lifted set."""
    rounding = 1e-14 * float(np.abs(q) @ np.abs(chart.v0))
    rise = _rise(chart, nu, chart.pull_lifted(q), float(np.abs(q) @ np.abs(chart.column_widths())))
    return float(q @ chart.v0) + rise + rounding


def _rise(chart: Chart, nu: float, linear: Array, terms: float) -> float:
    """A bound of max <linear, z> over the lifted set in the coordinates of the chart, whose center is z = 0.

    Where `linear` is nothing but the rounding of larger terms, the ball that holds the set is bound enough.
    """
    if not chart.size:
        return 0.0
    half_width = float(np.sqrt(max(float(linear @ chart.factor(np.zeros(chart.size)).solve(linear)), 0.0)))
    reach = blow_up(chart, nu)
    if half_width <= 1e-12 * terms:
        return half_width * reach
    for gap in _GAPS:  # where rounding gets in the way, a wider bound
        eta = chart.cones.nu / (gap * half_width)
        found = minimise_joint(chart, -eta * linear, tolerance=0.1)
        factor = chart.factor(found.z, accurate=True)
        step, left = decrement(factor, -eta * linear)
        if left >= 0.9:
            continue
        slack = chart.slack(found.z)
        dual, error = _dual(chart, factor, linear, eta, slack, step)
        distance = float(np.linalg.norm(found.z)) + reach
        if error * distance <= gap * half_width:
            value = float(linear @ found.z) + float(dual @ slack)
            return value + error * distance + 1e-14 * half_width * reach
    raise OracleError("No certified bound was found: the set is too badly scaled.")


def _dual(chart: Chart, factor: Factor, linear: Array, eta: float, slack: Array, step: Array) -> tuple[Array, float]:
    """The dual point of a Newton step and what it misses; the step is refined while that helps."""
    pull = chart.cones.gradient(slack)
    best: tuple[Array, float] | None = None
    for _ in range(4):
        dual = -(pull + chart.cones.hessian_product(slack, chart.slack_step(step))) / eta
        missing = chart.tangential(linear + chart.gradient_of(dual))
        error = float(np.linalg.norm(missing))
        if best is not None and not error < best[1]:
            break
        best = dual, error
        step = step + factor.solve(eta * missing)
    assert best is not None
    return best


def blow_up(chart: Chart, nu: float) -> float:
    """How often the Dikin ellipsoid at the analytic center must be blown up to hold the set.

    nu + 2 sqrt(nu) for any barrier. For symmetric cones better: with the slack at the center as the unit e of the cone,
    <e, s> is the same number k, the sum of the cones' parameters, all over the set, and |s|_2 <= <e, s>; hence
    |s - e|^2 = |s|^2 - k <= k^2 - k. The 1 % is for a center that Newton's method found.
    """
    k = chart.cones.nu
    general = nu + 2 * np.sqrt(nu)
    return 1.01 * float(min(general, np.sqrt(k * k - k)) if chart.cones.is_symmetric else general)


def loose_box(conic: ConicSet, chart: Chart, nu: float) -> tuple[Array, Array]:
    """A certified box of a large set: bounds of single coordinates, and the Dikin ellipsoid at the center blown up."""
    reach = blow_up(chart, nu) * np.abs(chart.column_widths())
    lower, upper = chart.v0 - reach, chart.v0 + reach
    single = (np.diff(conic.A.indptr) == 1) & conic.polyhedral
    entry_bounds(conic.A[single], conic.b[single], lower, upper)
    for _ in range(_SWEEPS):
        tighten_by_equalities(conic.E, conic.e, lower, upper)
    rising, falling = conic.P.maximum(0), conic.P.minimum(0)
    ends = []
    for first, second, sign in ((lower, upper, -1), (upper, lower, 1)):
        end = conic.offset + rising @ first + falling @ second
        size = np.abs(conic.offset) + rising @ np.abs(first) - falling @ np.abs(second)
        ends.append(end + sign * _ROUNDED * size)
    return ends[0], ends[1]
