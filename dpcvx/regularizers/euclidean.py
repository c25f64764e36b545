"""The Euclidean regulariser R(x) = |x - c|^2/2, c a point near the middle of the set."""

from functools import cached_property
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.regularizers.regularizer import Noise, Regularizer


class Euclidean(Regularizer):
    """R'' is the identity: G is the largest Euclidean norm of a loss, and the argmin is a projection.

    Where losses lie in a box away from 0, such as times of roads that are never empty, its middle is expected.
    """

    name = "Euclidean"

    def value(self, point: Any) -> Array:
        d = self.decision_set.flatten(point) - self.sizes.middle
        return np.asarray((d * d).sum(axis=-1) / 2)

    def argmin(self, covector: Any, start: Array | None = None) -> Array:
        return self.decision_set.project(self._middle - np.asarray(covector, dtype=float))

    @cached_property
    def _middle(self) -> Array:
        return self.decision_set.unflatten(self.sizes.middle)

    @cached_property
    def range(self) -> float:
        return self.sizes.radius**2 / 2

    @property
    def dual_norm(self) -> float:
        return self.sizes.loss_radius

    @cached_property
    def expected(self) -> Array | None:
        return self.decision_set.unflatten(self.sizes.loss_middle) if self.surprise < self.dual_norm else None

    @cached_property
    def surprise(self) -> float:
        spread = self.sizes.loss_spread
        return spread if 0 < spread < self.dual_norm else self.dual_norm

    @property
    def steadiness(self) -> tuple[float, float] | None:
        return 1.0, self.dual_norm

    def noise_size(self, noise: Noise, width: float) -> float:
        return float(np.sqrt(self.sizes.noise_gain * self.decision_set.dim)) * noise.deviation  # of the tangential part

    def noise_bound(self, noise: Noise, learning_rate: float) -> float:
        # max <-Z, x> - |x - c|^2/(2 eta) <= -<Z, c> + eta |Z|^2/2, Z the tangential part
        return learning_rate * self.sizes.noise_gain * self.decision_set.dim * noise.deviation**2 / 2
