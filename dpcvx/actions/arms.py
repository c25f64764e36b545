"""Arms: the corners of a simplex, any number of them."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np

from dpcvx.actions.family import LEFT_OUT, Bounds, Exploration, Mixing
from dpcvx.actions.listed import OUTWARD, Listed
from dpcvx.actions.weights import softmin
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError

_ROUNDED = 1e-15  # of the product of a scale and an end, added outward


class Arms(Listed):
    """The multiples scale e_i of the unit vectors: P is diagonal, and there may be so many that no matrix is made."""

    is_arms = True

    def __init__(self, size: int, scale: float = 1.0) -> None:
        self.size = self.rank = self.count = size
        self.scale = scale
        self.log_count = math.log(size)
        self._numbers = np.arange(size)

    @classmethod
    def of_bounds(cls, bounds: Bounds) -> Self | None:
        return cls(len(bounds.lower), bounds.total) if bounds.is_simplex and bounds.total is not None else None

    def actions(self, index: Any) -> Array:
        return np.asarray((np.asarray(index)[..., None] == self._numbers) * self.scale)

    def scores(self, covector: Array) -> Array:
        return self.scale * covector

    def probabilities(self, covector: Array, total: float = 1.0) -> Array:
        return softmin(self.scale * covector, total)

    def weighted(self, p: Array) -> Array:
        return self.scale * p

    def second_moment(self, covector: Array) -> Array:
        return self.scale**2 * self.probabilities(covector)[..., None] * np.eye(self.size)

    def measure(self, covector: Array, mixing: Mixing, exploration: Exploration, action: Array) -> Array:
        return np.asarray(action / (self.scale**2 * self.mixed(covector, mixing, exploration)))

    def _measured(self, p: Array, index: Array) -> Array:
        return np.asarray(self.actions(index) / (self.scale**2 * p))

    def _explored(self, name: str, weights: Array) -> Exploration:
        if weights.min() <= 1e-12 * weights.max():
            raise ArgumentError(LEFT_OUT)
        return Exploration(name, None, float(1 / weights.min()) * OUTWARD, self.scale * weights, weights)

    level = True

    def values(self, box: tuple[Array, Array], ranges: Callable[[Array], tuple[Array, Array]]) -> tuple[float, float]:
        low, high = self.scale * float(box[0].min()), self.scale * float(box[1].max())
        slip = _ROUNDED * max(abs(low), abs(high))
        return low - slip, high + slip

    @cached_property
    def design(self) -> Exploration:
        return self.exploration("uniform")
