"""Whose a secret state is: one process, and no copy of it in another."""

import os
from typing import Any

from dpcvx.errors import ProtocolError


class ProcessGuard:
    """Remembers the process in which it was made, and refuses to go on in a forked child.

    A state that is written to a file belongs to the process that loads it: a guard that is pickled or copied comes back
    as a new one.
    """

    def __init__(self) -> None:
        self._process = os.getpid()

    def check(self) -> None:
        """Let the process pass in which the guard was made.

        Raises:
            ProtocolError: in a process that was forked from it.
        """
        if os.getpid() != self._process:
            raise ProtocolError(
                "A private learner was used after a fork; its state would be released twice. Make one in each process."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return (ProcessGuard, ())
