"""K-norm noise: fitted to the shape of what one person may change; exact for boxes, in simulation for balls too.

On a box, whole numbers z have a probability proportional to q^G(z),

    G(z) = max_i ceil(r |z_i|/h_i),    q = exp(-1/(scale r)),    r = 2N,

h_i the half-widths of K in whole units of the grid, N of them above 0. Since ceil(a + b) <= ceil(a) + ceil(b), and the
sum of all q^G is the same around every value, two values that are d apart have log-ratios of at most G(d)/(scale r),
and a change within K has G(d) <= r: it costs 1/scale. Each h_i > 0 is taken as N at least, since exact draws need r <=
2 h_i; wider is more noise and as private. An entry with h_i = 0 never changes and gets no noise.

Given its level (see `k_norm_levels`) the entries of a noise are independent and uniform on |z_i| <= m = floor(k h_i/r),
of variance m(m + 1)/3 <= (h_i/r)^2 (k^2 + k r/h_i)/3. A uniform z has E exp(s z) <= exp(s^2 variance/2). So given the
levels of all terms of a prefix, E max over finitely many vectors is at most a constant times the root of the variance,
and E (1/s) log mean exp(s Z_i) at most s/2 times it; both are concave in the variance, so the mean variance bounds
their means. That is what `log_moment` is for, in these two places: no tail of K-norm noise is that of a Gaussian law.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.noise.k_norm_draws import OPENDP, VECTOR, BoxMeasurement, BoxNoise, Primitives
from dpcvx.privacy.noise.k_norm_levels import Levels
from dpcvx.privacy.noise.law import PureLaw, Releases
from dpcvx.sets import LossSet

_LEAST_SCALE = 0.25  # a level is kept with probability exp(-1/(4 scale)) or so: below it, draws would hardly end
_FEWEST = 3  # entries that move, from which on it is taken where no law is named
_UNIFORM = 0.8661  # at least E |z| of a uniform z, sqrt(3)/2 of its deviation; sums and mixtures of such have less


@dataclass(frozen=True)
class KNorm(PureLaw):
    """Noise of the norm whose unit ball is K, a box or a Euclidean ball that holds every change of one loss.

    `half` holds the half-widths of K along each coordinate, for a ball all of them its radius; `unit` is that of the
    grid. The scale has no unit: one loss moves a release by at most 1 in the norm of K.
    """

    half: tuple[float, ...] = ()
    body: str = "box"
    unit: float = 1.0

    key = "knorm"
    name = "K-norm"
    joint = True
    in_paper = False
    notes = ("the scale of K-norm noise is in units of K, all that one loss may change; there the sensitivity is 1",)

    @classmethod
    def suits(cls, neighbours: Neighbours, loss_set: LossSet) -> bool:
        """For boxes of some entries on which it is narrower than Laplace noise of the same epsilon."""
        body = neighbours.difference_body(loss_set)
        if body is None or body[0] != "box":
            return False
        n = int(np.count_nonzero(body[1]))
        if n < _FEWEST:
            return False
        return (n + 1) * (n + 2) / 3 * float(body[1].max()) ** 2 < 2 * float(neighbours.change(loss_set, 1)) ** 2

    @classmethod
    def reach(cls, neighbours: Neighbours, loss_set: LossSet) -> float:
        sides = float(neighbours.change(loss_set, np.inf)) * (loss_set.size + 1)
        return max(super().reach(neighbours, loss_set), sides)

    @classmethod
    def calibrated(cls, releases: Releases, epsilon: float, delta: float) -> Self:
        """K in units of the grid, by the relation of neighbours: a box, or in simulation a ball."""
        scale = max(releases.count, 1) * releases.rounds_per_person / epsilon * cls.ROUNDED_UP
        scale = max(scale, _LEAST_SCALE)
        widths = releases.neighbours.grid_widths(releases.loss_set, releases.grid.step)
        if widths is not None:
            moving = sum(width > 0 for width in widths)
            return cls(scale, tuple(float(max(width, moving)) if width else 0.0 for width in widths))
        body = releases.neighbours.difference_body(releases.loss_set)
        if body is None:
            raise ValueError("K-norm noise is for boxes, and in simulation for centered Euclidean balls.")
        return cls(scale, tuple(float(h) / releases.grid.step for h in body[1]), body[0])

    def scaled(self, factor: float) -> Self:
        return replace(self, half=tuple(h * factor for h in self.half), unit=self.unit * factor)

    def change(self, units: float) -> float:
        return 1

    def distance(self, moved: int | float, units: int | float) -> int | float:
        return round(moved / units) if units else 0

    # the law of a box

    @cached_property
    def _moving(self) -> Array:
        """The half-widths above 0."""
        half = np.array(self.half)
        return half[half > 0]

    @cached_property
    def resolution(self) -> int:
        """r: into so many levels one unit of the norm of a box is divided."""
        return 2 * self._moving.size

    @property
    def spread(self) -> float:
        """t: scale times r, rounded up, as the samplers take it."""
        return math.nextafter(self.scale * self.resolution, math.inf)

    @cached_property
    def levels(self) -> Levels:
        """The law of the sizes of noise on a box."""
        return Levels.of(self.spread, self._moving / self.unit)

    @cached_property
    def standard_deviation(self) -> float:
        n = len(self.half)
        if self.body == "ball":
            return float(self.scale * np.sqrt(n + 1.0) * max(self.half))
        if not self._moving.size:
            return 0.0
        first, second = self.levels.moments()
        widest, r = float(self._moving.max()), self.resolution
        return widest / r * math.sqrt((second + first * r * self.unit / widest) / 3)

    @property
    def mean_absolute(self) -> float:
        return _UNIFORM if self.body == "box" else 1.0

    def log_moment(self, s: float) -> float:
        """For a box, of a Gaussian law with this deviation: true of means of maxima, see the module."""
        return (s * self.standard_deviation) ** 2 / 2 if self.body == "box" else float("inf")

    # prices and likelihoods

    def length(self, shift: Sequence[int] | Sequence[float]) -> float:
        """G/r of a box, summed over blocks of N entries; whole numbers exactly."""
        if self.body != "box" or not all(isinstance(entry, int) for entry in shift):
            return float(self._sizes(np.array(shift, dtype=float)))
        half, r = [int(h) for h in self.half], self.resolution
        blocks = [shift[i : i + len(half)] for i in range(0, len(shift), len(half))]
        if any(entry and not h for block in blocks for entry, h in zip(block, half, strict=True)):
            return math.inf
        total = sum(max(-(-r * abs(int(z)) // h) if h else 0 for z, h in zip(b, half, strict=True)) for b in blocks)
        return total / r if r else 0.0

    def log_ratio(self, noisy: Array, first: Array, second: Array) -> Array:
        """Of noise on each block of N coordinates."""
        return (self._sizes(noisy - second) - self._sizes(noisy - first)) / self.scale

    def _sizes(self, shifts: Array) -> Array:
        """The norm of K of each block of N coordinates, a box in steps of 1/r, summed over the last axis."""
        half = np.array(self.half)
        blocks = np.abs(shifts).reshape(*shifts.shape[:-1], -1, half.size)
        if self.body == "ball":
            return np.asarray(np.linalg.norm(blocks / half, axis=-1).sum(axis=-1))
        moving, r = half > 0, max(self.resolution, 1)
        levels = np.ceil(r * blocks[..., moving] / half[moving]).max(axis=-1, initial=0.0)
        levels[(blocks[..., ~moving] > 0).any(axis=-1)] = np.inf
        return np.asarray(levels.sum(axis=-1) / r)

    # draws

    def measurement(self, size: int) -> Any:
        return BoxMeasurement(self._exact(OPENDP), size, self.cost(1))

    def exact_draws(self, shape: tuple[int, ...]) -> Array:
        noise = self._exact(VECTOR)
        if shape[-1] % max(noise.size, 1):
            raise ValueError(f"K-norm noise on {noise.size} entries cannot be laid on a vector of {shape[-1]}.")
        return noise.draw(math.prod(shape) // max(noise.size, 1)).reshape(shape)

    def _exact(self, primitives: Primitives) -> BoxNoise:
        if self.body != "box":
            raise ValueError(
                "K-norm noise on balls exists only in simulation; give a seed, or use Laplace noise by noise='laplace'."
            )
        return _box_noise(self.half, self.resolution, self.spread, primitives)

    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        half = np.array(self.half)
        n = len(half)
        if self.body == "box":
            noise = rng.random(shape)
            noise -= 0.5
            noise *= self.levels.draw(rng, (*shape[:-1], 1)) if self._moving.size else 0.0
            noise *= half * (2 / max(self.resolution, 1))
            return noise
        # z = r u with r ~ Gamma(dim + 1, scale) and u uniform on K
        u = rng.standard_normal(shape)
        u *= half / np.linalg.norm(u, axis=-1, keepdims=True)
        u *= rng.random((*shape[:-1], 1)) ** (1 / n)
        return np.asarray(rng.gamma(n + 1, self.scale, (*shape[:-1], 1)) * u)


@lru_cache(maxsize=32)
def _box_noise(half: tuple[float, ...], resolution: int, spread: float, primitives: Primitives) -> BoxNoise:
    return BoxNoise(half, resolution, spread, primitives)
