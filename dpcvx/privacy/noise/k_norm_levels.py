"""The size of K-norm noise on a box, as a whole number: the level k, and what is known of its law.

The noise z is uniform on the whole points of |z_i| <= floor(k h_i/r), h the half-widths of K in units of the grid and
r = 2N, N counting the h_i > 0. Level k has a weight proportional to q^k prod_j w_j(k), q = exp(-1/t), t = r scale, and

    w_j(k) = r (2 floor(k h_j/r) + 1)/(2 h_j)    lies between k - d_j and k + d_j,    d_j = r/(2 h_j).

Moments are bounded from above, with d the mean of the d_j, as follows. By Lipschitz' formula the sum of (k + a)^M
q^(k+a) over k >= 0 is M! t^(M+1) (1 + e) with |e| <= 4 (2 pi t)^-(M+1), for 0 <= a <= 1 and M >= 1. Hence, the
geometric mean being below the mean, sum k^m prod (k + d_j) q^k <= (N+m)! t^(N+m+1) (1 + e) exp(d/t); and since prod (1
- d_j/k) is at least 1 - sum d_j/k, sum prod_j w_j(k) q^k >= N! t^(N+1) (1 - e)(1 - (1 + e) d/t - e). So

    E k^m <= (N+m)!/N! t^m (1 + e)^2 exp(d/t)/((1 - e)^2 (1 - 2 d/t)).

For a wide t that is all there is to know; for a narrow one, or narrow half-widths, the weights are summed up.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpcvx.arrays import Array

_WIDE = 64.0  # t from which on the law of the levels is that of Gamma draws but for 1/t of it
_BLURRED = 1e-3  # share of t from which on d is too much for the bounds
_MANY = 1e6  # levels times half-widths
_ALIKE = 1e-6  # relative; half-widths that change no weight by more are one half-width
_ROUNDED = 1 + 1e-5  # what summing costs, and taking wide entries for infinitely wide ones


@dataclass(frozen=True)
class Levels:
    """The law of the levels of K-norm noise.

    Attributes:
        spread: t.
        size: N.
        narrow: for entries whose half-width is no large number, (r/h_j, how many entries have it).
        blur: the mean of all d_j.
    """

    spread: float
    size: int
    narrow: tuple[tuple[float, int], ...]
    blur: float

    @classmethod
    def of(cls, spread: float, half: Array) -> "Levels":
        """Of half-widths in units of the grid, all of them positive."""
        ratios = 2 * half.size / half
        narrow, counts = np.unique(ratios[ratios * half.size > _ALIKE], return_counts=True)
        pairs = tuple((float(one), int(count)) for one, count in zip(narrow, counts, strict=True))
        return cls(spread, half.size, pairs, float(ratios.mean()) / 2)

    @property
    def _is_listed(self) -> bool:
        """Whether levels are few enough to go through all of them, and it is worth that."""
        few = self.spread * self.size * max(len(self.narrow), 1) < _MANY
        return self.spread < _WIDE or (few and self.blur > _BLURRED * self.spread)

    def moments(self) -> tuple[float, float]:
        """Upper bounds of E k and E k^2."""
        if self._is_listed:
            weights = _weights(self)
            k = np.arange(weights.size)
            return float(weights @ k) * _ROUNDED, float(weights @ k**2) * _ROUNDED
        n, t = self.size, self.spread
        d, e = self.blur / t, 4 * (2 * np.pi * t) ** -min(n + 1.0, 40.0)
        slack = float(((1 + e) / (1 - e)) ** 2 * np.exp(d) / (1 - 2 * d)) * (1 + 1e-12)
        return (n + 1) * t * slack, (n + 1) * (n + 2) * t * t * slack

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Levels for simulation."""
        if not self._is_listed:
            return np.asarray(rng.gamma(self.size + 1, self.spread, shape))
        ends = np.cumsum(_weights(self))
        return np.asarray(np.searchsorted(ends, rng.random(shape) * ends[-1], side="right").astype(float))


@lru_cache(maxsize=16)
def _weights(levels: Levels) -> Array:
    """The probabilities of the levels 0, 1, 2, ..., but for less than e^-60 at the far end."""
    n, t = levels.size, levels.spread
    k = np.arange(int(t * (n + 70 + 12 * np.sqrt(n))) + 80, dtype=float)
    wide = n - sum(count for _, count in levels.narrow)
    with np.errstate(divide="ignore"):
        logs = -k / t + (wide * np.log(k) if wide else 0.0)
    for ratio, count in levels.narrow:
        # floor(k h/r) by a quotient that is at most a rounding too small where it is whole
        logs += count * np.log((np.floor(k / ratio * (1 + 1e-14)) + 0.5) * ratio)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
