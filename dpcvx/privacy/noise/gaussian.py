"""Gaussian noise: for the 2-norm and delta > 0, by way of zero-concentrated privacy."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy import samplers
from dpcvx.privacy.gaussian_calibration import gaussian_epsilon, zcdp_epsilon, zcdp_rho
from dpcvx.privacy.noise.law import Law, Price, Spent, rounded_up
from dpcvx.privacy.opendp import discrete_gaussian


@dataclass(frozen=True)
class Gaussian(Law):
    """Density proportional to exp(-|z|_2^2/(2 scale^2))."""

    key = "gaussian"
    name = "Gaussian"
    norm = 2

    @classmethod
    def accepts(cls, delta: float) -> bool:
        return delta > 0

    @classmethod
    def check_delta(cls, delta: float) -> None:
        if not cls.accepts(delta):
            raise ArgumentError("Gaussian noise needs delta > 0.")

    @classmethod
    def rho(cls, epsilon: float, delta: float) -> float | None:
        return zcdp_rho(epsilon, delta)

    @classmethod
    def per_unit(cls, count: int, epsilon: float, delta: float) -> float:
        # each release of sensitivity 1 costs 1/(2 sigma^2), and these add up to rho
        return float(np.sqrt(max(count, 1) / (2 * zcdp_rho(epsilon, delta))))

    def claimed(self, count: int, moved: float, delta: float) -> Spent:
        rho = count * (moved / self.scale) ** 2 / 2 if count and moved else 0.0
        return Spent(zcdp_epsilon(rho, delta) if rho else 0.0, rho)

    def exact(self, shift: float, delta: float) -> Spent:
        mu = float(shift / self.scale)
        return Spent(gaussian_epsilon(mu, delta), mu * mu / 2)

    def length(self, shift: Sequence[int] | Sequence[float]) -> float:
        return float(np.linalg.norm(np.array(shift, dtype=float)))

    def price(self, shift: Sequence[int] | Sequence[float]) -> Price:
        squares = sum(entry * entry for entry in shift)  # whole numbers add up exactly
        return Price(rho=float(squares / (2 * self.scale**2)))

    def cost(self, distance: int | float) -> float:
        return rounded_up((Fraction(distance) / Fraction(self.scale)) ** 2 / 2)

    def together(self, count: int) -> float:
        return float(np.sqrt(count))

    @property
    def standard_deviation(self) -> float:
        return self.scale

    @property
    def mean_absolute(self) -> float:
        return float(np.sqrt(2 / np.pi))

    def log_moment(self, s: float) -> float:
        return (s * self.scale) ** 2 / 2

    def summands(self, terms: int, deviation: float) -> tuple[Law, int]:
        return Gaussian(deviation), 1

    def log_ratio(self, noisy: Array, first: Array, second: Array) -> Array:
        return np.asarray((noisy - (first + second) / 2) @ (first - second) / self.scale**2)

    def measurement(self, size: int) -> Any:
        return discrete_gaussian(size, self.scale)

    def exact_draws(self, shape: tuple[int, ...]) -> Array:
        return samplers.gaussian(self.scale, shape)

    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        noise = rng.standard_normal(shape)
        noise *= self.scale  # together faster than NumPy's normal draws with a scale
        return noise
