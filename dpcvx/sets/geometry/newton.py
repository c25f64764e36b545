"""Newton's method on <covector, y> + F(z) in a chart: centering and the argmin of the barrier.

Other loops of Newton steps stand where they minimise something else: `batch_newton` many functions at once, `fibre` in
the auxiliary coordinates alone, `nearest` a quadratic function plus the barrier.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.charts.chart import Chart, Factor
from dpcvx.sets.geometry.line_search import line_search

FULL = 0.25  # decrement below which a Newton step is not damped
ITERATIONS = 200
_NEAR = 3.0  # decrement up to which a predicted point counts as close to the central path


@dataclass(frozen=True)
class Minimum:
    """Where Newton's method stopped, with the factor there and the decrement that is left."""

    z: Array
    factor: Factor
    decrement: float


def minimise(chart: Chart, covector: Array, start: Array | None = None, tolerance: float = 1e-9) -> Minimum:
    """The minimum of <covector, y> + F(z), warm from `start`, otherwise along the central path from the center."""
    return minimise_joint(chart, chart.joint(covector), start, tolerance)


def minimise_joint(chart: Chart, linear: Array, start: Array | None = None, tolerance: float = 1e-9) -> Minimum:
    """The same for <linear, z> + F(z), a linear function of the auxiliary coordinates too."""
    if start is not None:
        found = _newton(chart, linear, start, tolerance, 30)
        if found.decrement <= max(tolerance, 1e-6):
            return found
    z = np.zeros(chart.size)
    size = root(linear @ chart.factor(z).solve(linear))
    strength = min(1.0, 1 / size) if size > 0 else 1.0
    while strength < 1:
        found = _newton(chart, strength * linear, z, 0.1, ITERATIONS)
        z, strength = _follow(chart, linear, found, strength)
    return _newton(chart, linear, z, tolerance, ITERATIONS)


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
    step = factor.newton_step(gradient)
    return -step, root(factor.tangential(gradient, step).dot(step))


def _newton(chart: Chart, linear: Array, z: Array, tolerance: float, iterations: int) -> Minimum:
    """Damped Newton steps with an exact line search, full steps once the decrement is below 1/4.

    Where progress ends early, an accurate factorisation takes over; where it ends again, rounding is all that is left.
    """
    accurate = False
    factor = chart.factor(z)
    step, left = decrement(factor, linear)
    stalled = 0
    for _ in range(iterations):
        if left <= tolerance:
            break
        target = z + step if left < FULL else z + line_search(chart, z, step, float(linear @ step)) * step
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


def root(square: Array) -> float:
    """The root of a number that rounding may have taken below 0."""
    return math.sqrt(max(float(square), 0.0))
