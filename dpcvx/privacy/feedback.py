"""Noise on the feedback of a bandit: the one number <loss, action> that a learner sees.

Given the action, replacing the loss moves <loss, action> within its interval [lo, hi] over the loss set. Every value is
clipped to that very interval, rounded to a grid and summed over a batch as an integer; Laplace noise of scale
(hi - lo)/epsilon on the sum makes what follows private. The action is public by then, so the interval may depend on it.
"""

import math
from functools import lru_cache

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.noise import Laplace, SecureSource
from dpcvx.privacy.sensitivity import Grid, check_neighbours
from dpcvx.sets import LossSet

_SCALES = 64  # secure scales for each factor of 2; a scale is rounded up to one of them
_FINE = 2.0**-30  # the grid, relative to the largest feedback
SLACK = 2 ** (1 / _SCALES)  # how much a scale may be rounded up


class NoisyFeedback:
    """Sums of feedback over the rounds of one action, released with noise.

    Args:
        loss_set: Y.
        magnitude: an upper bound of |<loss, action>|.
        epsilon: of one release, for a person in `rounds_per_person` rounds.
        neighbours: "replace" or "zero-out".
        rng: for simulation; None is secure.
    """

    def __init__(
        self,
        loss_set: LossSet,
        magnitude: float,
        epsilon: float,
        neighbours: str = "replace",
        rounds_per_person: int = 1,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.loss_set, self.epsilon = loss_set, epsilon
        self.neighbours = check_neighbours(neighbours)
        self.rounds_per_person = rounds_per_person
        self._rng = rng
        self.grid = Grid(math.ceil(math.log2(magnitude * _FINE)) if magnitude > 0 else -30)

    def interval(self, actions: Array) -> tuple[Array, Array]:
        """The ends of the feedback of actions (on leading axes), in whole units of the grid."""
        low, high = self.loss_set.ranges(actions)
        return np.rint(low / self.grid.step), np.rint(high / self.grid.step)

    def units(self, value: Array, interval: tuple[Array, Array]) -> Array:
        """One round's feedback in whole units, clipped to its interval; under "zero-out" 0 stays 0."""
        clipped = np.clip(np.rint(value / self.grid.step), *interval)
        return np.where(value == 0, 0.0, clipped) if self.neighbours == "zero-out" else clipped

    def moved(self, interval: tuple[Array, Array]) -> Array:
        """How far one person moves the sum, in units."""
        low, high = interval
        one = high - low if self.neighbours == "replace" else np.maximum(np.abs(low), np.abs(high))
        return np.asarray(self.rounds_per_person * one)

    def release(self, total: Array, interval: tuple[Array, Array]) -> Array:
        """The sum of a batch with noise, in the units of the feedback; where nothing can move, nothing is drawn."""
        moved = self.moved(interval)
        if self._rng is not None:
            return (total + self._rng.laplace(0.0, 1.0, total.shape) * moved / self.epsilon) * self.grid.step
        if not moved:
            return np.asarray(total * self.grid.step)
        source = _source(_rounded_up(float(moved) / self.epsilon))
        if source.cost(int(moved)) > self.epsilon * (1 + 1e-11):
            raise AssertionError("The release costs more than the certificate claims.")
        exact = np.array([[int(total)]], dtype=np.int64)
        return np.asarray(float(exact[0, 0] + source.draw(exact)[0, 0]) * self.grid.step)


def _rounded_up(scale: float) -> float:
    """The next of a few scales, so that a mechanism is not built anew for every action."""
    return float(2.0 ** (math.ceil(math.log2(scale) * _SCALES + 1e-9) / _SCALES))


@lru_cache(maxsize=1024)
def _source(scale: float) -> SecureSource:
    return SecureSource(Laplace(scale), 1)
