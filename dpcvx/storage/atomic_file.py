"""Files that come into being in one step: a reader sees the old one or the new one, never half of it."""

import errno
import os
import secrets
from pathlib import Path

PART = ".part"  # ends the names of files that are not yet whole; a killed process can leave one
_SHOWN = 40  # characters of the file's own name in that of its part, which may not be longer than 255 bytes


def write_atomically(path: Path, content: bytes, *, private: bool = False, lasting: bool = False) -> None:
    """Put content where `path` is, in one step: it is on the disk before it takes the place of the old file.

    Args:
        path: the file, in a folder that exists. A link is replaced, not followed; see `regular_place`.
        content: all of it.
        private: whether only its owner may read it; otherwise the umask decides.
        lasting: whether the new file must outlive a loss of power from the return of this call on. Otherwise such a
            loss may bring the old one back.

    Raises:
        OSError: where it cannot be written; nothing is left beside it. The old file stays, unless all that failed was
            to make the new one last.
    """
    part = path.with_name(f".{path.name[:_SHOWN]}.{secrets.token_hex(8)}{PART}")
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
    if lasting and os.name == "posix":
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def leftovers(folder: Path) -> list[Path]:
    """The parts that killed processes left in a folder; only who holds its lock may remove them."""
    return [entry for entry in folder.iterdir() if entry.name.endswith(PART)]


def regular_place(path: str | os.PathLike[str]) -> Path:
    """Where a file that a user named is to be written: links are followed to what they name.

    Raises:
        OSError: where something else than a regular file is there, such as a device, which must stay.
    """
    place = Path(path).resolve()
    if place.exists() and not place.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file", str(place))
    return place
