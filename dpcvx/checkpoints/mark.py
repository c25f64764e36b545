"""The mark beside a checkpoint: a side file, `<name>.generation`, which says which checkpoint may be continued.

A checkpoint carries a token, drawn at random when it is written, and the token of the mark that it replaces. It may be
continued while one of the two is in the mark. So no number is compared: a mark that was damaged, or that belongs to
another checkpoint, admits nothing. The generation in it is for people.
"""

import secrets
from dataclasses import dataclass
from pathlib import Path

from dpcvx.errors import CheckpointError
from dpcvx.storage.atomic_file import write_atomically
from dpcvx.storage.fingerprint import fingerprint


def new_token() -> str:
    """A text that nobody draws twice."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Mark:
    """What a side file says.

    Attributes:
        generation: how many checkpoints and continuations there were.
        token: that of the checkpoint that may be continued, or of none.
        rollbacks: how often an older one was continued.
    """

    generation: int
    token: str
    rollbacks: int = 0

    @classmethod
    def read(cls, path: Path) -> "Mark | None":
        """The mark beside a checkpoint, or None where its side file is missing.

        Raises:
            CheckpointError: where it is damaged or cannot be read.
        """
        place = side_file(path)
        try:
            content = place.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CheckpointError(f"The side file {place} cannot be read: {error.strerror}.") from error
        try:
            generation, rollbacks, token, _ = content.decode("ascii").split()
            mark = cls(int(generation), token, int(rollbacks))
        except ValueError:
            mark = None
        if mark is None or mark.encoded() != content:
            raise CheckpointError(f"The side file {place} is damaged, so nothing is continued from {path.name}.")
        return mark

    def write(self, path: Path) -> None:
        """Put the mark beside a checkpoint; it is on the disk when this returns."""
        write_atomically(side_file(path), self.encoded(), private=True, lasting=True)

    def encoded(self) -> bytes:
        """The bytes of the side file; no other bytes are this mark."""
        text = f"{self.generation} {self.rollbacks} {self.token}"
        return f"{text} {fingerprint(text)}\n".encode()


def side_file(path: Path) -> Path:
    """Where the mark of a checkpoint lies."""
    return path.with_name(path.name + ".generation")
