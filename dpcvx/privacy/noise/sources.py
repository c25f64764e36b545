"""Where noise comes from: exact integers from OpenDP or from the package's own samplers, or NumPy for simulation.

A source draws: `draw(values)` returns the noise that was added to the released values. The secure sources never take a
seed: one hands the true integers to OpenDP, the other adds exact noise that was drawn ahead and looks at no value. The
simulated source needs a generator and is never private. `noise_source` is the one place where the sources of running
sums and of secure feedback are made: inside a coupling (see `script`) it makes scripted ones, whose releases follow a
script and are kept with the values that they should have hidden.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ProtocolError
from dpcvx.privacy.noise.law import Law
from dpcvx.privacy.noise.script import Script, current_script
from dpcvx.privacy.samplers import LaplaceStream
from dpcvx.privacy.secret import Secret
from dpcvx.storage.process import ProcessGuard

_BLOCK = 8192  # numbers that are drawn at once
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


class AheadSource(Source):
    """Noise that depends on no value, and is drawn in blocks before it is needed. Each row is handed out once."""

    needs_values = False

    def __init__(self) -> None:
        self._block = np.zeros((0,))
        self._shape: tuple[int, ...] | None = None
        self._left = 0  # rows of the block that were not handed out

    @abstractmethod
    def _drawn(self, shape: tuple[int, ...]) -> Array:
        """New noise."""

    def draw(self, values: Array) -> Array:
        return self.fresh(len(values), values.shape[1:])

    def fresh(self, count: int, shape: tuple[int, ...]) -> Array:
        left = self._left - count
        if left < 0 or shape != self._shape:
            rows = _BLOCK // max(1, math.prod(shape))
            if count > rows * _LARGE:
                return self._drawn((count, *shape))
            self._left = 0  # an interruption must not leave rows of the one block with the count of the other
            self._block, self._shape = self._drawn((rows, *shape)), shape
            left = rows - count
        self._left = left
        return self._block[left : left + count]


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
        _check_values(values, self.size)
        exact = values.reshape(-1, self.size).tolist()
        released = np.array([self._release(row) for row in exact], dtype=np.int64)
        return np.asarray(released.reshape(values.shape) - values)

    def saved(self) -> tuple[Any, ...]:
        return secure_source, (self.law, self.size)  # a loaded one draws new noise in its own process


class VectorSource(Secret, AheadSource):
    """The package's own exact samplers on integers, by the entropy of the operating system; see `samplers`.

    What waits in the block is as secret as the values that it will hide: it belongs to one process, is not copied, and
    a checkpoint does not hold it.
    """

    secure = True
    described = "secure noise source"

    def __init__(self, law: Law, size: int) -> None:
        super().__init__()
        self.law, self.size = law, size
        law.exact_draws((0, size))  # refuses laws and scales without an exact sampler
        self._guard = ProcessGuard()

    def cost(self, distance: int | float) -> float:
        """What one release costs that moves by `distance`, by the formula of the law: epsilon, or rho for Gaussian."""
        return self.law.cost(distance)

    def draw(self, values: Array) -> Array:
        _check_values(values, self.size)
        return super().draw(values)

    def fresh(self, count: int, shape: tuple[int, ...]) -> Array:
        self._guard.check()
        return super().fresh(count, shape)

    def _drawn(self, shape: tuple[int, ...]) -> Array:
        return self.law.exact_draws(shape)

    def saved(self) -> tuple[Any, ...]:
        return secure_source, (self.law, self.size, "vector")  # a loaded one draws new noise in its own process


class StreamSource(Secret, Source):
    """Exact Laplace noise on single numbers, each of a scale of its own, from a stream that was drawn ahead.

    It holds the law of one release; the stream, which goes on from release to release, holds what is secret.
    """

    secure = True
    needs_values = False
    described = "secure noise source"

    def __init__(self, law: Law, stream: LaplaceStream) -> None:
        self.law, self._stream = law, stream

    def cost(self, distance: int | float) -> float:
        """What one release costs that moves by `distance`, by the formula of the law."""
        return self.law.cost(distance)

    def draw(self, values: Array) -> Array:
        _check_values(values, 1)
        noise = [self._stream.draw(self.law.scale) for _ in range(values.size)]
        return np.array(noise, dtype=np.int64).reshape(values.shape)


class ScriptedSource(Secret, Source):
    """Releases what a script says, whatever the values, and lets the script keep both: for couplings.

    What it released tells nothing, so it is private and useless. It is refused outside of its coupling.
    """

    secure = True
    described = "scripted noise source"

    def __init__(self, law: Law, size: int, script: Script, sampler: str = "opendp") -> None:
        law.measurement(size)  # refuses laws without an exact sampler
        self.law, self.size, self._script, self._sampler = law, size, script, sampler

    def draw(self, values: Array) -> Array:
        if current_script() is not self._script:
            raise ProtocolError("A mechanism that was made inside a coupling is of no use outside of it.")
        return np.asarray(self._script.vector(self.law, values) - values)

    def saved(self) -> tuple[Any, ...]:
        return secure_source, (self.law, self.size, self._sampler)


# by the name that users give
SAMPLERS: dict[str, type[SecureSource] | type[VectorSource]] = {"opendp": SecureSource, "vector": VectorSource}


def check_sampler(name: object) -> None:
    """Refuse what is no name of a sampler; None leaves the choice to the package."""
    if name is not None and (not isinstance(name, str) or name not in SAMPLERS):
        raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)}, not {name!r}.")


def secure_source(law: Law, size: int, sampler: str = "opendp") -> Source:
    """A new source of secure noise; inside a coupling a scripted one, whichever sampler it stands for."""
    script = current_script()
    return SAMPLERS[sampler](law, size) if script is None else ScriptedSource(law, size, script, sampler)


class SimulatedSource(AheadSource):
    """NumPy's generator: fast and reproducible, not private. Small draws are made in blocks."""

    secure = False

    def __init__(self, law: Law, rng: np.random.Generator) -> None:
        super().__init__()
        self._law, self.rng = law, rng

    def _drawn(self, shape: tuple[int, ...]) -> Array:
        return self._law.simulate(self.rng, shape)


