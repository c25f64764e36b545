"""Newton's method on <covector, y> + F(z) for many covectors at once: replicas of one learner share a chart.

The steps are those of `newton`; the loop is another, because each row of a batch stops by itself, and rows that stall
are handed over one by one instead of being refined together.
"""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts import Chart, SparseChart
from dpcvx.sets.geometry.line_search import line_search_all
from dpcvx.sets.geometry.newton import FULL, decrement, minimise
from dpcvx.sets.geometry.primal_dual import approach, approach_sparse

_ITERATIONS = 60
_FAR = 2.0  # decrement above which Newton's method on a polytope is not worth to begin
_TOLERANCE = 1e-6  # decrement: the value is then off by its square
_LAST = 1e-3 / (1 + 1e-3)  # decrement from which a full step leads below the tolerance


def minimise_all(chart: Chart, covectors: Array, start: Array | None = None) -> Array:
    """The minimisers z (k, size) of <covector, y> + F(z) for covectors (k, width), from `start` or the center.

    Damped steps with a line search, full ones once the decrement d is below 1/4, after which it is at most
    (d/(1 - d))^2: where that is small enough, it is not computed again. Rows that do not converge in this way go one by
    one along their central paths.
    """
    k = len(covectors)
    linear = chart.joint(covectors)
    z = np.zeros((k, chart.size)) if start is None else start.copy()
    if not chart.dim:
        return z
    if k == 1:
        begin = z[0] if start is not None else None
        return minimise(chart, covectors[0], _nearer(chart, linear[0], begin)).z[None]
    left = np.full(k, np.inf)
    active = np.arange(k)
    for iteration in range(_ITERATIONS):
        try:
            factor = chart.factor(z[active])
            gradient = linear[active] + factor.gradient
            step = -factor.newton_step(gradient)
            gradient = factor.tangential(gradient, -step)
        except np.linalg.LinAlgError:
            break
        left[active] = np.sqrt(np.maximum(-(gradient * step).sum(axis=-1), 0.0))
        if not iteration and _has_approach(chart):
            far = ~(left <= _FAR)
            if far.any():
                z[far] = _close(chart, linear[far])
                continue
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
        last = active[left[active] <= _LAST]
        left[last] = (left[last] / (1 - left[last])) ** 2
        active = active[left[active] > _TOLERANCE]
        if not len(active):
            break
    for i in np.flatnonzero(~(left <= 1e-4)):
        z[i] = minimise(chart, covectors[i]).z
    return z


def _nearer(chart: Chart, linear: Array, z: Array | None) -> Array | None:
    """A point to begin from: on polytopes one that is far from the minimiser is replaced by a close one."""
    if not _has_approach(chart):
        return z
    if z is not None and decrement(chart.factor(z), linear)[1] <= _FAR:
        return z
    return np.asarray(_close(chart, linear[None])[0])


def _has_approach(chart: Chart) -> bool:
    """Whether a primal-dual method finds a point close to the minimiser."""
    return isinstance(chart, SparseChart) or chart.inequalities is not None


def _close(chart: Chart, linear: Array) -> Array:
    """Points of a polytope close to the minimisers; the center where rounding prevents that."""
    try:
        if isinstance(chart, SparseChart):
            return np.array([approach_sparse(chart, one)[0] for one in linear])
        assert chart.inequalities is not None
        return approach(chart.inequalities, chart.s0, linear)
    except np.linalg.LinAlgError:
        return np.zeros((len(linear), chart.size))
