"""Files that come into being in one step: a reader sees the old one or the new one, never half of it."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

PART = ".part"  # ends the names of files that are not yet whole; a killed process can leave one


def write_atomically(path: Path, content: bytes, *, private: bool = False) -> None:
    """Put content where `path` is, in one step, on the disk before it returns.

    Args:
        path: the file, in a folder that exists.
        content: all of it.
        private: whether only its owner may read it.

    Raises:
        OSError: where it cannot be written; the old file stays, and nothing is left beside it.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PART}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def leftovers(folder: Path) -> Iterator[Path]:
    """What killed processes left in a folder; to be removed only by who holds its lock."""
    return (entry for entry in folder.iterdir() if entry.name.endswith(PART))