def noise_source(
    law: Law,
    size: int,
    rng: np.random.Generator | None = None,
    *,
    count: int,
    moved: int | float,
    allowed: float,
    sampler: str = "opendp",
    stream: LaplaceStream | None = None,
) -> Source:
    """The source of the noise of releases of `size` entries: secure, or a simulation where a generator is given.

    A secure release has its price, by OpenDP's own map or by the formula of the law, rounded up: our count of releases
    times that price must not exceed the claim.

    Args:
        law: with its scale.
        size: entries of one release.
        rng: for simulation.
        count: releases that one loss enters.
        moved: how far one person moves one of them.
        allowed: what they may cost together: epsilon, or rho for Gaussian noise.
        sampler: "opendp" or "vector", of secure noise.
        stream: for "vector", Laplace noise on single numbers: where the draws are taken from.
    """
    if rng is not None:
        return SimulatedSource(law, rng)
    if stream is not None and sampler == "vector" and current_script() is None:
        source: Source = StreamSource(law, stream)
    else:
        source = secure_source(law, size, sampler)
    if isinstance(source, ScriptedSource):
        return source  # a coupling counts for itself
    assert isinstance(source, SecureSource | VectorSource | StreamSource)
    price = count * source.cost(moved)
    if price > allowed * (1 + _SLACK):
        raise AssertionError(f"The releases cost {price}, more than the {allowed} that the certificate claims.")
    return source


def _check_values(values: Array, size: int) -> None:
    if values.dtype != np.int64:
        raise TypeError(f"Secure noise is added to 64-bit integers, not to {values.dtype}.")
    if values.shape[-1] != size:
        raise ValueError(f"A release of {values.shape[-1]} entries from a source for {size}.")
