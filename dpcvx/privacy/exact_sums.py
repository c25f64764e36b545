"""Running sums without noise: what a learner without privacy stands on."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import HorizonError
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.running_sums import RunningSums
from dpcvx.sets import LossSet


class ExactSums(RunningSums):
    """The exact sum of the losses so far; its certificate says that there is no privacy."""

    noise = None
    gaussian_deviation = 0.0

    def __init__(
        self,
        loss_set: LossSet,
        horizon: int | None,
        *,
        on_violation: str = "clip",
        replicas: int | None = None,
    ) -> None:
        if horizon is not None and horizon < 1:
            raise ValueError(f"horizon must be a whole number of at least 1, not {horizon}.")
        super().__init__(loss_set, horizon, "replace", on_violation, replicas)

    @property
    def prefix(self) -> Array:
        if self._taken >= self.epoch_horizon:
            raise HorizonError(f"The horizon of {self.epoch_horizon} rounds is used up; nothing more is released.")
        return self.loss_set.unflatten(self._total.copy())

    @property
    def epoch_horizon(self) -> int:
        return self._length

    @property
    def _items(self) -> int:
        return self._taken

    def _begin(self, horizon: int) -> None:
        self._total = np.zeros((*self.leading, self.loss_set.size))
        self._taken = 0
        self._length = horizon

    def _add(self, clipped: Array) -> None:
        if self._taken >= self.epoch_horizon:
            raise HorizonError(f"The horizon of {self.epoch_horizon} rounds is used up; the item was not taken.")
        self._total = self._total + clipped
        self._taken += 1

    @property
    def certificate(self) -> Certificate:
        return Certificate(
            epsilon=float("inf"),
            delta=0.0,
            neighbours=self.neighbours,
            rounds_per_person=1,
            mechanism="exact sum",
            releases_per_loss=self.horizon or 0,
            terms_per_prefix=0,
            noise="no noise",
            scale=0.0,
            prefix_deviation=0.0,
            sensitivity=float(self.loss_set.diameter(1)),
            sensitivity_norm=1,
            sensitivity_kind=self.loss_set.diameter(1).kind,
            grid=0.0,
            secure=False,
            horizon=self.horizon,
            rounds=self.rounds,
            notes=("epsilon=None: the learner without privacy", *self._epoch_note()),
        )
