"""Where noise comes from: exact integers from OpenDP, or NumPy for simulation.

A source draws: `draw(values)` returns the noise that was added to the released values. The secure source hands the true
integers to OpenDP and never takes a seed; the simulated source needs a generator and is never private. `noise_source`
is the one place where the sources of running sums and of secure feedback are made: inside a coupling (see `script`) it
makes scripted ones, whose releases follow a script and are kept with the values that they should have hidden.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ProtocolError
from dpcvx.privacy.noise.law import Law
from dpcvx.privacy.noise.script import Script, current_script
from dpcvx.privacy.secret import Secret
from dpcvx.storage.process import ProcessGuard

_BLOCK = 8192  # numbers that a simulation draws at once
_LARGE = 1 / 8  # of a block: larger draws are made by themselves, and the block stays as it is
_SLACK = 1e-11  # relative; scales are rounded up by less than that


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


class SecureSource(Secret, Source):
    """OpenDP's exact samplers on integers, seeded by the operating system.

    A source belongs to the process that made it, and copies of it would repeat nothing but could release the same
    state twice: copying, pickling and use after a fork raise.
    """

    secure = True
    described = "secure noise source"

    def __init__(self, law: Law, size: int) -> None:
        self._release = law.measurement(size)
        self.law, self.size = law, size
        self._guard = ProcessGuard()

    def cost(self, distance: int | float) -> float:
        """What OpenDP's map charges for one release that moves by `distance`: epsilon, or rho for Gaussian noise."""
        return float(self._release.map(distance))

    def draw(self, values: Array) -> Array:
        self._guard.check()
        if values.dtype != np.int64:
            raise TypeError(f"Secure noise is added to 64-bit integers, not to {values.dtype}.")
        if values.shape[-1] != self.size:
            raise ValueError(f"A release of {values.shape[-1]} entries from a source for {self.size}.")
        exact = values.reshape(-1, self.size).tolist()
        released = np.array([self._release(row) for row in exact], dtype=np.int64)
        return np.asarray(released.reshape(values.shape) - values)

    def saved(self) -> tuple[Any, ...]:
        return secure_source, (self.law, self.size)  # a loaded one draws new noise in its own process


class ScriptedSource(Secret, Source):
    """Releases what a script says, whatever the values, and lets the script keep both: for couplings.

    What it released tells nothing, so it is private and useless. It is refused outside of its coupling.
    """

    secure = True
    described = "scripted noise source"

    def __init__(self, law: Law, size: int, script: Script) -> None:
        law.measurement(size)  # refuses laws without an exact sampler
        self.law, self.size, self._script = law, size, script

    def draw(self, values: Array) -> Array:
        if current_script() is not self._script:
            raise ProtocolError("A mechanism that was made inside a coupling is of no use outside of it.")
        return np.asarray(self._script.vector(self.law, values) - values)

    def saved(self) -> tuple[Any, ...]:
        return secure_source, (self.law, self.size)


def secure_source(law: Law, size: int) -> Source:
    """A new source of secure noise; inside a coupling a scripted one."""
    script = current_script()
    return SecureSource(law, size) if script is None else ScriptedSource(law, size, script)


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
            if count > rows * _LARGE:
                return self._law.simulate(self.rng, (count, *shape))
            self._block, self._shape = self._law.simulate(self.rng, (rows, *shape)), shape
            left = rows - count
        self._left = left
        return self._block[left : left + count]


def noise_source(
    law: Law, size: int, rng: np.random.Generator | None = None, *, count: int, moved: int | float, allowed: float
) -> Source:
    """The source of the noise of releases of `size` entries: secure, or a simulation where a generator is given.

    OpenDP's own map prices a secure release: our count of releases times that price must not exceed the claim.

    Args:
        law: with its scale.
        size: entries of one release.
        rng: for simulation.
        count: releases that one loss enters.
        moved: how far one person moves one of them.
        allowed: what they may cost together: epsilon, or rho for Gaussian noise.
    """
    if rng is not None:
        return SimulatedSource(law, rng)
    source = secure_source(law, size)
    if not isinstance(source, SecureSource):
        return source  # a coupling counts for itself
    price = count * source.cost(moved)
    if price > allowed * (1 + _SLACK):
        raise AssertionError(f"The releases cost {price}, more than the {allowed} that the certificate claims.")
    return source
