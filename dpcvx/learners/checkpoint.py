"""Checkpoints: a learner with its sums, noise and accounting in one file, and a guard against playing a state twice.

The file holds the true sums and the noise on them: whoever reads it sees what privacy hides, so it is as secret as the
losses themselves. It is readable by its owner only, written in one piece (a crash leaves the old file or the new one),
and a pickle: load only files that you wrote.

A secure learner draws new noise after each loss. Were it to continue twice from one checkpoint, one loss would enter
twice as many releases as were paid for. So its checkpoints are numbered, and beside each file lies a second one,
`<name>.generation`, with the number that may be loaded. The number moves on when the learner is saved again, and when
it plays an action that the checkpoint does not hold; an older checkpoint is then refused.
"""

import hashlib
import io
import json
import os
import pickle
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcvx.errors import CheckpointError
from dpcvx.privacy.noise import SecureSource

_MAGIC = b"dpcvx checkpoint\n"
_FORMAT = 1


@dataclass
class Lineage:
    """Where a secure learner was saved, the generation in each place, and how often it was taken back.

    `fresh` says whether some checkpoint holds all that was released.
    """

    places: dict[str, int] = field(default_factory=dict)
    rollbacks: int = 0
    fresh: bool = False

    def move_on(self, *, but: str | None = None) -> None:
        """Note that the checkpoints written so far, `but` for one, are behind the learner.

        Raises:
            CheckpointError: where another learner went on from one of them.
        """
        if not self.fresh:
            return
        self.check()
        self.fresh = False
        for place, generation in self.places.items():
            if place != but and _read_generation(Path(place)) is not None:
                _write_generation(Path(place), generation + 1)
                self.places[place] = generation + 1

    def check(self) -> None:
        """Raise where another learner went on from a checkpoint of this one."""
        for place, generation in self.places.items():
            found = _read_generation(Path(place))
            if found not in (None, generation):  # without its side file no checkpoint is loaded
                raise CheckpointError(
                    f"The checkpoint {place} was continued by another learner (generation {found}, here {generation})."
                )


def save(learner: Any, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file, to be continued by `load`.

    Args:
        learner: anything of the package that plays.
        path: the file; it is replaced in one step. Beside a secure learner's file goes `<path>.generation`.

    Raises:
        CheckpointError: where the learner cannot be written: an own oracle that cannot be pickled, or a checkpoint
            that another learner continued.
    """
    place = _place(path)
    lineage: Lineage | None = getattr(learner, "lineage", None)
    if lineage is None:
        write(place, learner)
        return
    lineage.check()
    generation = (_read_generation(place) or 0) + 1
    if learner.unsaved:
        lineage.move_on(but=str(place))
    lineage.places[str(place)] = generation
    lineage.fresh, learner.unsaved = True, False
    write(place, learner, generation)  # if the next step is never reached, the file is newer than the number: allowed
    _write_generation(place, generation)


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
    place = _place(path)
    learner, generation = read(place)
    if generation is None:
        return learner
    latest = _read_generation(place)
    if latest is None or generation < latest:
        if not allow_rollback:
            raise CheckpointError(
                f"{place} is generation {generation}, but "
                + (f"its side file {_side(place)} is missing" if latest is None else f"generation {latest} exists")
                + ". Continuing from it would release losses twice; allow_rollback=True does so and certifies it."
            )
        learner.lineage.rollbacks += 1
        generation = max(latest or 0, generation) + 1
    _write_generation(place, generation)
    learner.lineage.places[str(place)] = generation
    return learner


def write(path: Path, content: Any, generation: int | None = None) -> None:
    """Write any content that can be pickled, secure noise sources included, in one step."""
    from dpcvx import __version__

    buffer = io.BytesIO()
    try:
        _Pickler(buffer).dump(content)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise CheckpointError(
            f"The learner cannot be written: {error}. Own oracles must be functions of a module, not lambdas."
        ) from error
    body = buffer.getvalue()
    header = {
        "format": _FORMAT,
        "dpcvx": __version__,
        "generation": generation,
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    _replace(path, _MAGIC + json.dumps(header).encode() + b"\n" + body)


def read(path: Path) -> tuple[Any, int | None]:
    """The content of a file and its generation."""
    whole = path.read_bytes()
    if not whole.startswith(_MAGIC):
        raise CheckpointError(f"{path} is not a checkpoint of this package.")
    head, _, body = whole[len(_MAGIC) :].partition(b"\n")
    try:
        header = json.loads(head)
    except ValueError:
        raise CheckpointError(f"{path} is damaged: its header cannot be read.") from None
    if header["format"] != _FORMAT:
        raise CheckpointError(f"{path} has format {header['format']}; this version reads format {_FORMAT}.")
    if hashlib.sha256(body).hexdigest() != header["sha256"]:
        raise CheckpointError(f"{path} is damaged: its contents do not match their checksum.")
    return pickle.loads(body), header["generation"]


class _Pickler(pickle.Pickler):
    """Pickles secure noise sources, which otherwise refuse: a loaded one draws new noise in its own process."""

    def reducer_override(self, content: Any) -> Any:
        if isinstance(content, SecureSource):
            return SecureSource, (content.law, content.size)
        return NotImplemented


def _place(path: str | os.PathLike[str]) -> Path:
    return Path(path).resolve()


def _side(path: Path) -> Path:
    return path.with_name(path.name + ".generation")


def _read_generation(path: Path) -> int | None:
    try:
        return int(_side(path).read_text())
    except FileNotFoundError:
        return None
    except ValueError:
        raise CheckpointError(f"{_side(path)} is damaged: it must hold one number.") from None


def _write_generation(path: Path, generation: int) -> None:
    _replace(_side(path), f"{generation}\n".encode())


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
