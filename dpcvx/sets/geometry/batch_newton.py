"""Newton's method on <covector, y> + F(z) for many covectors at once: replicas of one learner share a chart.

The steps are those of `newton`; the loop is another, because each row of a batch stops by itself, and rows that stall
are handed over one by one instead of being refined together.
"""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts.chart import Chart
from dpcvx.sets.geometry.line_search import line_search_all
from dpcvx.sets.geometry.newton import FULL, minimise
from dpcvx.sets.geometry.primal_dual import approach

_ITERATIONS = 60
_FAR = 2.0  # decrement above which Newton's method on a polytope is not worth to begin
_TOLERANCE = 1e-6  # decrement: the value is then off by its square


def minimise_all(chart: Chart, covectors: Array, start: Array | None = None) -> Array:
    """The minimisers z (k, size) of <covector, y> + F(z) for covectors (k, width), from `start` or the center.

    Damped steps with a line search, full ones once the decrement is below 1/4; rows that do not converge in this way
    go one by one along their central paths.
    """
    k = len(covectors)
    linear = chart.joint(covectors)
    z = np.zeros((k, chart.size)) if start is None else start.copy()
    if not chart.dim:
        return z
    z = _nearer(chart, linear, z)
    if k == 1:
        cold = start is None and chart.inequalities is None
        return minimise(chart, covectors[0], None if cold else z[0]).z[None]
    left = np.full(k, np.inf)
    active = np.arange(k)
    for _ in range(_ITERATIONS):
        try:
            factor = chart.factor(z[active])
            gradient = linear[active] + factor.gradient
            step = -factor.solve(gradient)
        except np.linalg.LinAlgError:
            break
        left[active] = np.sqrt(np.maximum(-(gradient * step).sum(axis=-1), 0.0))
        going = ~(left[active] <= _TOLERANCE)
        active, step = active[going], step[going]
        if not len(active):
            break
        length = np.ones(len(active))
        far = ~(left[active] < FULL)
        if far.any():
            slope = (linear[active[far]] * step[far]).sum(axis=-1)
            length[far] = line_search_all(chart, z[active[far]], step[far], slope)
        target = z[active] + length[:, None] * step
        good = np.flatnonzero(np.isfinite(target).all(axis=-1))
        good = good[chart.interior(target[good])]
        z[active[good]] = target[good]
        active = active[good]  # rounding is all that is left of the others
    for i in np.flatnonzero(~(left <= 1e-4)):
        z[i] = minimise(chart, covectors[i]).z
    return z


def _nearer(chart: Chart, linear: Array, z: Array) -> Array:
    """Points to begin from: on polytopes those far from their minimisers are replaced by close ones."""
    G = chart.inequalities
    if G is None:
        return z
    try:
        factor = chart.factor(z) if len(z) > 1 else chart.factor(z[0])
        gradient = linear + factor.gradient
        left = (gradient * factor.solve(gradient if len(z) > 1 else gradient[0])).sum(axis=-1)
        far = ~(left <= _FAR**2)
        if far.any():
            z[far] = approach(G, chart.s0, linear[far])
    except np.linalg.LinAlgError:
        z[:] = 0.0
    return z
