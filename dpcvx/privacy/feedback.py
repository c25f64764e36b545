"""Noise on the feedback of a bandit: the one number <loss, action> that a learner sees.

Given the action, replacing the loss moves <loss, action> within its interval [low, high] over the loss set. Every value
is clipped to that very interval and summed over the rounds of the action; Laplace noise of scale (high - low)/epsilon
on the sum makes what follows private. The action is public by then, so the interval may depend on it. Under "zero-out"
values are clipped to the interval with 0, and move by at most its end farther from 0. Under a declared change a value
moves by no more than that changes <loss, action> at any action, and the noise has one scale for all actions.

Secure feedback is whole numbers from the clipped value to the noisy sum: the ends are rounded to a grid, a value is
clipped to the rounded ends and rounded, so the interval is never shorter than what one loss can move.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.neighbours import Neighbours, relation_for
from dpcvx.privacy.noise import Laplace, noise_source
from dpcvx.privacy.samplers import LaplaceStream
from dpcvx.privacy.secret import Secret
from dpcvx.privacy.sensitivity import Grid
from dpcvx.sets import LossSet
from dpcvx.storage.process import ProcessGuard

_FINE = 2.0**-40  # the grid, relative to the largest feedback
_FLOATS = 2.0**-52  # of the largest feedback: no grid is finer
Interval = tuple[Any, Any]  # whole units of the grid, or real numbers on leading axes


def feedback_grid(magnitude: float, batch: int, noise: float, fine: float = math.inf) -> Grid:
    """A grid fine against the feedback, and coarse enough that no sum of 64-bit integers can overflow.

    Args:
        magnitude: an upper bound of |<loss, action>|.
        batch: how many are summed.
        noise: the largest scale of the noise.
        fine: a finer step that is wanted; no finer than floating-point numbers of that magnitude are.

    Raises:
        OverflowError: where feedback, batch and noise are too far apart for 64-bit integers.
    """
    if magnitude == 0:
        return Grid(-30)
    coarse = max(magnitude * batch, noise * 64) * 2.0**-58  # sums below 2^58 units, noise below 2^52
    if not coarse <= magnitude * 2.0**-8 or not 1e-290 < magnitude < 1e290:
        raise OverflowError(
            f"Sums of {batch} values up to {magnitude:.3g} with noise {noise:.3g} do not fit into 64-bit integers on "
            "any useful grid; shorten the batch, scale the losses or raise epsilon."
        )
    return Grid(math.ceil(math.log2(max(min(magnitude * _FINE, fine), magnitude * _FLOATS, coarse))))


class Feedback(ABC):
    """Sums of the feedback of one action, released with noise.

    Args:
        loss_set: Y.
        epsilon: of one release, for a person in `rounds_per_person` rounds.
        neighbours: "replace", "zero-out" or a `Change`.
        change: how far one loss moves the value of any action, in the units of what is summed; None where each action
            has its own, which is that of its interval.
    """

    def __init__(
        self,
        loss_set: LossSet,
        epsilon: float,
        neighbours: str | Neighbours = "replace",
        rounds_per_person: int = 1,
        change: float | None = None,
    ) -> None:
        self.loss_set, self.epsilon = loss_set, epsilon
        self.neighbours = relation_for(neighbours, loss_set)
        self.rounds_per_person = rounds_per_person
        self.change = change
        if change is None and self.neighbours.declared_change:
            raise ArgumentError("Feedback under a declared change needs to be told how far that moves a value.")

    def _ends(self, action: Array) -> tuple[Array, Array]:
        return self.neighbours.interval(*self.loss_set.ranges(action))

    def moved(self, interval: Interval) -> Any:
        """How far one person moves the sum of an action with this interval, in all of the person's rounds.

        The ends are what is rounded, and a value lies between them: one round moves the sum by the length of the
        rounded interval, nothing is added to it. The j rounds that a person has under one action move its sum by
        j/rounds_per_person of this, and over all actions these shares of epsilon add up to 1.
        """
        if self.change is not None:
            return self.rounds_per_person * self.change
        return self.rounds_per_person * self.neighbours.width(*interval)

    @abstractmethod
    def interval(self, action: Array) -> Interval:
        """The ends of what is summed for an action."""

    @abstractmethod
    def clipped(self, value: Any, interval: Interval) -> Any:
        """What one round's feedback adds to the sum."""

    @abstractmethod
    def release(self, total: Any, action: Array, interval: Interval) -> Any:
        """The sum with noise, in the units of the feedback."""

    @abstractmethod
    def check_process(self) -> None:
        """Refuse to go on after a fork, where noise is secure."""


