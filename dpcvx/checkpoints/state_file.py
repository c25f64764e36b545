"""The file of a checkpoint: one line that says what it is, a header, and a pickle.

Whoever reads the file sees what privacy hides, so it is readable by its owner only. It is written in one step: a crash
leaves the old file or the new one. A pickle can run any code: read only files that you wrote.
"""

import io
import json
import os
import pickle
from pathlib import Path
from typing import Any

from dpcvx.errors import CheckpointError
from dpcvx.privacy.secret import Secret
from dpcvx.storage.atomic_file import write_atomically
from dpcvx.storage.fingerprint import fingerprint
from dpcvx.version import __version__

_MAGIC = b"dpcvx checkpoint\n"
_FORMAT = 3  # to be raised whenever a pickled class moves, so that older files are refused by a sentence


def write_state(path: Path, content: Any, kind: str, generation: int | None = None) -> None:
    """Write any content that can be pickled, secure noise sources included.

    Args:
        path: the file, which is replaced.
        content: what it is to hold.
        kind: what the content is, in one word; `read_state` asks for it.
        generation: the number of a secure learner's checkpoint; None for a state that may be continued often.

    Raises:
        CheckpointError: where the content cannot be pickled.
        OSError: where the file cannot be written; the old one stays.
    """
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
        "sha256": fingerprint(body),
    }
    write_atomically(path, _MAGIC + json.dumps(header).encode() + b"\n" + body, private=True)


def read_state(path: Path, kind: str) -> tuple[Any, int | None]:
    """The content of a file of that kind, and its generation.

    Raises:
        CheckpointError: where the file is damaged, of another format or kind, or no checkpoint.
        FileNotFoundError: where there is none.
    """
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
    if fingerprint(body) != header.get("sha256"):
        raise CheckpointError(f"{path} is damaged: its contents do not match their checksum.")
    if header.get("kind") != kind:
        raise CheckpointError(f"{path} holds a {header.get('kind')}, not a {kind}.")
    try:
        return pickle.loads(body), header.get("generation")
    except (ImportError, AttributeError, TypeError, pickle.UnpicklingError) as error:
        raise CheckpointError(
            f"{path} was written by version {header.get('dpcvx')} and cannot be read: {error}."
        ) from error


def place_of(path: str | os.PathLike[str]) -> Path:
    """The place of a checkpoint, links followed.

    Raises:
        CheckpointError: where its folder does not exist.
    """
    place = Path(path).resolve()
    if not place.parent.is_dir():
        raise CheckpointError(f"There is no folder {place.parent} for the checkpoint {place.name}.")
    return place


class _Pickler(pickle.Pickler):
    """Pickles secrets, which otherwise refuse: secure noise and feedback go on in the process that loads them."""

    def reducer_override(self, content: Any) -> Any:
        return content.saved() if isinstance(content, Secret) else NotImplemented
