"""The noise on one released prefix as a random vector: what a regret bound needs to know of a counter."""

from dataclasses import dataclass

import numpy as np

from dpcvx.privacy.plan import Plan


@dataclass(frozen=True)
class PrefixNoise:
    """The noise of the worst prefix, in the units of the loss; symmetric about 0.

    Attributes:
        law: "Laplace", "Gaussian" or "K-norm".
        scale: of one term, and `terms` of them; a Gaussian counts as one term of scale `deviation`.
        deviation: standard deviation of one coordinate (of the one that varies most).
        constant: whether every prefix has this law; otherwise it grows to it, as s_t g with one g.
    """

    law: str
    scale: float
    terms: int
    deviation: float
    constant: bool

    def log_moment(self, s: float) -> float:
        """log E exp(s z) of one coordinate z, where coordinates are independent; infinite where it is not known."""
        if self.law == "Gaussian":
            return (s * self.deviation) ** 2 / 2
        if self.law == "Laplace":
            share = (s * self.scale) ** 2
            return -self.terms * float(np.log1p(-share)) if share < 1 else float("inf")
        return float("inf")

    @property
    def largest_rate(self) -> float:
        """Above this s the moment is infinite."""
        return 1 / self.scale if self.law == "Laplace" else float("inf")

    @property
    def mean_absolute(self) -> float:
        """An upper bound of E |z| of one coordinate."""
        return self.deviation * (float(np.sqrt(2 / np.pi)) if self.law == "Gaussian" else 1.0)

    @property
    def gaussian(self) -> bool:
        return self.law == "Gaussian"


def gaussian_noise(deviation: float) -> PrefixNoise:
    """Gaussian noise of one deviation at every time."""
    return PrefixNoise("Gaussian", deviation, 1, deviation, True)


def prefix_noise(plan: Plan) -> PrefixNoise | None:
    """The noise of the last prefix of a plan; None where no prefix depends on a loss."""
    if not plan.terms:
        return None
    return PrefixNoise(
        plan.law.name, plan.law.scale * plan.grid.step, plan.terms, plan.prefix_deviation, plan.counter != "toeplitz"
    )
