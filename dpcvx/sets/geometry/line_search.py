"""Line searches along a direction of descent of the barrier plus a function of known slope: one, or many at once."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts.chart import Chart

_DOUBLINGS = 20  # of the step length 1, at most
_HALVINGS = 60


def line_search(chart: Chart, z: Array, step: Array, slope: float, curve: float = 0.0) -> float:
    """The minimiser along a descent direction of the barrier plus a function with derivative slope + alpha curve.

    Doubles the step while the function falls, then halves the bracket; the lower end is returned, which is interior.
    """
    slack, ds = chart.slack(z), chart.slack_step(step)

    def derivative(alpha: float) -> float | None:
        moved = slack + alpha * ds
        if not chart.cones.interior(moved):
            return None
        return slope + alpha * curve + float(chart.cones.gradient(moved) @ ds)

    low, high = 0.0, 1.0
    for _ in range(_DOUBLINGS):
        d = derivative(high)
        if d is None or d > 0:
            break
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        d = derivative(middle)
        if d is None or d > 0:
            high = middle
        else:
            low = middle
        if high - low <= 0.1 * low:
            break
    return low


def line_search_all(chart: Chart, z: Array, step: Array, slope: Array) -> Array:
    """The same for each row, to 20 % rather than 10 %: a batch goes on until the last row is done."""
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
    for _ in range(_DOUBLINGS):
        falling = ~rises(high)
        if not falling.any():
            break
        low, high = np.where(falling, high, low), np.where(falling, 2 * high, high)
    for _ in range(_HALVINGS):
        if np.all(high - low <= 0.2 * low):
            break
        middle = (low + high) / 2
        up = rises(middle)
        low, high = np.where(up, low, middle), np.where(up, middle, high)
    return low
