"""The nearest point of a set by the central path: an independent fallback where a solver's projection is poor."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts.chart import Chart
from dpcvx.sets.geometry.line_search import line_search
from dpcvx.sets.geometry.newton import ITERATIONS, root


def nearest(chart: Chart, target: Array, gap: float) -> Array:
    """The z whose point x minimises |x - target|^2/2 up to `gap`, by the central path of eta times that plus F.

    Newton steps of its own: the quadratic function adds to the Hessian, which no factor of the chart knows.
    """
    N = None if chart.auxiliaries or chart.dim == chart.width else chart.tangent_basis()  # of what may move
    B = chart.push(np.eye(chart.width)).T  # of shape (size of x, width)
    Q = np.zeros((chart.size, chart.size))
    Q[chart.auxiliaries :, chart.auxiliaries :] = B.T @ B
    linear = chart.joint(chart.pull(chart.x0 - target))
    z = np.zeros(chart.size)
    last = chart.cones.nu / gap
    eta = min(last, 1 / max(root(linear @ linear), 1e-300))
    while True:
        for _ in range(ITERATIONS):
            gradient = eta * (linear + Q @ z) + chart.gradient(z)
            H = chart.hessian(z) + eta * Q
            step = -_solved(H, gradient) if N is None else -N @ _solved(N.T @ H @ N, N.T @ gradient)
            left = root(-(gradient @ step))
            if left < 0.1:
                break
            curve = eta * float(step @ Q @ step)
            alpha = line_search(chart, z, step, eta * float((linear + Q @ z) @ step), curve=curve)
            if not alpha > 0 or not chart.interior(z + alpha * step):
                return z  # rounding is all that is left
            z = z + alpha * step
        if eta >= last:
            return z
        eta = min(last, 3 * eta)


def _solved(H: Array, gradient: Array) -> Array:
    """H^-1 gradient, in coordinates of equal size."""
    jacobi = 1 / np.sqrt(np.diagonal(H))
    return np.asarray(jacobi * np.linalg.lstsq(jacobi[:, None] * H * jacobi, jacobi * gradient, rcond=1e-15)[0])
