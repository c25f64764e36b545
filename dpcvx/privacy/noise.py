"""The laws of the noise, and where it comes from: exact integers from OpenDP, or NumPy for simulation.

A law knows its scale in whole units of the grid and what one release costs. A source draws: `draw(values)` returns the
noise that was added to the released values. The secure source hands the true integers to OpenDP and never takes a
seed; the simulated source needs a generator and is never private.
"""

import copy
import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpcvx.arrays import Array

_BLOCK = 8192  # numbers that a simulation draws at once
_SHARE = 8  # draws of more than this part of a block are made by themselves, and spend no block


@dataclass(frozen=True)
class Law(ABC):
    """A noise law with its scale, in units of the grid."""

    scale: float

    name = "noise"

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Of one coordinate, in units of the grid."""

    @abstractmethod
    def measurement(self, size: int) -> Any:
        """OpenDP's measurement on vectors of integers."""

    @abstractmethod
    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draws for simulation, in units of the grid."""


@dataclass(frozen=True)
class Laplace(Law):
    """Density proportional to exp(-|z|_1/scale)."""

    name = "Laplace"

    @property
    def standard_deviation(self) -> float:
        return float(np.sqrt(2) * self.scale)

    def measurement(self, size: int) -> Any:
        return _measurement("laplace", size, self.scale)

    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        # the difference of two exponential draws has this law, and takes half the time of NumPy's own
        noise = rng.standard_exponential(shape)
        noise -= rng.standard_exponential(shape)
        noise *= self.scale
        return noise


@dataclass(frozen=True)
class Gaussian(Law):
    """Density proportional to exp(-|z|_2^2/(2 scale^2))."""

    name = "Gaussian"

    @property
    def standard_deviation(self) -> float:
        return self.scale

    def measurement(self, size: int) -> Any:
        return _measurement("gaussian", size, self.scale)

    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        noise = rng.standard_normal(shape)
        noise *= self.scale  # together faster than NumPy's normal draws with a scale
        return noise


@dataclass(frozen=True)
class KNorm(Law):
    """Density proportional to exp(-|z|_K/scale) for K = Y - Y with Y a box or a Euclidean ball; for simulation only.

    `half` holds the half-widths of K along each coordinate in units of the grid: for a ball all entries are its radius.
    """

    half: tuple[float, ...] = ()
    body: str = "box"

    name = "K-norm"

    @property
    def standard_deviation(self) -> float:
        """Of the coordinate that varies most."""
        n = len(self.half)
        spread = 1 / 3 if self.body == "box" else 1 / (n + 2)
        return float(self.scale * np.sqrt((n + 1) * (n + 2) * spread) * max(self.half))

    def measurement(self, size: int) -> Any:
        raise ValueError("K-norm noise exists only in simulation; give a seed, or use Laplace noise.")

    def simulate(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        # z = r u with r ~ Gamma(dim + 1, scale) and u uniform on K
        half = np.array(self.half)
        n = len(half)
        if self.body == "box":
            u = rng.uniform(-1.0, 1.0, shape) * half
        else:
            u = rng.standard_normal(shape)
            u *= half / np.linalg.norm(u, axis=-1, keepdims=True)
            u *= rng.random((*shape[:-1], 1)) ** (1 / n)
        return np.asarray(rng.gamma(n + 1, self.scale, (*shape[:-1], 1)) * u)


@lru_cache(maxsize=256)
def _measurement(kind: str, size: int, scale: float) -> Any:
    """OpenDP's discrete mechanism on `size` integers; built once for each scale."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"), size=size)
    if kind == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)


class Source(ABC):
    """Where noise comes from."""

    secure: bool
    needs_values = True  # whether `draw` looks at the values, or at their shape alone

    @abstractmethod
    def draw(self, values: Array) -> Array:
        """The noise of a release of `values` (k, ..., N), each used once."""

    def fresh(self, count: int, shape: tuple[int, ...]) -> Array:
        """The noise of `count` empty releases of one shape; the noise of any, where values are not needed."""
        return self.draw(np.zeros((count, *shape), dtype=np.int64 if self.secure else np.float64))


class SecureSource(Source):
    """OpenDP's exact samplers on integers, seeded by the operating system.

    A source belongs to the process that made it, and copies of it would repeat nothing but could release the same
    state twice: copying, pickling and use after a fork raise.
    """

    secure = True

    def __init__(self, law: Law, size: int) -> None:
        self._release = law.measurement(size)
        self.law, self.size = law, size
        self._process = os.getpid()

    def cost(self, distance: int | float) -> float:
        """What OpenDP's map charges for one release that moves by `distance`: epsilon, or rho for Gaussian noise."""
        return float(self._release.map(distance))

    def draw(self, values: Array) -> Array:
        if os.getpid() != self._process:
            raise RuntimeError(
                "A private learner was used after a fork; its noise would be shared. Make one in each process."
            )
        if values.dtype != np.int64:
            raise TypeError(f"Secure noise is added to 64-bit integers, not to {values.dtype}.")
        if values.shape[-1] != self.size:
            raise ValueError(f"A release of {values.shape[-1]} entries from a source for {self.size}.")
        exact = values.reshape(-1, self.size).tolist()
        released = np.array([self._release(row) for row in exact], dtype=np.int64)
        return np.asarray(released.reshape(values.shape) - values)

    def __deepcopy__(self, memo: dict[int, Any]) -> "SecureSource":
        raise copy.Error("A secure noise source cannot be copied: two learners would release the same private state.")

    def __copy__(self) -> "SecureSource":
        raise copy.Error("A secure noise source cannot be copied: two learners would release the same private state.")

    def __reduce__(self) -> tuple[Any, ...]:
        raise copy.Error("A secure noise source cannot be pickled; save the learner instead.")


class SimulatedSource(Source):
    """NumPy's generator: fast and reproducible, not private. Small draws are made in blocks."""

    secure = False
    needs_values = False

    def __init__(self, law: Law, rng: np.random.Generator) -> None:
        self._law, self.rng = law, rng
        self._block = np.zeros((0,))
        self._shape: tuple[int, ...] | None = None
        self._left = 0  # rows of the block that were not handed out

    def draw(self, values: Array) -> Array:
        return self.fresh(len(values), values.shape[1:])

    def fresh(self, count: int, shape: tuple[int, ...]) -> Array:
        left = self._left - count
        if left < 0 or shape != self._shape:
            rows = _BLOCK // max(1, math.prod(shape))
            if _SHARE * count > rows:
                return self._law.simulate(self.rng, (count, *shape))
            self._block, self._shape = self._law.simulate(self.rng, (rows, *shape)), shape
            left = rows - count
        self._left = left
        return self._block[left : left + count]
