"""Noise: the laws that can be asked for by name, the sources that draw it, and scripts in its place."""

from dpcvx.privacy.noise.gaussian import Gaussian
from dpcvx.privacy.noise.k_norm import KNorm
from dpcvx.privacy.noise.laplace import Laplace
from dpcvx.privacy.noise.law import Law, Price, Releases, Spent
from dpcvx.privacy.noise.script import Script, own_generator, scripted
from dpcvx.privacy.noise.sources import (
    SAMPLERS,
    ScriptedSource,
    SecureSource,
    SimulatedSource,
    Source,
    VectorSource,
    check_sampler,
    noise_source,
)

# by the name that users give
LAWS: dict[str, type[Law]] = {law.key: law for law in (Laplace, Gaussian, KNorm)}

__all__ = [
    "LAWS",
    "SAMPLERS",
    "Gaussian",
    "KNorm",
    "Laplace",
    "Law",
    "Price",
    "Releases",
    "Script",
    "ScriptedSource",
    "SecureSource",
    "SimulatedSource",
    "Source",
    "Spent",
    "VectorSource",
    "check_sampler",
    "noise_source",
    "own_generator",
    "scripted",
]
