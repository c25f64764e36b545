"""Checkpoints: a learner with its sums, noise and accounting in one file, and a guard against playing a state twice.

The file holds the true sums and the noise on them: whoever reads it sees what privacy hides, so it is as secret as the
losses themselves. It is readable by its owner only, written in one piece (a crash leaves the old file or the new one),
and a pickle: load only files that you wrote.

A secure learner draws new noise after each loss. Were it to continue twice from one checkpoint, one loss would enter
twice as many releases as were paid for. So its checkpoints are numbered, and beside each file lies a second one,
`<name>.generation`, with the number that may be loaded and the rollbacks so far. The number moves on when the learner
is saved again, and when it plays an action that the checkpoint does not hold; an older checkpoint is then refused. Who
restores both files from a backup defeats this.
"""

import hashlib
import io
import json
import os
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from dpcvx.errors import CheckpointError
from dpcvx.privacy.secret import Secret
from dpcvx.version import __version__

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

_MAGIC = b"dpcvx checkpoint\n"
_FORMAT = 2


@dataclass(frozen=True)
class Mark:
    """What the side file says: the generation that may be loaded, and how often an older one was continued."""

    generation: int
    rollbacks: int = 0


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
        """Move the number in all places on, `but` for one."""
        for place in self.places:
            if place == but:
                continue
            path = Path(place)
            with _locked(path):
                mark = self._checked(place)
                if mark is not None:
                    _write_mark(path, replace(mark, generation=mark.generation + 1))
                    self.places[place] = mark.generation + 1

    def _checked(self, place: str) -> Mark | None:
        """The mark in a place; None where it is gone, and no checkpoint there can be loaded."""
        mark = _read_mark(Path(place))
        if mark is not None and mark.generation != self.places[place]:
            raise CheckpointError(
                f"The checkpoint {place} was continued by another learner "
                f"(generation {mark.generation}, here {self.places[place]})."
            )
        return mark

    def saved(self, place: str, rounds: int) -> "Lineage":
        """The lineage after a checkpoint in a place."""
        mark = self._checked(place) if place in self.places else _read_mark(Path(place))
        generation = 1 if mark is None else mark.generation + 1
        return Lineage({**self.places, place: generation}, rounds, self.rollbacks)


