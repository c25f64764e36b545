"""OpenDP's discrete mechanisms on vectors of 64-bit integers, each built once for a size and a scale."""

from functools import lru_cache
from typing import Any


def opendp() -> Any:
    """The library; loaded when it is first needed, which simulations without delta never do."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def overflows() -> type[Exception]:
    """What OpenDP raises where a number of its own calculus is not finite."""
    from opendp.mod import OpenDPException

    return OpenDPException  # type: ignore[no-any-return]  # OpenDP is partly typed


@lru_cache(maxsize=256)
def discrete_laplace(size: int, scale: float) -> Any:
    """Discrete Laplace noise; its map charges epsilon for a distance in the 1-norm."""
    dp = opendp()
    return dp.m.make_laplace(_vectors(size), dp.l1_distance(T="i64"), scale=scale)


@lru_cache(maxsize=256)
def discrete_gaussian(size: int, scale: float) -> Any:
    """Discrete Gaussian noise; its map charges rho for a distance in the 2-norm."""
    dp = opendp()
    return dp.m.make_gaussian(_vectors(size), dp.l2_distance(T="f64"), scale=scale)


def _vectors(size: int) -> Any:
    dp = opendp()
    return dp.vector_domain(dp.atom_domain(T="i64"), size=size)
