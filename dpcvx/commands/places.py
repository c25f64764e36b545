"""Where a command writes: what cannot be written there is said in one sentence, before anything long begins."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpcvx.commands.outcomes import InputError
from dpcvx.storage.atomic_file import regular_place


@contextmanager
def writing(what: str, path: Path) -> Iterator[None]:
    """Say in one sentence that something cannot be written, and why.

    Args:
        what: the report, the picture, the runs, ...
        path: where it should go.

    Raises:
        InputError: for every OSError inside.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"The {what} cannot be written to {path}: {error.strerror or error}.") from error


def check_place(path: Path) -> None:
    """See whether a file can be put there, and leave nothing behind.

    Raises:
        OSError: where it cannot.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    place = regular_place(path)
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    tempfile.TemporaryFile(dir=place.parent).close()
