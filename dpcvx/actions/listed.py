"""Actions that are few enough to be listed: each has a number and a probability of its own."""

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dpcvx.actions.family import LEFT_OUT, ActionFamily, Exploration, Mixing
from dpcvx.actions.optimal_design import optimal_design
from dpcvx.actions.weights import drawn, ones, softmin
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError

LISTED = math.log(500)  # ln of the number of k-sets or paths up to which a list is faster than the formula
OUTWARD = 1 + 1e-9  # a reach that is computed for a list, rounded outward
_RANK = 1e-9  # singular values of a list of points below this, relative to the largest, count as 0


class Listed(ActionFamily):
    """Finitely many actions that have numbers, and probabilities one by one.

    Attributes:
        count: |A|.
    """

    count: int

    @abstractmethod
    def actions(self, index: Any) -> Array:
        """The actions of these numbers, (..., N)."""

    @abstractmethod
    def probabilities(self, covector: Array, total: float = 1.0) -> Array:
        """total times q, (..., k)."""

    @abstractmethod
    def _measured(self, p: Array, index: Array) -> Array:
        """P^+ a for the actions of those numbers."""

    @abstractmethod
    def _explored(self, name: str, weights: Array) -> Exploration:
        """The exploration with these probabilities."""

    def sample(self, covector: Array, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        q = self.probabilities(covector)
        return self.actions(drawn(np.broadcast_to(q, (*shape, *q.shape)), rng))

    def exploration(self, wanted: Any) -> Exploration:
        if isinstance(wanted, Exploration):
            return wanted
        count = self.count
        if isinstance(wanted, str):
            if wanted == "uniform":
                return self._explored("uniform", np.full(count, 1 / count))
            return super().exploration(wanted)
        weights = np.asarray(wanted, dtype=float)
        if weights.shape != (count,):
            raise ArgumentError(
                f"exploration must give {count} probabilities, one for each action, not {weights.shape}."
            )
        if not (np.isfinite(weights).all() and weights.min() >= 0 and abs(weights.sum() - 1) <= 1e-9):
            raise ArgumentError(
                f"exploration must be probabilities; their least is {weights.min()}, sum {weights.sum()}."
            )
        return self._explored("given", weights / weights.sum())

    def play(
        self, covector: Array, mixing: Mixing, exploration: Exploration, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        p = self.mixed(covector, mixing, exploration)
        index = drawn(p, rng)
        return self.actions(index), self._measured(p, index)

    def mixed(self, covector: Array, mixing: Mixing, exploration: Exploration) -> Array:
        assert exploration.weights is not None
        if isinstance(mixing, float):
            return np.asarray(self.probabilities(covector, 1 - mixing) + mixing * exploration.weights)
        share = mixing[..., None]
        return np.asarray((1 - share) * self.probabilities(covector) + share * exploration.weights)

    @abstractmethod
    def scores(self, covector: Array) -> Array:
        """<covector, a> of all actions, (..., k)."""

    @abstractmethod
    def weighted(self, p: Array) -> Array:
        """The sum of p(a) a over all actions, for p (..., k)."""

    def log_partition(self, covector: Array) -> Array:
        return self._weights(covector)[0]

    def mean(self, covector: Array) -> Array:
        return self.weighted(self.probabilities(covector))

    def partition(self, covector: Array) -> tuple[Array, Array]:
        log_partition, weights, total = self._weights(covector)
        return log_partition, self.weighted(weights) / total[..., None]

    def _weights(self, covector: Array) -> tuple[Array, Array, Array]:
        """ln of the sum of exp(-<covector, a>), and these numbers relative to the largest, with their sum."""
        scores = self.scores(covector)
        least = np.minimum.reduce(scores, axis=-1)
        weights = np.exp(least[..., None] - scores)
        total = weights @ ones(self.count)
        return np.log(total) - least, weights, total

    def ends(self, covector: Array) -> tuple[Array, Array]:
        scores = self.scores(covector)
        return np.minimum.reduce(scores, axis=-1), np.maximum.reduce(scores, axis=-1)


class PointList(Listed):
    """Points, one a row, by enumeration."""

    def __init__(self, points: Array) -> None:
        self.points = points
        self.count, self.size = points.shape
        self.log_count = math.log(self.count)
        left, values, right = np.linalg.svd(points, full_matrices=False)
        self.rank = int((values > _RANK * max(values.max(initial=0.0), 1e-300)).sum())
        # coordinates on the span in which the mean of aa' is the identity: a = coordinates @ spread
        self._coordinates = left[:, : self.rank] * np.sqrt(self.count)
        self._lift = right[: self.rank] * (np.sqrt(self.count) / values[: self.rank, None])  # transposed pseudo-inverse

    def actions(self, index: Any) -> Array:
        return np.asarray(self.points.take(index, axis=0))

    def scores(self, covector: Array) -> Array:
        return np.asarray(covector @ self.points.T)

    def probabilities(self, covector: Array, total: float = 1.0) -> Array:
        return softmin(self.scores(covector), total)

    def weighted(self, p: Array) -> Array:
        return np.asarray(p @ self.points)

    def second_moment(self, covector: Array) -> Array:
        return _weighted(self.points, self.probabilities(covector))

    @cached_property
    def design(self) -> Exploration:
        return self._explored("design", optimal_design(self._coordinates))

    def values(self, box: tuple[Array, Array], ranges: Callable[[Array], tuple[Array, Array]]) -> tuple[float, float]:
        low, high = ranges(self.points)
        return float(low.min()), float(high.max())

    @cached_property
    def level(self) -> bool:
        return _on_a_level(self.points)

    def _explored(self, name: str, weights: Array) -> Exploration:
        values, vectors = np.linalg.eigh(_weighted(self._coordinates, weights))
        if values.min(initial=1.0) <= 1e-12 * values.max(initial=1.0):
            raise ArgumentError(LEFT_OUT)
        scaled = self._coordinates @ (vectors / np.sqrt(values))
        reach = float((scaled**2).sum(axis=1).max(initial=0.0)) * OUTWARD
        return Exploration(name, _weighted(self.points, weights), reach, weights @ self.points, weights)

    def _measured(self, p: Array, index: Array) -> Array:
        P = _weighted(self._coordinates, p)
        return np.asarray(np.linalg.solve(P, self._coordinates[index][..., None])[..., 0] @ self._lift)


def _on_a_level(points: Array) -> bool:
    """Whether the affine hull of the rows misses 0."""
    e = np.linalg.lstsq(points, np.ones(len(points)), rcond=_RANK)[0]
    return bool(np.abs(points @ e - 1).max() <= _RANK)


def _weighted(points: Array, weights: Array) -> Array:
    """sum over a of weights(a) aa' for weights (..., k)."""
    return np.asarray((points.T * weights[..., None, :]) @ points)
