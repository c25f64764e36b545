"""Running sums of losses, with noise or without: rounds, epochs, validation and clipping are the same."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dpcvx.arguments import whole
from dpcvx.arrays import Array
from dpcvx.errors import LossOutOfSetError
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.prefix_noise import PrefixNoise
from dpcvx.privacy.sensitivity import flat_losses
from dpcvx.sets import LossSet

_FIRST_EPOCH = 16


class RunningSums(ABC):
    """The sum of the losses so far, for every round.

    Known horizon: one epoch. `horizon=None`: epochs of doubling length, each with an empty sum.

    An update ends with one assignment, so an interruption leaves the old state or the new one.

    Attributes:
        leading: axes before those of a loss; replicas.
    """

    def __init__(
        self, loss_set: LossSet, horizon: int | None, neighbours: str, on_violation: str, replicas: int | None
    ) -> None:
        if on_violation not in ("clip", "raise"):
            raise ValueError(f'on_violation must be "clip" or "raise", not {on_violation!r}.')
        self.loss_set = loss_set
        self.horizon = None if horizon is None else whole(horizon, "horizon")
        self.neighbours, self.on_violation = neighbours, on_violation
        self.leading = () if replicas is None else (whole(replicas, "replicas"),)
        self._clip = loss_set.clipper(self.leading)
        self._begin(self.horizon or _FIRST_EPOCH, 0, 0)

    @property
    @abstractmethod
    def prefix(self) -> Array:
        """The sum of this epoch in the units and the shape of the loss (replicas on a leading axis).

        Raises:
            HorizonError: where the rounds are used up.
        """

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Losses taken."""

    @property
    @abstractmethod
    def epoch(self) -> int:
        """The number of this epoch, from 0."""

    @property
    @abstractmethod
    def epoch_horizon(self) -> int:
        """Rounds of this epoch."""

    @property
    @abstractmethod
    def noise(self) -> PrefixNoise | None:
        """The noise of the worst prefix of this epoch, or None."""

    @property
    @abstractmethod
    def gaussian_deviation(self) -> float:
        """The standard deviation of the Gaussian noise in one coordinate of the present prefix; 0 for other laws."""

    @property
    def rounding(self) -> float:
        """How far the loss that is summed may be from the loss that was given, in any entry."""
        return 0.0

    @property
    @abstractmethod
    def certificate(self) -> Certificate:
        """What holds so far and to the end."""

    @property
    @abstractmethod
    def _items(self) -> int:
        """Losses of this epoch."""

    @abstractmethod
    def _begin(self, horizon: int, epoch: int, before: int) -> None:
        """Open an epoch of that many rounds with an empty sum, after `before` losses."""

    @abstractmethod
    def _add(self, clipped: Array) -> None:
        """Take one round's loss, a vector of the set."""

    def update(self, loss: Any) -> None:
        """Add one round's loss."""
        clipped = self._clipped(flat_losses(self.loss_set, loss, self.leading))
        if self.horizon is None and self._items + 1 >= self.epoch_horizon:
            # the last item of an epoch is released nowhere: the next epoch starts with an empty sum
            self._begin(2 * self.epoch_horizon, self.epoch + 1, self.rounds + 1)
        else:
            self._add(clipped)

    def _clipped(self, flat: Array) -> Array:
        if self.on_violation == "raise" and not all(self._allowed(one) for one in flat.reshape(-1, self.loss_set.size)):
            raise LossOutOfSetError("The loss is outside its declared set; nothing was changed.")
        clipped = self._clip(flat)
        if self.neighbours == "zero-out":  # the neighbour of a loss is 0, which must stay 0
            return np.where(flat.any(axis=-1, keepdims=True), clipped, 0.0)
        return clipped

    def _allowed(self, flat: Array) -> bool:
        zero = self.neighbours == "zero-out" and not flat.any()  # the neighbour of every loss
        return zero or self.loss_set.contains(self.loss_set.unflatten(flat))

    def _epoch_note(self) -> tuple[str, ...]:
        if self.horizon is not None:
            return ()
        length = self.epoch_horizon
        return (f"unknown horizon: epochs of doubling length, now epoch {self.epoch + 1} of {length} rounds",)
