"""The guard against playing one secret state twice: of all that hold a state, one goes on.

A secure learner draws new noise after each loss. Were it to continue twice from one state, one loss would enter twice
as many releases as were paid for. So a learner remembers its checkpoints, and before it releases what they do not hold
it outdates them: it puts a new token into the mark of each, which none of them carries. Who finds another token than
the one he left, or no mark at all, releases nothing. Who restores a checkpoint and its mark from a backup defeats this.

Every write of a mark is prepared in memory: the token is remembered as one that may be there, so that an interruption
at any point leaves a learner that knows its own marks.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpcvx.checkpoints.mark import Mark, new_token, side_file
from dpcvx.checkpoints.state_file import Stamp, stamp_in
from dpcvx.errors import CheckpointError
from dpcvx.storage.lock import locked
from dpcvx.storage.process import ProcessGuard


@dataclass(frozen=True)
class Place:
    """What a learner knows of a file in which it was saved.

    Attributes:
        tokens: what the mark there may say, as long as nobody else wrote it: one token, or several where a save was
            interrupted.
        tried: the token by which the learner last tried to outdate it.
        generation: the highest that was written there.
        open: whether a file there may be continued; no longer, once it is outdated.
        left: whether the learner was loaded from a file that was moved or copied away from there; its mark may then be
            missing.
    """

    tokens: tuple[str, ...]
    generation: int
    open: bool = True
    left: bool = False
    tried: str | None = None

    @property
    def unsure(self) -> bool:
        """Whether a write was interrupted there, after which a file may be newer than its mark."""
        return self.open and not self.left and (len(self.tokens) > 1 or self.tried is not None)


@dataclass
class Lineage:
    """Where a secure learner was saved, and in which process it lives.

    Attributes:
        places: what is known of each file.
        saved_in: the round of the files that are open; None where that is not known, or none is open.
        rollbacks: how often the learner was continued from an older checkpoint.
        guard: the process; a lineage that is loaded belongs to the process that loads it.
    """

    places: dict[str, Place] = field(default_factory=dict)
    saved_in: int | None = None
    rollbacks: int = 0
    guard: ProcessGuard = field(default_factory=ProcessGuard)

    # before anything is released

    def before_action(self, rounds: int) -> None:
        """Outdate the checkpoints, if the action of this round is the first that they do not hold.

        Raises:
            CheckpointError: where another learner went on from one of them, or a mark is missing or cannot be written.
            ProtocolError: in a forked process.
        """
        self.guard.check()
        held = [place for place, there in self.places.items() if there.open]
        if not held:
            return
        if self.saved_in != rounds or any(self.places[place].unsure for place in held):
            self.outdate()
            return
        for place in held:
            if not self.places[place].left and Mark.read(Path(place)) is None:
                raise _missing(place)

    def before_release(self) -> None:
        """Outdate the checkpoints, which cannot hold what is released now.

        Raises:
            CheckpointError, ProtocolError: as for an action.
        """
        self.guard.check()
        self.outdate()

    def outdate(self, *, but: str | None = None) -> None:
        """Let no open checkpoint be continued, except one in the place `but`.

        All marks are held and looked at before one is written: a learner that may not go on keeps no other from it.

        Raises:
            CheckpointError: where another learner went on from one of them, or a mark is missing or cannot be written;
                the next call goes on with those that were not.
        """
        with self._held_marks() as marks:
            for place, mark in marks.items():
                if place != but:
                    self._outdate(place, mark)
        if but is None:
            self.saved_in = None

    def check_marks(self) -> None:
        """See that nobody else went on from an open checkpoint.

        Raises:
            CheckpointError: where somebody did, or a mark is missing.
        """
        with self._held_marks():
            return

    def _outdate(self, place: str, mark: Mark | None) -> None:
        if mark is None:
            del self.places[place]  # it was moved to where this learner was loaded from
            return
        there = self.places[place]
        new = Mark(there.generation + 1, new_token(), mark.rollbacks)
        self.places[place] = replace(there, tried=new.token)  # one tried before is not in the mark now
        new.write(Path(place))
        self.places[place] = Place((new.token,), new.generation, open=False)

    @contextmanager
    def _held_marks(self) -> Iterator[dict[str, Mark | None]]:
        """The marks in all open places, held against everybody else; None for one that may be missing."""
        held = [place for place, there in self.places.items() if there.open]
        try:
            with ExitStack() as locks:
                for folder in _folders(held):
                    locks.enter_context(locked(folder))
                yield {place: self._own_mark(place) for place in held}
        except OSError as error:
            raise CheckpointError(
                f"A checkpoint of this learner cannot be outdated ({error.strerror or error}), so nothing is released."
            ) from error

    def _own_mark(self, place: str) -> Mark | None:
        """The mark in a known place; None where it is missing and nothing there can be continued by anyone.

        Raises:
            CheckpointError: where it is not one that this learner left.
        """
        there, mark = self.places[place], Mark.read(Path(place))
        if mark is None:
            if there.open and not there.left:
                raise _missing(place)
        elif mark.token not in (*there.tokens, there.tried):
            raise CheckpointError(
                f"The checkpoint {place} was continued by another learner "
                f"(generation {mark.generation}, here {there.generation}), so nothing is released or saved."
            )
        return mark

    # saving and loading

    @contextmanager
    def saving(self, place: str, rounds: int) -> Iterator[Stamp]:
        """Hand out the stamp of a checkpoint that is to be written to a place, and put its mark beside it.

        While it is written, and after an interruption, the learner counts with both files, the old and the new one; a
        file that is newer than its mark can be loaded. The caller holds the lock of the folder.

        Raises:
            CheckpointError: where another learner went on from the checkpoint that is there.
        """
        mark = self._mark_to_replace(place)
        before = self.places.get(place)
        generation = max(mark.generation, before.generation if before else 0) + 1
        stamp = Stamp(generation, new_token(), mark.token)
        known = {mark.token, *(before.tokens if before else ())}
        self.places[place] = Place((*known, stamp.token), generation)
        try:
            yield stamp
            Mark(generation, stamp.token, self.rollbacks).write(Path(place))
        except BaseException:
            self._settle(place, before, stamp, rounds)
            raise
        self.places[place] = Place((stamp.token,), generation)
        self.saved_in = rounds

    def _mark_to_replace(self, place: str) -> Mark:
        """The mark in a place; where there is none, one is made, so that a crash finds a file newer than its mark."""
        mark = self._own_mark(place) if place in self.places else Mark.read(Path(place))
        if mark is None:
            before = self.places.get(place)
            mark = Mark(before.generation if before else 0, new_token(), self.rollbacks)
            self.places[place] = Place((mark.token,), mark.generation, open=False)
            mark.write(Path(place))
        return mark

    def _settle(self, place: str, before: Place | None, stamp: Stamp, rounds: int) -> None:
        """After a save that failed: which file is there?"""
        try:
            found = stamp_in(Path(place))
        except (CheckpointError, OSError):
            self.saved_in = None  # either
            return
        if found == stamp:
            self.saved_in = rounds  # the new one; its mark may be the old one or the new one
        elif before is None:
            del self.places[place]
        else:
            self.places[place] = before

    def was_overwritten(self, place: str, stamp: Stamp) -> bool:
        """Whether a checkpoint with this lineage was moved to a place where another one that it had to outdate was."""
        there = self.places.get(place)
        return there is not None and there.open and not there.left and stamp.token not in there.tokens

    def loaded(self, place: str, stamp: Stamp, mark: Mark, rounds: int) -> None:
        """Make this lineage, read from a checkpoint in a place, that of a learner that lives.

        Args:
            place: the file.
            stamp: that of the checkpoint.
            mark: beside it now; of another token where the checkpoint is not the latest state, which is certified as a
                rollback: other checkpoints of the same state are then no concern of this learner.
            rounds: of the learner.
        """
        for other, there in self.places.items():
            if mark.token != stamp.token:
                self.places[other] = replace(there, open=False)
            elif stamp.token in there.tokens:  # it was written there
                self.places[other] = replace(there, left=True)
        self.places[place] = Place((mark.token,), mark.generation)
        self.saved_in, self.rollbacks = rounds, mark.rollbacks


def _folders(places: list[str]) -> list[Path]:
    """The folders of places that exist, each once whatever its names are, in an order that is the same for all."""
    found = {}
    for folder in {Path(place).parent for place in places}:
        with suppress(FileNotFoundError):  # what was in it is missing
            status = folder.stat()
            found[status.st_dev, status.st_ino] = folder
    return [found[key] for key in sorted(found)]


def _missing(place: str) -> CheckpointError:
    return CheckpointError(
        f"The side file {side_file(Path(place))} is missing: whoever moved or removed the checkpoint may continue it, "
        "so this learner releases nothing more."
    )
