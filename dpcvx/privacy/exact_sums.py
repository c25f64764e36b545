"""Running sums without noise: what a learner without privacy stands on."""

from typing import NamedTuple

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import HorizonError
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.running_sums import RunningSums
from dpcvx.sets import LossSet


class _State(NamedTuple):
    total: Array
    taken: int
    horizon: int
    epoch: int
    before: int


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
        super().__init__(loss_set, horizon, "replace", on_violation, replicas)

    @property
    def prefix(self) -> Array:
        total, taken, horizon, *_ = self._state
        if taken >= horizon:
            raise HorizonError(f"The horizon of {horizon} rounds is used up; nothing more is released.")
        return self.loss_set.unflatten(total.copy())

    @property
    def rounds(self) -> int:
        return self._state.before + self._state.taken

    @property
    def epoch(self) -> int:
        return self._state.epoch

    @property
    def epoch_horizon(self) -> int:
        return self._state.horizon

    @property
    def _items(self) -> int:
        return self._state.taken

    def _begin(self, horizon: int, epoch: int, before: int) -> None:
        self._state = _State(np.zeros((*self.leading, self.loss_set.size)), 0, horizon, epoch, before)

    def _add(self, clipped: Array) -> None:
        state = self._state
        if state.taken >= state.horizon:
            raise HorizonError(f"The horizon of {state.horizon} rounds is used up; the item was not taken.")
        self._state = state._replace(total=state.total + clipped, taken=state.taken + 1)

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