class SecureFeedback(Secret, Feedback):
    """Exact integer noise on whole units of a grid.

    It belongs to one process, and only `save` writes it to a file. Its noise has the scale of the action, so each
    release has a source of its own; `sampler` says which, "opendp" or "vector".
    """

    described = "secure feedback"

    def __init__(
        self,
        loss_set: LossSet,
        epsilon: float,
        grid: Grid,
        neighbours: str | Neighbours = "replace",
        rounds_per_person: int = 1,
        change: int | None = None,
        sampler: str = "opendp",
    ) -> None:
        super().__init__(loss_set, epsilon, neighbours, rounds_per_person, change)
        self.grid, self.sampler = grid, sampler
        self._stream = LaplaceStream()
        self._guard = ProcessGuard()

    def check_process(self) -> None:
        self._guard.check()

    def interval(self, action: Array) -> Interval:
        low, high = self._ends(action)
        return round(float(low) / self.grid.step), round(float(high) / self.grid.step)

    def moved(self, interval: Interval) -> int:
        return int(super().moved(interval))

    def clipped(self, value: Any, interval: Interval) -> int:
        low, high = interval  # whole units
        step = self.grid.step  # a power of 2: ends below 2^53 and their products with it are exact
        return round(float(min(max(value, low * step), high * step)) / step)

    def release(self, total: int, action: Array, interval: Interval) -> float:
        self.check_process()
        moved = self.moved(interval)
        if not moved:
            return total * self.grid.step  # nothing is drawn: no loss can change it
        law = Laplace(moved / self.epsilon * Laplace.ROUNDED_UP)
        source = noise_source(
            law, 1, count=1, moved=moved, allowed=self.epsilon, sampler=self.sampler, stream=self._stream
        )
        exact = np.array([[total]], dtype=np.int64)
        return float(exact[0, 0] + source.draw(exact)[0, 0]) * self.grid.step


class SimulatedFeedback(Feedback):
    """NumPy's noise on real numbers, on leading axes: fast and reproducible, not private."""

    def __init__(
        self,
        loss_set: LossSet,
        epsilon: float,
        rng: np.random.Generator,
        neighbours: str | Neighbours = "replace",
        rounds_per_person: int = 1,
        change: float | None = None,
    ) -> None:
        super().__init__(loss_set, epsilon, neighbours, rounds_per_person, change)
        self._rng = rng

    def check_process(self) -> None:
        """A simulation may go on anywhere."""

    def interval(self, action: Array) -> Interval:
        return self._ends(action)

    def clipped(self, value: Any, interval: Interval) -> Any:
        low, high = interval
        return np.minimum(np.maximum(value, low), high)

    def release(self, total: Any, action: Array, interval: Interval) -> Any:
        return total + self._rng.laplace(size=np.shape(total)) * (self.moved(interval) / self.epsilon)


class VectorFeedback(SimulatedFeedback):
    """The noise <Z, action>, Z of scale B_diff/epsilon, of Algorithm 4 of "the paper", for comparison.

    The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017. B_diff, the
    largest <l - l', x>/|x|_inf, is bounded by the 1-norm diameter of the loss set.
    """

    @property
    def scale(self) -> float:
        """Of each entry of Z."""
        return self.rounds_per_person * float(self.neighbours.change(self.loss_set, 1)) / self.epsilon

    def release(self, total: Any, action: Array, interval: Interval) -> Any:
        noise = self._rng.laplace(0.0, self.scale, action.shape) * action
        return total + noise.reshape(*np.shape(total), -1).sum(axis=-1)
