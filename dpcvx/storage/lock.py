"""A lock on a folder, held against other processes and threads; the lock of a killed process is free."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None


@contextmanager
def locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the folder; on a system without such locks this does nothing.

    Args:
        folder: it must exist.
        wait: whether to wait for another holder. Who holds the folder already waits for himself, and forever.

    Raises:
        BlockingIOError: without waiting, where another holds it.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
