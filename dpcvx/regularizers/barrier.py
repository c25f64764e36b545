"""The set's own self-concordant barrier as a regulariser.

R grows without bound toward the boundary, so the comparator is moved toward the center by the share 1/T, which costs
at most one round: R is then at most nu log T. The Dikin ellipsoid around x lies in X, hence |l|*_x is at most half of
the variation of l over X. One round costs omega(d)/eta, d = eta |l|*_x < 1, omega(d) = -log(1 - d) - d.
"""

from functools import cached_property
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.regularizers.regularizer import Regularizer
from dpcvx.sets.geometry.batch_newton import minimise_all

_STEEPEST = 1e10  # size of a covector, in the units of the center, beyond which the answer is at the boundary anyway


class Barrier(Regularizer):
    """The barrier of the decision set."""

    name = "barrier"
    theorem = "(nu log T + T omega(eta G))/eta + one round, omega(d) = -log(1 - d) - d"
    unproved = "the learning rate is too large for the barrier"

    def value(self, point: Any) -> Array:
        return np.asarray(self.decision_set.barrier.value(point))

    def argmin(self, covector: Any, start: Array | None = None) -> Array:
        X, chart = self.decision_set, self.decision_set.geometry.chart
        z = None
        if start is not None and not chart.auxiliaries:
            z = chart.coordinates(X.flatten(start).reshape(-1, X.size))
            z[~chart.interior(z)] = 0.0
        return self.follow(covector, z)[0]

    def follow(self, covector: Any, last: Array | None = None) -> tuple[Array, Array | None]:
        """`last` are coordinates of the chart, auxiliary ones included."""
        X, chart = self.decision_set, self.decision_set.geometry.chart
        c = X.flatten(covector, "covector")
        covectors = chart.pull(c.reshape(-1, X.size))
        size = np.sqrt((covectors * covectors).sum(axis=-1, keepdims=True))
        covectors *= _STEEPEST / np.maximum(size, _STEEPEST)
        found = minimise_all(chart, covectors, last)
        return X.unflatten(chart.point(found).reshape(c.shape)), found

    @property
    def range(self) -> float:
        return float("inf")

    @cached_property
    def dual_norm(self) -> float:
        return self.sizes.variation / 2

    def _shrunk_range(self, horizon: int) -> float:
        return self.decision_set.nu * float(np.log(max(horizon, 2)))

    def learning_rate(self, horizon: int) -> float:
        if not self.dual_norm:
            return 1.0
        return min(float(np.sqrt(2 * self._shrunk_range(horizon) / horizon)), 0.5) / self.dual_norm

    def learning_bound(self, horizon: int, learning_rate: float) -> float:
        d = learning_rate * self.dual_norm
        if d >= 1:
            return float("inf")
        step = -float(np.log1p(-d)) - d
        return (self._shrunk_range(horizon) + horizon * step) / learning_rate + self.sizes.variation
