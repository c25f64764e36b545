"""Exact noise by either sampler: how long a draw takes, whether the law is right, and what a float would get wrong."""

import time

import cvxpy as cp
import numpy as np

from dpcvx import LossSet
from dpcvx.arrays import Array
from dpcvx.privacy import PrivateSums
from dpcvx.privacy.noise import SAMPLERS, Gaussian, Laplace, Law
from dpcvx.privacy.noise.drawing import release

COUNT = 20_000
NOTHING = np.zeros(COUNT, dtype=np.int64)  # what the noise hides here


def timed(law: Law, sampler: str) -> tuple[Array, float]:
    """Draws of a law, and microseconds for each."""
    release(law, NOTHING[:100], sampler)
    begun = time.perf_counter()
    draws = release(law, NOTHING, sampler)
    return draws, (time.perf_counter() - begun) / COUNT * 1e6


def chi_square(draws: Array, weights: Array) -> float:
    """Distance of the draws -4, ..., 4 from what their weights say; about 8, and above 43 once in a million runs."""
    kept = draws[np.abs(draws) <= 4]
    expected = weights / weights.sum() * kept.size
    return float(((np.bincount(kept + 4, minlength=9) - expected) ** 2 / expected).sum())


z = np.arange(-4, 5)
for law, weights in ((Laplace(1.0), np.exp(-np.abs(z))), (Gaussian(1.0), np.exp(-(z**2) / 2))):
    for sampler in SAMPLERS:
        draws, taken = timed(law, sampler)
        print(f"{law.name:8s} {sampler:6s} {taken:6.2f} us a value, chi-square {chi_square(draws, weights):7.1f}")

rounded = np.rint(np.random.default_rng(0).laplace(0, 1.0, COUNT)).astype(np.int64)
print(f"Laplace  floats, rounded:         chi-square {chi_square(rounded, np.exp(-np.abs(z))):7.1f}")

loss = cp.Variable(20_000)
sums = PrivateSums(LossSet(loss, [loss >= 0, loss <= 1]), horizon=64, epsilon=1.0, noise="laplace")
begun = time.perf_counter()
for _ in range(10):
    sums.update(np.ones(20_000))
print(f"20,000 links: {(time.perf_counter() - begun) * 100:.0f} ms a round")
print(sums.certificate)
