"""Running sums of losses, with noise or without: rounds, epochs and clipping are the same.

`update` clips a loss and hands it to the counter of the present epoch, in the form that `_item` gives it, or opens the
next epoch by `_opened`. `PrivateSums` and `ExactSums` say what these two are.
"""

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from dpcvx import markup
from dpcvx.arguments import whole
from dpcvx.arrays import Array
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.clipping import Clipping
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.prefix_noise import PrefixNoise
from dpcvx.sets import LossSet
from dpcvx.storage.thread_lock import ThreadLock

_FIRST_EPOCH = 16
_log = logging.getLogger("dpcvx.privacy")  # of rounds alone: no loss and no sum is in a record


class Summing(Protocol):
    """What sums the items of one epoch; prefix and update raise `HorizonError` past its horizon."""

    horizon: int

    @property
    def items(self) -> int: ...

    @property
    def prefix(self) -> Array: ...

    def update(self, item: Array) -> None: ...


@dataclass(frozen=True)
class Epoch:
    """Rounds with a sum of their own: their number, from 0, what sums them, and how many losses came before."""

    number: int
    counter: Summing
    before: int


class KeptLineage(Protocol):
    """What is asked before a prefix is shown of sums that were saved; see `dpcvx.checkpoints`."""

    rollbacks: int

    def before_action(self, rounds: int) -> None: ...


class RunningSums(ABC):
    """The sum of the losses so far, for every round.

    Known horizon: one epoch. `horizon=None`: epochs of doubling length, each with an empty sum.

    An update ends with one assignment, so an interruption leaves the old state or the new one. Threads may share the
    sums: `update` and `prefix` run one at a time.

    Attributes:
        leading: axes before those of a loss; replicas.
        thread_lock: held by the thread that updates or reads.
        secure: whether there is noise, and it is secure.
        settings: what was asked of privacy, by the names of the arguments; an epsilon of None is none.
        lineage: the checkpoints of secure sums that were saved by themselves; otherwise None.
    """

    secure = False
    settings: dict[str, Any]
    lineage: KeptLineage | None = None

    def __init__(
        self,
        loss_set: LossSet,
        horizon: int | None,
        neighbours: str | Neighbours,
        on_violation: str,
        replicas: int | None,
    ) -> None:
        self.thread_lock = ThreadLock()
        self.loss_set = loss_set
        self.horizon = None if horizon is None else whole(horizon, "horizon (None where it is unknown)")
        self.leading = () if replicas is None else (whole(replicas, "replicas"),)
        self.clipping = Clipping(loss_set, neighbours, on_violation, self.leading)
        self._epoch = self._opened(self.horizon or _FIRST_EPOCH, 0, 0)

    @abstractmethod
    def _opened(self, horizon: int, number: int, before: int) -> Epoch:
        """An epoch of that many rounds with an empty sum."""

    @abstractmethod
    def _item(self, clipped: Array) -> Array:
        """A loss, a vector of the set, in the units of the counter."""

    def update(self, loss: Any) -> None:
        """Add one round's loss."""
        self.check_process()
        with self.thread_lock: self._add(loss)  # noqa: E701 # fmt: skip # see ThreadLock

    def _add(self, loss: Any) -> None:
        clipped, epoch = self.clipping.clipped(loss), self._epoch
        if self.horizon is None and epoch.counter.items + 1 >= epoch.counter.horizon:
            # the last item of an epoch is released nowhere: the next epoch starts with an empty sum
            self._epoch = self._opened(2 * epoch.counter.horizon, epoch.number + 1, self.rounds + 1)
            _log.info("epoch %d begins after round %d", self._epoch.number + 1, self.rounds)
        else:
            epoch.counter.update(self._item(clipped))

    @property
    def prefix(self) -> Array:
        """The sum of this epoch in the units and the shape of the loss (replicas on a leading axis).

        Raises:
            HorizonError: where the rounds are used up.
            CheckpointError: of secure sums that were saved, where others go on from their checkpoint, or may do so.
        """
        self.check_process()
        with self.thread_lock: return self._shown()  # noqa: E701 # fmt: skip # see ThreadLock

    def _shown(self) -> Array:
        prefix = self._prefix()
        if self.lineage is not None:
            self.lineage.before_action(self.rounds)
        return prefix

    @abstractmethod
    def _prefix(self) -> Array:
        """What `prefix` shows."""

    @abstractmethod
    def check_process(self) -> None:
        """Refuse to go on after a fork, where noise is secure."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loss_set.name}, round {self.rounds} of {self.horizon or 'any number'})"

    def _repr_html_(self) -> str:
        rounds = f"round {self.rounds} of {self.horizon or 'any number'}"
        title = f"{type(self).__name__} of losses in the {self.loss_set.name}, {rounds}"
        return markup.notebook(f"<p>{markup.text(title)}</p>{self.certificate._repr_html_()}")

    @property
    def relation(self) -> Neighbours:
        """Which streams of losses are neighbours."""
        return self.clipping.neighbours

    @property
    def neighbours(self) -> str:
        """How certificates call that relation."""
        return self.relation.key

    @property
    def rounds(self) -> int:
        """Losses taken."""
        epoch = self._epoch  # once: a thread may open the next one
        return epoch.before + epoch.counter.items

    @property
    def epoch(self) -> int:
        """The number of this epoch, from 0."""
        return self._epoch.number

    @property
    def epoch_horizon(self) -> int:
        """Rounds of this epoch."""
        return self._epoch.counter.horizon

    @property
    @abstractmethod
    def noise(self) -> PrefixNoise | None:
        """The noise of the worst prefix of this epoch, or None."""

    @property
    @abstractmethod
    def gaussian_deviation(self) -> float:
        """The standard deviation of the Gaussian noise in one coordinate of the present prefix; 0 for other laws."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """How far the loss that is summed may be from the loss that was given, in any entry."""

    @property
    def slow(self) -> str | None:
        """How long the noise of a round takes and how to change it, in a sentence; None where that is short."""
        return None

    @property
    @abstractmethod
    def certificate(self) -> Certificate:
        """What holds so far and to the end."""

    def _epoch_note(self) -> tuple[str, ...]:
        if self.horizon is not None:
            return ()
        length = self.epoch_horizon
        return (f"unknown horizon: epochs of doubling length, now epoch {self.epoch + 1} of {length} rounds",)
