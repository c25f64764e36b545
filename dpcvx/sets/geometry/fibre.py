"""The fibre over a point: the auxiliary coordinates u at which the barrier F(u, y) is least for a given y."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import OracleError
from dpcvx.sets.geometry.charts.chart import Chart
from dpcvx.sets.geometry.line_search import line_search
from dpcvx.sets.geometry.newton import FULL, ITERATIONS, root


def fibre(chart: Chart, y: Array, tolerance: float = 1e-10, *, exact: bool = True) -> Array | None:
    """z = (u, y) with u the center of the fibre over y; None where y is not in the interior of the set.

    Follows u along the segment from the center of the chart: predict by the implicit function, then correct in u alone.
    Where only membership matters, not `exact`, a point that is inside but could not be centered is good enough.
    """
    k = chart.auxiliaries
    if not k:
        return y if chart.interior(y) else None
    z, done = np.zeros(chart.size), 0.0
    z = _center_fibre(chart, z, tolerance, exact)
    stride = 1.0
    for _ in range(400):
        if done >= 1:
            return z
        ahead = _predict(chart, z, y)
        step = min(stride, 1 - done)
        while step > 1e-9 and not chart.interior(z + step / (1 - done) * ahead):
            step /= 2
        if step <= 1e-9:
            return None
        z = z + step / (1 - done) * (ahead if step == 1 - done else 0.9 * ahead)
        done = done + (step if step == 1 - done else 0.9 * step)
        if done >= 1:
            z[k:] = y
            if not chart.interior(z):
                return None
        z = _center_fibre(chart, z, tolerance, exact)
        stride = 2 * step
    return None


def _solved(H: Array, g: Array) -> Array:
    """H^-1 g; where rounding has made H singular, the least solution in coordinates of equal size."""
    try:
        return np.linalg.solve(H, g)
    except np.linalg.LinAlgError:
        size = 1 / np.sqrt(np.maximum(np.diagonal(H), 1e-300))
        return np.asarray(size * np.linalg.lstsq(size[:, None] * H * size, size * g, rcond=1e-15)[0])


def _predict(chart: Chart, z: Array, y: Array) -> Array:
    """The step to y with u moved by the implicit function theorem: H_uu du = -H_uy dy."""
    k = chart.auxiliaries
    dy = y - z[k:]
    H = chart.hessian(z)
    du = -_solved(H[:k, :k], H[:k, k:] @ dy)
    return np.concatenate([du, dy])


def _center_fibre(chart: Chart, z: Array, tolerance: float, exact: bool) -> Array:
    """Newton steps in u alone; of their own, because a factor of the chart is one of the joint Hessian."""
    k = chart.auxiliaries
    last = np.inf
    for _ in range(ITERATIONS):
        H, g = chart.hessian(z)[:k, :k], chart.gradient(z)[:k]
        step = np.zeros(chart.size)
        step[:k] = -_solved(H, g)
        left = root(-(g @ step[:k]))
        if left <= tolerance or (left < 1e-4 and left > last / 2):
            return z
        alpha = 1.0 if left < FULL else line_search(chart, z, step, 0.0)
        if not chart.interior(z + alpha * step):
            return z
        z, last = z + alpha * step, left
    if not exact:
        return z
    raise OracleError(f"The auxiliary variables could not be centered: the Newton decrement stays at {left:.2g}.")
