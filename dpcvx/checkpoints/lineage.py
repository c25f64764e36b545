"""The guard against playing one secret state twice: checkpoints are numbered, and only the latest goes on.

A secure learner draws new noise after each loss. Were it to continue twice from one checkpoint, one loss would enter
twice as many releases as were paid for. So beside each checkpoint lies a side file, `<name>.generation`, with the
number that may be loaded and the rollbacks so far. The number moves on when the learner is saved again, and when it
plays an action that the checkpoint does not hold; an older checkpoint is then refused. Who restores both files from a
backup defeats this.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from dpcvx.errors import CheckpointError
from dpcvx.storage.atomic_file import write_atomically
from dpcvx.storage.lock import locked


@dataclass(frozen=True)
class Mark:
    """What a side file says.

    Attributes:
        generation: the number of the checkpoint that may be loaded.
        rollbacks: how often an older one was continued.
    """

    generation: int
    rollbacks: int = 0

    @classmethod
    def read(cls, path: Path) -> "Mark | None":
        """The mark beside a checkpoint, or None where its side file is missing."""
        try:
            return cls(*(int(word) for word in side_file(path).read_text().split()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise CheckpointError(f"{side_file(path)} is damaged: it must hold two numbers.") from None

    def write(self, path: Path) -> None:
        """Put the mark beside a checkpoint."""
        write_atomically(side_file(path), f"{self.generation} {self.rollbacks}\n".encode(), private=True)


def side_file(path: Path) -> Path:
    """Where the mark of a checkpoint lies."""
    return path.with_name(path.name + ".generation")


@dataclass
class Lineage:
    """Where a secure learner was saved.

    Attributes:
        places: the generation in each file.
        saved_in: the round of the last checkpoint while nothing after it was released, otherwise None.
        rollbacks: how often the learner was continued from an older checkpoint.
    """

    places: dict[str, int] = field(default_factory=dict)
    saved_in: int | None = None
    rollbacks: int = 0

    def before_action(self, rounds: int) -> None:
        """Outdate the checkpoints, if the action of this round is the first that they do not hold.

        Raises:
            CheckpointError: where another learner went on from one of them.
        """
        if self.saved_in is None or self.saved_in == rounds:
            return
        self.outdate()
        self.saved_in = None

    def outdate(self, *, but: str | None = None) -> None:
        """Move the number on in all places, except in the place `but`.

        Raises:
            CheckpointError: where another learner went on from one of them.
        """
        for place in self.places:
            if place == but:
                continue
            path = Path(place)
            with locked(path.parent):
                mark = self._own_mark(place)
                if mark is not None:
                    replace(mark, generation=mark.generation + 1).write(path)
                    self.places[place] = mark.generation + 1

    def after_saving(self, place: str, rounds: int) -> "Lineage":
        """The lineage that a checkpoint in a place is to hold; the caller holds the lock of its folder.

        Raises:
            CheckpointError: where another learner went on from the checkpoint that is there.
        """
        mark = self._own_mark(place) if place in self.places else Mark.read(Path(place))
        generation = 1 if mark is None else mark.generation + 1
        return Lineage({**self.places, place: generation}, rounds, self.rollbacks)

    def _own_mark(self, place: str) -> Mark | None:
        """The mark in a place; None where the side file is gone, and no checkpoint there can be loaded.

        Raises:
            CheckpointError: where it is not the one that this learner left.
        """
        mark = Mark.read(Path(place))
        if mark is not None and mark.generation != self.places[place]:
            raise CheckpointError(
                f"The checkpoint {place} was continued by another learner "
                f"(generation {mark.generation}, here {self.places[place]})."
            )
        return mark