def save(learner: Any, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file, to be continued by `load`.

    Args:
        learner: anything of the package that plays.
        path: the file; it is replaced in one step. Beside a secure learner's file goes `<path>.generation`.

    Raises:
        CheckpointError: where the learner cannot be written: an own oracle that cannot be pickled, or a checkpoint
            that another learner continued.
    """
    if not hasattr(learner, "lineage"):
        raise ValueError(f"save takes a learner, not a {type(learner).__name__}.")
    path = place_of(path)
    before: Lineage | None = learner.lineage
    if before is None:
        write(path, learner, "learner")
        return
    place = str(path)
    if before.saved_in is not None and before.saved_in != learner.rounds:
        before.outdate(but=place)
    with _locked(path):
        after = before.saved(place, learner.rounds)
        learner.lineage = after  # it goes into the file
        try:
            # where the mark is not reached any more, the file is newer than it: allowed
            write(path, learner, "learner", after.places[place])
            _write_mark(path, Mark(after.places[place], after.rollbacks))
        except BaseException:
            learner.lineage = before
            raise


def load(path: str | os.PathLike[str], *, allow_rollback: bool = False) -> Any:
    """The learner in a file that `save` wrote; it goes on as if it had not been interrupted.

    A pickle can run any code: load only files that you wrote.

    Args:
        path: the file.
        allow_rollback: continue a secure learner from a checkpoint that is not its latest state; its certificate then
            counts what was released twice.

    Raises:
        CheckpointError: where the file is damaged, of another format, or an older generation.
    """
    path = place_of(path)
    with _locked(path):
        learner, generation = read(path, "learner")
        if generation is None:
            return learner
        mark = _read_mark(path)
        if mark is None or generation < mark.generation:
            if not allow_rollback:
                raise CheckpointError(
                    f"{path} is generation {generation}, but "
                    + (f"its side file {_side(path)} is missing" if mark is None else f"{mark.generation} exists")
                    + ". Continuing from it would release losses twice; allow_rollback=True does so and certifies it."
                )
            mark = mark or Mark(generation, learner.lineage.rollbacks)
            mark = Mark(max(mark.generation, generation) + 1, mark.rollbacks + 1)
        else:
            mark = Mark(generation, max(mark.rollbacks, learner.lineage.rollbacks))
        _write_mark(path, mark)
        learner.lineage.places[str(path)] = mark.generation
        learner.lineage.rollbacks = mark.rollbacks
        return learner


def write(path: Path, content: Any, kind: str, generation: int | None = None) -> None:
    """Write any content that can be pickled, secure noise sources included, in one step."""
    buffer = io.BytesIO()
    try:
        _Pickler(buffer).dump(content)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise CheckpointError(
            f"The {kind} cannot be written: {error}. Own oracles must be functions of a module, not lambdas."
        ) from error
    body = buffer.getvalue()
    header = {
        "format": _FORMAT,
        "kind": kind,
        "dpcvx": __version__,
        "generation": generation,
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    _replace(path, _MAGIC + json.dumps(header).encode() + b"\n" + body)


def read(path: Path, kind: str) -> tuple[Any, int | None]:
    """The content of a file of some kind, and its generation."""
    try:
        whole = path.read_bytes()
    except IsADirectoryError:
        raise CheckpointError(f"{path} is a folder, not a checkpoint.") from None
    if not whole.startswith(_MAGIC):
        raise CheckpointError(f"{path} is not a checkpoint of this package.")
    head, _, body = whole[len(_MAGIC) :].partition(b"\n")
    try:
        header = dict(json.loads(head))
    except (ValueError, TypeError):
        raise CheckpointError(f"{path} is damaged: its header cannot be read.") from None
    if header.get("format") != _FORMAT:
        raise CheckpointError(f"{path} has format {header.get('format')}; this version reads format {_FORMAT}.")
    if hashlib.sha256(body).hexdigest() != header.get("sha256"):
        raise CheckpointError(f"{path} is damaged: its contents do not match their checksum.")
    if header.get("kind") != kind:
        raise CheckpointError(f"{path} holds a {header.get('kind')}, not a {kind}.")
    try:
        return pickle.loads(body), header.get("generation")
    except (ImportError, AttributeError, TypeError, pickle.UnpicklingError) as error:
        raise CheckpointError(
            f"{path} was written by version {header.get('dpcvx')} and cannot be read: {error}."
        ) from error


class _Pickler(pickle.Pickler):
    """Pickles secrets, which otherwise refuse: secure noise and feedback go on in the process that loads them."""

    def reducer_override(self, content: Any) -> Any:
        return content.saved() if isinstance(content, Secret) else NotImplemented


def place_of(path: str | os.PathLike[str]) -> Path:
    """Where a checkpoint goes; its folder must exist."""
    place = Path(path).resolve()
    if not place.parent.is_dir():
        raise CheckpointError(f"There is no folder {place.parent} for the checkpoint {place.name}.")
    return place


def _side(path: Path) -> Path:
    return path.with_name(path.name + ".generation")


def _read_mark(path: Path) -> Mark | None:
    try:
        return Mark(*(int(word) for word in _side(path).read_text().split()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise CheckpointError(f"{_side(path)} is damaged: it must hold two numbers.") from None


def _write_mark(path: Path, mark: Mark) -> None:
    _replace(_side(path), f"{mark.generation} {mark.rollbacks}\n".encode())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from the checkpoints of a folder; where the system knows no such lock, nothing."""
    if fcntl is None:
        yield
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _replace(path: Path, content: bytes) -> None:
    """Put content where `path` is, in one step and for its owner only."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
