"""The protocol of everything that plays: `act()`, then `update(feedback)`, strictly in turn."""

from abc import ABC, abstractmethod
from typing import Any

from dpcvx.arrays import Array
from dpcvx.errors import ProtocolError
from dpcvx.learners.checkpoint import Lineage


class Player(ABC):
    """Takes turns: an action, then what it cost.

    Attributes:
        lineage: the checkpoints of a secure learner; None in simulation and without privacy.
        unsaved: whether feedback came after the last checkpoint.
    """

    lineage: Lineage | None = None
    _acted = False
    unsaved = False

    def act(self) -> Array:
        """The next action, in the shape of the decision variable.

        Raises:
            ProtocolError: where the last action has had no feedback yet.
            HorizonError: where the rounds are used up.
        """
        if self._acted:
            raise ProtocolError("act was called twice in a row; call update with the feedback of the last action.")
        if self.unsaved and self.lineage is not None:
            self.lineage.move_on()  # this action is in no checkpoint
        action = self._decide()
        self._acted = True
        return action

    def update(self, feedback: Any) -> None:
        """Learn from the feedback of the last action. An error leaves the learner as it was.

        Raises:
            ProtocolError: where no action waits for feedback.
        """
        if not self._acted:
            raise ProtocolError("update was called without an action; call act first.")
        self._learn(feedback)
        self._acted = False
        self.unsaved = True

    @abstractmethod
    def _decide(self) -> Array:
        """The action of this round."""

    @abstractmethod
    def _learn(self, feedback: Any) -> None:
        """Take the feedback in."""
