"""The protocol of everything that plays: `act()`, then `update(feedback)`, strictly in turn."""

import copy
from abc import ABC, abstractmethod
from typing import Any

from dpcvx.arrays import Array
from dpcvx.checkpoints import Lineage
from dpcvx.errors import ProtocolError


class Player(ABC):
    """Takes turns: an action, then what it cost.

    Whose turn it is follows from the number of rounds that are over, which one assignment changes: an interruption
    leaves either the old state or the new one.

    Attributes:
        sees: what `update` takes: the "loss", or the "value" <loss, action> alone.
        lineage: the checkpoints of a secure learner; None in simulation and without privacy.
    """

    sees = "loss"

    lineage: Lineage | None = None
    _acted_in: int | None = None  # the round of the last action, from 0

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Rounds that are over."""

    def act(self) -> Array:
        """The next action, in the shape of the decision variable.

        Raises:
            ProtocolError: where the last action has had no feedback yet.
            HorizonError: where the rounds are used up.
        """
        rounds = self.rounds
        if self._acted_in == rounds:
            raise ProtocolError("act was called twice in a row; call update with the feedback of the last action.")
        if self.lineage is not None:
            self.lineage.before_action(rounds)
        action = self._decide()
        self._acted_in = rounds
        return action

    def update(self, feedback: Any) -> None:
        """Learn from the feedback of the last action. An error leaves the learner as it was.

        Raises:
            ProtocolError: where no action waits for feedback.
        """
        if self._acted_in != self.rounds:
            raise ProtocolError("update was called without an action; call act first.")
        self._learn(feedback)

    @abstractmethod
    def _decide(self) -> Array:
        """The action of this round."""

    @abstractmethod
    def _learn(self, feedback: Any) -> None:
        """Take the feedback in; `rounds` moves on as the last step of it."""

    def __copy__(self) -> "Player":
        if self.lineage is not None:
            raise copy.Error("A secure learner cannot be copied: the same private state would be released twice.")
        return copy.deepcopy(self)
