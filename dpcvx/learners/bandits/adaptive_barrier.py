"""Barrier FTRL on any convex body whose weight of the barrier follows what was paid.

With L the sum of the estimates the point w minimises <L, w> + beta R(w). From it a direction u of the Dikin ellipsoid
is taken as far as both ends stay in the set, rho times, and

    play w + rho C'^-1 u, see v, take off the running mean b of the feedback, estimate by (n (v - b)/rho) C u,

which is unbiased on the tangent space, since rho(u) = rho(-u). The estimate has dual local norm n |v - b|/rho; it is
cut where that exceeds beta/2. beta grows by half of what a round costs, beta omega(d) for d the norm over beta and
omega(d) = -ln(1 - d) - d, divided by what is left of the range of the barrier.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet
from dpcvx.sets.geometry.batch_newton import minimise_all
from dpcvx.sets.geometry.dikin import SHRINK

_STEEPEST = 1e6  # L/beta in the norm of the center, beyond which rounding rules
_LEFT = 0.05  # of the range of the barrier, which counts as left at least


class Known(NamedTuple):
    """What is known after some rounds, on leading axes: the sum of estimates on the chart, beta, mean and squares."""

    estimates: Array
    temperature: Any
    baseline: Any
    squares: Any
    point: Array  # z of the last minimiser, from which the next search begins


class Drawn(NamedTuple):
    """C u of the last action divided by rho, and rho."""

    measure: Array
    stretch: Any


class AdaptiveBarrier:
    """The learner on a convex body; see the module."""

    def __init__(self, decision_set: DecisionSet, horizon: int, spread: float, noise_scale: float) -> None:
        self.decision_set, self.spread = decision_set, spread
        self._chart = decision_set.geometry.chart
        self.dim = self._chart.dim
        self.range = decision_set.nu * math.log(max(horizon, 2))
        self.first = self.dim * math.sqrt((spread / 4) ** 2 + 2 * noise_scale**2)
        self.says = "barrier with stretched Dikin steps"

    def start(self, leading: tuple[int, ...]) -> Known:
        zero = np.zeros(leading)
        return Known(
            np.zeros((*leading, self._chart.width)),
            zero + self.first,
            zero,
            zero,
            np.zeros((*leading, self._chart.size)),
        )

    def draw(self, known: Known, rounds: int, rng: np.random.Generator) -> tuple[Array, Drawn]:
        """An action as a vector, and how it was drawn."""
        chart = self._chart
        factor = chart.factor(known.point)
        displacement, measure = factor.sample(rng, SHRINK)
        stretch = np.asarray(chart.stretch(known.point, displacement))
        action = chart.point(known.point) + chart.push(displacement * stretch[..., None])
        return action, Drawn(measure / (SHRINK**2 * stretch[..., None]), stretch)

    def after(self, known: Known, drawn: Drawn, value: Any, rounds: int) -> Known:
        """What is known after the feedback of a round."""
        chart, beta = self._chart, known.temperature
        residual = value - known.baseline
        norm = self.dim * np.abs(residual) / (drawn.stretch * beta)
        kept = np.minimum(1.0, 0.5 / np.maximum(norm, 1e-300))
        norm = norm * kept
        estimates = known.estimates + (self.dim * residual * kept)[..., None] * drawn.measure
        cost = beta * (-np.log1p(-norm) - norm)
        left = self.range - chart.value(known.point)
        grown = beta + 0.5 * cost / np.maximum(left, _LEFT * self.range)
        covectors = (estimates / grown[..., None]).reshape(-1, chart.width)
        size = np.sqrt((covectors * covectors).sum(axis=-1, keepdims=True))
        covectors = covectors * (_STEEPEST / np.maximum(size, _STEEPEST))
        point = minimise_all(chart, covectors, known.point.reshape(-1, chart.size)).reshape(known.point.shape)
        return Known(estimates, grown, known.baseline + residual / (rounds + 1), known.squares + residual**2, point)
