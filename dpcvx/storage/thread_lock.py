"""A lock between the threads of one process, for a state that must change one step at a time."""

import os
import weakref
from _thread import RLock
from typing import Any

_alive: weakref.WeakSet["ThreadLock"] = weakref.WeakSet()


class ThreadLock(RLock):  # type: ignore[misc]  # typeshed calls it final, Python does not
    """A lock that its thread may take again, and that belongs to one object of one process.

    It is held by `with`, all in one line: then there is no step between what is done and the release, not even for a
    tracer, at which an interruption could leave it held.

    It comes back as a new one, free, where its object is copied, pickled or forked: a child process has none of the
    threads that could release it.
    """

    def __init__(self) -> None:
        _alive.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (ThreadLock, ())


def _free_all() -> None:
    """In a forked child, take away what threads held that are not there."""
    for lock in _alive:
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # what the standard library calls after a fork


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(after_in_child=_free_all)
