"""The Toeplitz counter: prefix sums by the square root of the matrix of ones, which is close to the best factors."""

from functools import lru_cache

from dpcvx.privacy.counters.factorisation import Factorisation
from dpcvx.privacy.counters.toeplitz_factors import LARGEST, ToeplitzFactors, toeplitz_factors


class Toeplitz(Factorisation):
    """Gaussian prefix sums with close to the least noise that any factorisation allows."""

    key = "toeplitz"
    name = "Toeplitz square root"
    largest_horizon = LARGEST

    @classmethod
    def factors(cls, horizon: int) -> ToeplitzFactors:
        return _factors(horizon)


@lru_cache(maxsize=64)
def _factors(horizon: int) -> ToeplitzFactors:
    return toeplitz_factors(max(horizon - 1, 1))
