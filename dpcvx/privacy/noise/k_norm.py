"""K-norm noise: fitted to the shape of the loss set, for boxes and centered Euclidean balls; in simulation only."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.noise.law import PureLaw, Releases


@dataclass(frozen=True)
class KNorm(PureLaw):
    """Density proportional to exp(-|z|_K/scale) for K = Y - Y with Y a box or a Euclidean ball.

    `half` holds the half-widths of K along each coordinate in units of the grid: for a ball all entries are its radius.
    The scale has no unit: one loss moves a release by at most 1 in the norm of K.
    """

    half: tuple[float, ...] = ()
    body: str = "box"

    key = "knorm"
    name = "K-norm"
    joint = True
    exact_sampler = False
    in_paper = False
    notes = ("the scale of K-norm noise is in units of K = Y - Y, in whose norm the sensitivity is 1",)

    @classmethod
    def calibrated(cls, releases: Releases, epsilon: float, delta: float) -> Self:
        """K = Y - Y for boxes and balls ("zero-out": the smallest symmetric one around Y), in units of the grid."""
        scale = max(releases.count, 1) * releases.rounds_per_person / epsilon * cls.ROUNDED_UP
        body = releases.neighbours.difference_body(releases.loss_set)
        if body is None:
            raise ValueError("K-norm noise is sampled exactly for boxes and centered Euclidean balls only.")
        kind, half = body
        return cls(scale, tuple(float(h) / releases.grid.step for h in half), kind)

    def scaled(self, factor: float) -> Self:
        return replace(self, half=tuple(h * factor for h in self.half))

    def change(self, units: float) -> float:
        return 1

    @property
    def standard_deviation(self) -> float:
        n = len(self.half)
        spread = 1 / 3 if self.body == "box" else 1 / (n + 2)
        return float(self.scale * np.sqrt((n + 1) * (n + 2) * spread) * max(self.half))

    def log_moment(self, s: float) -> float:
        return float("inf")

    def length(self, shift: Sequence[int] | Sequence[float]) -> float:
        return float(self._sizes(np.array(shift, dtype=float)))

    def log_ratio(self, noisy: Array, first: Array, second: Array) -> Array:
        """Of noise on each block of N coordinates."""
        return (self._sizes(noisy - second) - self._sizes(noisy - first)) / self.scale

    def _sizes(self, shifts: Array) -> Array:
        """The norm of K of each block of N coordinates, summed over the last axis."""
        half = np.array(self.half)
        order = np.inf if self.body == "box" else 2
        blocks = shifts.reshape(*shifts.shape[:-1], -1, half.size) / half
        return np.asarray(np.linalg.norm(blocks, order, axis=-1).sum(axis=-1))

    def measurement(self, size: int) -> Any:
        raise ValueError("K-norm noise exists only in simulation; give a seed, or use Laplace noise.")

    def exact_draws(self, shape: tuple[int, ...]) -> Array:
        raise ValueError("K-norm noise exists only in simulation; give a seed, or use Laplace noise.")

    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        # z = r u with r ~ Gamma(dim + 1, scale) and u uniform on K
        half = np.array(self.half)
        n = len(half)
        if self.body == "box":
            u = rng.uniform(-1.0, 1.0, shape) * half
        else:
            u = rng.standard_normal(shape)
            u *= half / np.linalg.norm(u, axis=-1, keepdims=True)
            u *= rng.random((*shape[:-1], 1)) ** (1 / n)
        return np.asarray(rng.gamma(n + 1, self.scale, (*shape[:-1], 1)) * u)
