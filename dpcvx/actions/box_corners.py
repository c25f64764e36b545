"""The corners of a box, far too many to be listed: their entries are independent."""

import math
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import expit

from dpcvx.actions.family import ActionFamily, Bounds, Exploration, Mixing
from dpcvx.actions.weights import ones
from dpcvx.arrays import Array


class BoxCorners(ActionFamily):
    """The corners of lower <= a <= upper: the coordinates of q are independent.

    With middle c and half-widths h: mean m = c - h tanh(h covector), E_q[aa'] = diag(h^2 - (m - c)^2) + mm'.
    Exploration is uniform, Sigma = diag(h^2) + cc', and a'Sigma^-1 a is n where c = 0 and at most n + 1 otherwise.
    """

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        self.size = self.rank = len(lower)
        self.log_count = self.size * math.log(2)
        self._middle, self._half = (lower + upper) / 2, (upper - lower) / 2
        self._squares = self._half**2

    @classmethod
    def of_bounds(cls, bounds: Bounds) -> Self | None:
        return cls(bounds.lower, bounds.upper) if bounds.total is None else None

    def sample(self, covector: Array, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        up = rng.random((*shape, *covector.shape)) < expit(-2 * self._half * covector)
        return np.where(up, self.upper, self.lower)

    def mean(self, covector: Array) -> Array:
        return np.asarray(self._middle - self._half * np.tanh(self._half * covector))

    def _variances(self, covector: Array) -> Array:
        odds = 2 * self._half * covector
        return np.asarray(4 * self._half**2 * expit(odds) * expit(-odds))

    def second_moment(self, covector: Array) -> Array:
        m = self.mean(covector)
        return np.asarray(self._variances(covector)[..., None] * np.eye(self.size) + m[..., :, None] * m[..., None, :])

    @cached_property
    def design(self) -> Exploration:
        moment = np.diag(self._half**2) + np.outer(self._middle, self._middle)
        return Exploration("uniform", moment, float(self.size + bool(self._middle.any())), self._middle)

    def log_partition(self, covector: Array) -> Array:
        return self.partition(covector)[0]

    def partition(self, covector: Array) -> tuple[Array, Array]:
        along = self._half * covector
        odds = np.abs(along)
        log_partition = (odds + np.log1p(np.exp(-2 * odds))) @ ones(self.size) - covector @ self._middle
        return log_partition, self._middle - self._half * np.tanh(along)

    def ends(self, covector: Array) -> tuple[Array, Array]:
        middle, half = covector @ self._middle, np.abs(covector) @ self._half
        return middle - half, middle + half

    def centered(
        self, covector: Array, mixing: Mixing, exploration: Exploration, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Cov_p is diagonal but for what the two means are apart: Sherman and Morrison."""
        share = np.asarray(mixing)[..., None]
        explores = rng.random((*covector.shape[:-1], 1)) < share
        up = expit(-2 * self._half * covector)  # the probability of each upper end by q
        high = rng.random(covector.shape) < np.where(explores, 0.5, up)
        D = ((1 - share) * 4 * up * (1 - up) + share) * self._squares
        apart = (2 * up - 1) * self._half
        off = np.where(high, self._half, -self._half) - (1 - share) * apart  # a - E_p a
        first, weight = apart / D, share * (1 - share)
        along = weight * np.vecdot(first, off)[..., None] / (1 + weight * np.vecdot(first, apart)[..., None])
        return np.where(high, self.upper, self.lower), off / D - along * first

    def measure(self, covector: Array, mixing: Mixing, exploration: Exploration, action: Array) -> Array:
        """P is diagonal but for the outer products of the two means: Woodbury."""
        assert isinstance(mixing, float)
        D = (1 - mixing) * self._variances(covector) + mixing * self._half**2
        m = math.sqrt(1 - mixing) * self.mean(covector)
        direct, first = action / D, m / D
        if not self._middle.any():
            share = (m * direct).sum(axis=-1) / (1 + (m * first).sum(axis=-1))
            return np.asarray(direct - share[..., None] * first)
        c = math.sqrt(mixing) * np.broadcast_to(self._middle, m.shape)
        U, G = np.stack([m, c], axis=-1), np.stack([first, c / D], axis=-1)
        K = np.eye(2) + np.swapaxes(U, -1, -2) @ G
        share = np.linalg.solve(K, (U * direct[..., None]).sum(axis=-2)[..., None])
        return np.asarray(direct - (G @ share)[..., 0])
