"""Newton's method on <covector, y> + F(z) for many covectors at once: replicas of one learner share a chart."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts.chart import Chart
from dpcvx.sets.geometry.newton import minimise

_ITERATIONS = 60
_TOLERANCE = 1e-6  # decrement: the value is then off by its square
_BISECTIONS = 60


def minimise_all(chart: Chart, covectors: Array, start: Array | None = None) -> Array:
    """The minimisers z (k, size) of <covector, y> + F(z) for covectors (k, width), from `start` or the center.

    Damped steps with a line search, full ones once the decrement is below 1/4; what does not converge so goes one by
    one along its central path.
    """
    k = len(covectors)
    linear = chart.joint(covectors)
    z = np.zeros((k, chart.size)) if start is None else start.copy()
    if not chart.dim:
        return z
    if k == 1:
        return minimise(chart, covectors[0], None if start is None else z[0]).z[None]
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
        far = ~(left[active] < 0.25)
        if far.any():
            length[far] = _line_search(chart, z[active[far]], step[far], (linear[active[far]] * step[far]).sum(axis=-1))
        target = z[active] + length[:, None] * step
        good = np.flatnonzero(np.isfinite(target).all(axis=-1))
        good = good[chart.interior(target[good])]
        z[active[good]] = target[good]
        active = active[good]  # rounding is all that is left of the others
    for i in np.flatnonzero(~(left <= 1e-4)):
        z[i] = minimise(chart, covectors[i]).z
    return z


def _line_search(chart: Chart, z: Array, step: Array, slope: Array) -> Array:
    """For each row, a step length near the minimum along its direction of descent; `slope` is that of the linear part.

    Doubles while the function falls, then halves the bracket a few times; the lower end is returned, which is interior.
    """
    slack, ds = chart.slack(z), chart.slack_step(step)

    def rises(alpha: Array) -> Array:
        moved = slack + alpha[:, None] * ds
        inside = chart.cones.interior(moved)
        out = np.ones(len(alpha), dtype=bool)
        if inside.any():
            pull = chart.cones.gradient(moved[inside])
            out[inside] = slope[inside] + (pull * ds[inside]).sum(axis=-1) > 0
        return out

    low, high = np.zeros(len(z)), np.ones(len(z))
    for _ in range(20):
        falling = ~rises(high)
        if not falling.any():
            break
        low, high = np.where(falling, high, low), np.where(falling, 2 * high, high)
    for _ in range(_BISECTIONS):
        if np.all(high - low <= 0.2 * low):
            break
        middle = (low + high) / 2
        up = rises(middle)
        low, high = np.where(up, low, middle), np.where(up, middle, high)
    return low
