"""The noise on one released prefix as a random vector: what a regret bound needs to know of a counter."""

from dataclasses import dataclass

from dpcvx.privacy.noise import Gaussian, Law


@dataclass(frozen=True)
class PrefixNoise:
    """The noise of the worst prefix, in the units of the loss; symmetric about 0.

    Attributes:
        law: of one term, and `terms` of them add up; a sum of Gaussian noises counts as one term.
        deviation: standard deviation of one coordinate (of the one that varies most).
        constant: whether every prefix has this law; otherwise it grows to it, as s_t g with one g.
    """

    law: Law
    terms: int
    deviation: float
    constant: bool

    def log_moment(self, s: float) -> float:
        """log E exp(s z) of one coordinate z, or what may stand for it in the mean of a maximum of some <Z, v>.

        Coordinates are independent, or independent given a level of the noise, see `k_norm`; infinite where neither is.
        """
        return self.terms * self.law.log_moment(s)

    @property
    def largest_rate(self) -> float:
        """Above this s the moment is infinite."""
        return self.law.largest_rate

    @property
    def mean_absolute(self) -> float:
        """An upper bound of E |z| of one coordinate."""
        return self.deviation * self.law.mean_absolute

    @property
    def gaussian(self) -> bool:
        return isinstance(self.law, Gaussian)


def gaussian_noise(deviation: float) -> PrefixNoise:
    """Gaussian noise of one deviation at every time."""
    return PrefixNoise(Gaussian(deviation), 1, deviation, True)
