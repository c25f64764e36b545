"""The file of a checkpoint: what it is, a header, the checksum of header and pickle, and the pickle.

Whoever reads the file sees what privacy hides, so it is readable by its owner only. It is written in one step: a crash
leaves the old file or the new one. A pickle can run any code: read only files that you wrote.
"""

import io
import json
import os
import pickle
from pathlib import Path
from typing import Any, NamedTuple

from dpcvx.errors import CheckpointError, MissingCheckpointError
from dpcvx.privacy.secret import Secret
from dpcvx.storage.atomic_file import write_atomically
from dpcvx.storage.fingerprint import fingerprint
from dpcvx.version import __version__

_MAGIC = b"dpcvx checkpoint\n"
_FORMAT = 7  # to be raised whenever a pickled class moves, so that older files are refused by a sentence
_LARGEST = 2**63  # generations are below it


class Stamp(NamedTuple):
    """What tells a secure learner's checkpoint from all others; see `Mark`.

    Attributes:
        generation: its number, from 1, for people.
        token: its own.
        after: that of the mark which it found when it was written.
    """

    generation: int
    token: str
    after: str


def write_state(path: Path, content: Any, kind: str, stamp: Stamp | None = None) -> None:
    """Write any content that can be pickled, secure noise sources included.

    Args:
        path: the file, which is replaced.
        content: what it is to hold.
        kind: what the content is, in one word; `read_state` asks for it.
        stamp: of a secure learner's checkpoint; None for a state that may be continued often.

    Raises:
        CheckpointError: where the content cannot be pickled.
        OSError: where the file cannot be written; as a rule the old one stays, and `stamp_in` tells.
    """
    buffer = io.BytesIO()
    try:
        _Pickler(buffer).dump(content)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise CheckpointError(
            f"The {kind} cannot be written: {error}. Own oracles must be functions of a module, not lambdas."
        ) from error
    body = buffer.getvalue()
    header = {"format": _FORMAT, "kind": kind, "dpcvx": __version__, "stamp": stamp}
    head = json.dumps(header).encode() + b"\n"
    whole = _MAGIC + head + fingerprint(head, body).encode() + b"\n" + body
    write_atomically(path, whole, private=True, lasting=True)


def read_state(path: Path, kind: str) -> tuple[Any, Stamp | None]:
    """The content of a file of that kind, and its stamp.

    Raises:
        CheckpointError: where the file is damaged, of another format or kind, or no checkpoint.
        MissingCheckpointError: where there is none.
    """
    header, body = _read(path)
    if header.get("kind") != kind:
        raise CheckpointError(f"{path} holds a {header.get('kind')}, not a {kind}.")
    stamp = _stamp(path, header)
    try:
        return pickle.loads(body), stamp
    except Exception as error:  # the classes of another version raise whatever they like
        raise CheckpointError(
            f"{path} was written by version {header.get('dpcvx')} and cannot be read: {error}."
        ) from error


def stamp_in(path: Path) -> Stamp | None:
    """The stamp of the checkpoint in a file; None where it has none, or there is no file.

    Raises:
        CheckpointError: where it is damaged, no checkpoint, or cannot be read.
    """
    try:
        header, _ = _read(path)
    except MissingCheckpointError:
        return None
    return _stamp(path, header)


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """The header of a file and its pickle, neither of them damaged."""
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        raise MissingCheckpointError(f"There is no checkpoint {path}.") from None
    except IsADirectoryError:
        raise CheckpointError(f"{path} is a folder, not a checkpoint.") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from error
    if not whole.startswith(_MAGIC):
        raise CheckpointError(f"{path} is not a checkpoint of this package.")
    head, _, rest = whole[len(_MAGIC) :].partition(b"\n")
    try:
        header = dict(json.loads(head))
    except (ValueError, TypeError, RecursionError):
        raise CheckpointError(f"{path} is damaged: its header cannot be read.") from None
    if header.get("format") != _FORMAT:
        raise CheckpointError(f"{path} has format {header.get('format')}; this version reads format {_FORMAT}.")
    checksum, _, body = rest.partition(b"\n")
    if checksum != fingerprint(head + b"\n", body).encode():
        raise CheckpointError(f"{path} is damaged: its contents do not match their checksum.")
    return header, body


def _stamp(path: Path, header: dict[str, Any]) -> Stamp | None:
    """The stamp that a header holds."""
    match header.get("stamp", ()):
        case None:
            return None
        case [int(generation), str(token), str(after)] if not isinstance(generation, bool):
            if 1 <= generation < _LARGEST:
                return Stamp(generation, token, after)
    raise CheckpointError(f"{path} is damaged: its header holds no stamp.")


def place_of(path: str | os.PathLike[str]) -> Path:
    """The place of a checkpoint, links followed.

    Raises:
        CheckpointError: where its folder does not exist, or no file can have that name.
        TypeError: where it is no name.
    """
    try:
        place = Path(path).resolve()
    except TypeError:
        raise TypeError(f"The path of a checkpoint must be a text or a path, not a {type(path).__name__}.") from None
    except (ValueError, OSError, RuntimeError) as error:
        raise CheckpointError(f"No checkpoint can have the name {path!r}: {error}.") from None
    if not place.parent.is_dir():
        raise CheckpointError(f"There is no folder {place.parent} for the checkpoint {place.name}.")
    return place


class _Pickler(pickle.Pickler):
    """Pickles secrets, which otherwise refuse: secure noise and feedback go on in the process that loads them."""

    def reducer_override(self, content: Any) -> Any:
        return content.saved() if isinstance(content, Secret) else NotImplemented
