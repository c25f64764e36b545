"""Private sums as far as they are public: what becomes of a loss, which counter takes it, where the noise comes from.

The sums run on it; an audit runs on it too, with more runs at once and sources of its own, and needs nothing that the
sums keep to themselves.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.clipping import Clipping
from dpcvx.privacy.counters import Counter
from dpcvx.privacy.noise import Source
from dpcvx.privacy.plan import Plan
from dpcvx.sets import LossSet


@dataclass(frozen=True, eq=False)
class Mechanism:
    """How one epoch of private sums works.

    Attributes:
        plan: the calibration.
        clipping: what comes before rounding.
        rounds_per_person: rounds in which one person's data may appear.
        rng: of a simulation, which is never private; None where the noise is secure.
    """

    plan: Plan
    clipping: Clipping
    rounds_per_person: int
    rng: np.random.Generator | None

    @property
    def secure(self) -> bool:
        return self.rng is None

    @property
    def loss_set(self) -> LossSet:
        return self.clipping.loss_set

    @property
    def leading(self) -> tuple[int, ...]:
        """Axes of replicas, before those of a loss."""
        return self.clipping.leading

    def units(self, loss: Any) -> Array:
        """What a loss adds to the sum, in units of the grid: clipped, and rounded where the noise is secure."""
        return self.rounded(self.clipping.clipped(loss))

    def rounded(self, clipped: Array) -> Array:
        """A vector of the loss set in units of the grid: whole ones where the noise is secure."""
        grid = self.plan.grid
        return grid.round(clipped, self.plan.sensitivity.toward_zero) if self.secure else clipped / grid.step

    def source(self, size: int) -> Source:
        """A new source of noise for releases of `size` entries."""
        return self.plan.source(size, None if self.rng is None else self.rng.spawn(1)[0])

    def counter(self, shape: tuple[int, ...], source: Source) -> Counter:
        """A new counter on a source of noise."""
        return self.plan.make(shape, source)
