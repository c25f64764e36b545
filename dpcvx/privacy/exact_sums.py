"""Running sums without noise: what a learner without privacy stands on."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import HorizonError
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.running_sums import Epoch, RunningSums
from dpcvx.sets import LossSet


class ExactCounter:
    """The sum of at most `horizon` items. An update is one assignment: it may be interrupted and repeated."""

    def __init__(self, horizon: int, shape: tuple[int, ...]) -> None:
        self.horizon = horizon
        self._sum: tuple[Array, int] = (np.zeros(shape), 0)

    @property
    def items(self) -> int:
        return self._sum[1]

    @property
    def prefix(self) -> Array:
        total, items = self._sum
        if items >= self.horizon:
            raise HorizonError(f"The horizon of {self.horizon} rounds is used up; nothing more is released.")
        return total.copy()

    def update(self, item: Array) -> None:
        total, items = self._sum
        if items >= self.horizon:
            raise HorizonError(f"The horizon of {self.horizon} rounds is used up; the item was not taken.")
        self._sum = (total + item, items + 1)


class ExactSums(RunningSums):
    """The exact sum of the losses so far; its certificate says that there is no privacy."""

    noise = None
    gaussian_deviation = 0.0
    rounding = 0.0
    settings = {"epsilon": None, "delta": 0.0}  # noqa: RUF012  nobody writes to it

    def __init__(
        self,
        loss_set: LossSet,
        horizon: int | None,
        *,
        on_violation: str = "clip",
        replicas: int | None = None,
    ) -> None:
        super().__init__(loss_set, horizon, "replace", on_violation, replicas)

    def _opened(self, horizon: int, number: int, before: int) -> Epoch:
        return Epoch(number, ExactCounter(horizon, (*self.leading, self.loss_set.size)), before)

    def _item(self, clipped: Array) -> Array:
        return clipped

    def check_process(self) -> None:
        """Exact sums may go on anywhere."""

    def _prefix(self) -> Array:
        return self.loss_set.unflatten(self._epoch.counter.prefix)

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
