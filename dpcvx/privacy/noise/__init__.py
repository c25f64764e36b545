"""Noise: the laws that can be asked for by name, and the sources that draw it."""

from dpcvx.privacy.noise.gaussian import Gaussian
from dpcvx.privacy.noise.k_norm import KNorm
from dpcvx.privacy.noise.laplace import Laplace
from dpcvx.privacy.noise.law import Law, Releases, Spent
from dpcvx.privacy.noise.sources import SecureSource, SimulatedSource, Source, noise_source

# by the name that users give; where none is given, the first that accepts delta
LAWS: dict[str, type[Law]] = {law.key: law for law in (Laplace, Gaussian, KNorm)}

__all__ = [
    "LAWS",
    "Gaussian",
    "KNorm",
    "Laplace",
    "Law",
    "Releases",
    "SecureSource",
    "SimulatedSource",
    "Source",
    "Spent",
    "noise_source",
]
