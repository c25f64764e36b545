"""The protocol of everything that plays: `act()`, then `update(feedback)`, strictly in turn.

From the protocol to the formula of a learner it is two steps, of the same names everywhere:

    act()             checks whose turn it is, then   _choose()           the action of this round
    update(feedback)  checks whose turn it is, then   _learn(feedback)    takes it in, and moves the round on

and what these two ask of a single learner:

    full information  _choose -> _best_action(noisy_sum, constants)       _learn -> the sums of the losses
    bandits           _choose -> _draw_action()                           _learn -> _after(value), the next state
    private bandit    _choose -> the learner inside, once a batch         _learn -> the noise on the feedback of a batch
"""

import copy
import inspect
from abc import ABC, abstractmethod
from typing import Any, Self

from dpcvx import markup
from dpcvx.arguments import needed
from dpcvx.arrays import Array
from dpcvx.checkpoints import Lineage
from dpcvx.errors import ProtocolError
from dpcvx.storage.process import ProcessGuard
from dpcvx.storage.thread_lock import ThreadLock

_NEEDED = {
    "decision_set": ("a decision_set", "where actions lie"),
    "loss_set": ("a loss_set", "what losses may be"),
    "horizon": (
        "a horizon",
        "the number of rounds, to which it is tuned; where that is unknown, the most that may come",
    ),
    "epsilon": ("an epsilon", "a positive number, such as 1.0"),
    "learner": ("a learner", "an object with act() and update(value)"),
}


class Player(ABC):
    """Takes turns: an action, then what it cost.

    Whose turn it is follows from the number of rounds that are over, which one assignment changes: an interruption
    leaves either the old state or the new one.

    Threads may share a learner: `act`, `update` and `save` run one at a time. Which thread comes next is not ordered,
    so a call may find that it is not its turn and raise `ProtocolError`; no round is lost, and nothing is released
    twice. A secure learner belongs to one process and refuses to go on in a forked child, also in one that was forked
    while a thread played.

    Attributes:
        sees: what `update` takes: the "loss", or the "value" <loss, action> alone.
        lineage: the checkpoints of a secure learner; None in simulation and without privacy.
        thread_lock: held by the thread that is in `act`, `update` or `save`.
    """

    sees = "loss"

    lineage: Lineage | None = None
    thread_lock: ThreadLock
    _guard: ProcessGuard
    _acted_in: int | None = None  # the round of the last action, from 0

    def __new__(cls, *arguments: Any, **settings: Any) -> Self:
        if arguments or settings:  # neither is there where a learner is read from a file
            cls._check_call(arguments, settings)
        self = super().__new__(cls)  # what follows is there whatever the constructor of a subclass does
        self.thread_lock, self._guard = ThreadLock(), ProcessGuard()
        return self

    @classmethod
    def _check_call(cls, arguments: tuple[Any, ...], settings: dict[str, Any]) -> None:
        """Raise where an argument is missing about which there is more to say than its name."""
        named = list(inspect.signature(cls.__init__).parameters.values())[1 + len(arguments) :]
        for one in named:
            if one.default is one.empty and one.name in _NEEDED and one.name not in settings:
                needed(None, cls.__name__, *_NEEDED[one.name])

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Rounds that are over."""

    def act(self) -> Array:
        """The next action, in the shape of the decision variable.

        Raises:
            ProtocolError: where the last action has had no feedback yet.
            HorizonError: where the rounds are used up.
            CheckpointError: of a secure learner, where another one goes on from its checkpoint, or may do so.
        """
        if self.lineage is not None:
            self._guard.check()
        with self.thread_lock: return self._act_in_turn()  # noqa: E701 # fmt: skip # see ThreadLock

    def _act_in_turn(self) -> Array:
        rounds = self.rounds
        if self._acted_in == rounds:
            raise ProtocolError("act was called twice in a row; call update with the feedback of the last action.")
        if self.lineage is not None:
            self._check_able()
            self.lineage.before_action(rounds)
        action = self._choose()
        self._acted_in = rounds
        return action

    def update(self, feedback: Any) -> None:
        """Learn from the feedback of the last action. An error leaves the learner as it was.

        A loss outside the declared set is clipped without a word: how often that happens is private. `certificate` says
        what is clipped to what, and `loss_set.check(losses)` tells of public or past losses whether they fit.

        Raises:
            ProtocolError: where no action waits for feedback.
        """
        if self.lineage is not None:
            self._guard.check()
        with self.thread_lock: self._update_in_turn(feedback)  # noqa: E701 # fmt: skip # see ThreadLock

    def _update_in_turn(self, feedback: Any) -> None:
        if self._acted_in != self.rounds:
            raise ProtocolError("update was called without an action; call act first.")
        self._learn(feedback)

    def _check_able(self) -> None:  # noqa: B027  a learner that is never secure has nothing to say here
        """Raise where no action can follow, before a secure learner outdates a checkpoint from which one could."""

    @abstractmethod
    def _choose(self) -> Array:
        """The action of this round."""

    @abstractmethod
    def _learn(self, feedback: Any) -> None:
        """Take the feedback in; the last step of it, one assignment, moves `rounds` on."""

    def _repr_html_(self) -> str:
        return markup.summary(self.summary() if hasattr(self, "summary") else repr(self))

    def __copy__(self) -> "Player":
        if self.lineage is not None:
            raise copy.Error("A secure learner cannot be copied: the same private state would be released twice.")
        return copy.deepcopy(self)
