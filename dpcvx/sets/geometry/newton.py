"""Newton's method on <covector, y> + F(z) in a chart: centering, barrier argmin, fibres over a point."""

import math
from dataclasses import dataclass

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import OracleError
from dpcvx.sets.geometry.charts.chart import Chart, Factor

_NEAR = 3.0  # decrement up to which a predicted point counts as close to the central path
_ITERATIONS = 200
_LONGEST = 2.0**20  # step up to which a line search looks


@dataclass(frozen=True)
class Minimum:
    """Where Newton's method stopped, with the factor there and the decrement that is left."""

    z: Array
    factor: Factor
    decrement: float


def minimise(chart: Chart, covector: Array, start: Array | None = None, tolerance: float = 1e-9) -> Minimum:
    """The minimum of <covector, y> + F(z), warm from `start`, otherwise along the central path from the center."""
    if start is not None:
        found = _newton(chart, covector, start, tolerance, 30)
        if found.decrement <= max(tolerance, 1e-6):
            return found
    z = np.zeros(chart.size)
    linear = chart.joint(covector)
    size = _root(linear @ chart.factor(z).solve(linear))
    strength = min(1.0, 1 / size) if size > 0 else 1.0
    while strength < 1:
        found = _newton(chart, strength * covector, z, 0.1, _ITERATIONS)
        z, strength = _follow(chart, linear, found, strength)
    return _newton(chart, covector, z, tolerance, _ITERATIONS)


def _follow(chart: Chart, linear: Array, found: Minimum, strength: float) -> tuple[Array, float]:
    """The next point near the central path of strength <linear, z> + F, and its strength, at most 1.

    On the path the slacks of active cones shrink in proportion to 1/strength, so the tangent is followed in that
    parameter, as far as the end is still close to the path.
    """
    ahead = -found.factor.solve(strength * linear)
    share = min(0.95, 1 - strength)
    while share > 0.01:
        target, stronger = found.z + share * ahead, min(1.0, strength / (1 - share))
        if chart.interior(target) and decrement(chart.factor(target), stronger * linear)[1] < _NEAR:
            return target, stronger
        share *= 0.6
    return found.z, min(1.0, 1.5 * strength)


def decrement(factor: Factor, linear: Array) -> tuple[Array, float]:
    """The Newton step of <linear, z> + F at a factored point, and the decrement."""
    gradient = linear + factor.gradient
    step = factor.solve(gradient)
    return -step, _root(gradient.dot(step))


def _newton(chart: Chart, covector: Array, z: Array, tolerance: float, iterations: int) -> Minimum:
    """Damped Newton steps with an exact line search, full steps once the decrement is below 1/4.

    Where progress ends early, an accurate factorisation takes over; where it ends again, rounding is all that is left.
    """
    linear = chart.joint(covector)
    accurate = False
    factor = chart.factor(z)
    step, left = decrement(factor, linear)
    stalled = 0
    for _ in range(iterations):
        if left <= tolerance:
            break
        target = z + step if left < 0.25 else z + line_search(chart, z, step, float(linear @ step)) * step
        if stalled < 3 and np.isfinite(target).all() and chart.interior(target):
            next_factor = chart.factor(target, accurate=accurate)
            next_step, next_left = decrement(next_factor, linear)
            if not (left < 0.1 and next_left > 2 * left):
                stalled = stalled + 1 if next_left > left / 2 and left < 0.1 else 0
                z, factor, step, left = target, next_factor, next_step, next_left
                continue
        if accurate:
            break
        accurate, stalled = True, 0
        factor = chart.factor(z, accurate=True)
        step, left = decrement(factor, linear)
    return Minimum(z, factor, left)


def nearest(chart: Chart, target: Array, gap: float) -> Array:
    """The z whose point x minimises |x - target|^2/2 up to `gap`, by the central path of eta times that plus F."""
    B = chart.push(np.eye(chart.width)).T  # of shape (size of x, width)
    Q = np.zeros((chart.size, chart.size))
    Q[chart.auxiliaries :, chart.auxiliaries :] = B.T @ B
    linear = chart.joint(chart.pull(chart.x0 - target))
    z = np.zeros(chart.size)
    last = chart.cones.nu / gap
    eta = min(last, 1 / max(_root(linear @ linear), 1e-300))
    while True:
        for _ in range(_ITERATIONS):
            gradient = eta * (linear + Q @ z) + chart.gradient(z)
            H = hessian(chart, z) + eta * Q
            jacobi = 1 / np.sqrt(np.diagonal(H))
            step = -jacobi * np.linalg.lstsq(jacobi[:, None] * H * jacobi, jacobi * gradient, rcond=1e-15)[0]
            left = _root(-(gradient @ step))
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


def line_search(chart: Chart, z: Array, step: Array, slope: float, curve: float = 0.0) -> float:
    """The minimiser along a descent direction of the barrier plus a function with derivative slope + alpha curve."""
    slack, ds = chart.slack(z), chart.slack_step(step)

    def derivative(alpha: float) -> float | None:
        moved = slack + alpha * ds
        if not chart.cones.interior(moved):
            return None
        return slope + alpha * curve + float(chart.cones.gradient(moved) @ ds)

    low, high = 0.0, 1.0
    while high < _LONGEST:
        d = derivative(high)
        if d is None or d > 0:
            break
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        d = derivative(middle)
        if d is None or d > 0:
            high = middle
        else:
            low = middle
        if high - low <= 0.1 * low:
            break
    return low


def fibre(chart: Chart, y: Array, tolerance: float = 1e-10) -> Array | None:
    """z = (u, y) with u the center of the fibre over y; None where y is not in the interior of the set.

    Follows u along the segment from the center of the chart: predict by the implicit function, then correct in u alone.
    """
    k = chart.auxiliaries
    if not k:
        return y if chart.interior(y) else None
    z, done = np.zeros(chart.size), 0.0
    z = _center_fibre(chart, z, tolerance)
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
        z = _center_fibre(chart, z, tolerance)
        stride = 2 * step
    return None


def _predict(chart: Chart, z: Array, y: Array) -> Array:
    """The step to y with u moved by the implicit function theorem: H_uu du = -H_uy dy."""
    k = chart.auxiliaries
    dy = y - z[k:]
    H = hessian(chart, z)
    du = -np.linalg.solve(H[:k, :k], H[:k, k:] @ dy)
    return np.concatenate([du, dy])


def _center_fibre(chart: Chart, z: Array, tolerance: float) -> Array:
    """Newton in u alone."""
    k = chart.auxiliaries
    last = np.inf
    for _ in range(_ITERATIONS):
        H, g = hessian(chart, z)[:k, :k], chart.gradient(z)[:k]
        step = np.zeros(chart.size)
        step[:k] = -np.linalg.solve(H, g)
        left = _root(-(g @ step[:k]))
        if left <= tolerance or (left < 1e-4 and left > last / 2):
            return z
        alpha = 1.0 if left < 0.25 else line_search(chart, z, step, 0.0)
        if not chart.interior(z + alpha * step):
            return z
        z, last = z + alpha * step, left
    raise OracleError(f"The auxiliary variables could not be centered: the Newton decrement stays at {left:.2g}.")


def _root(square: Array) -> float:
    return math.sqrt(max(float(square), 0.0))


def hessian(chart: Chart, z: Array) -> Array:
    """The joint Hessian at z from its half-Hessian: for charts with auxiliaries, which are dense."""
    M = -chart.slack_step(np.eye(chart.size)).T
    D = chart.cones.half(chart.slack(z), M)
    return np.asarray(np.swapaxes(D, -1, -2) @ D)
