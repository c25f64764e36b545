"""Solvers that wait for the next question: each answers one at a time, and after an interruption none comes back."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Solver = TypeVar("Solver")


class Spares(Generic[Solver]):
    """Idle solvers of one program; who asks takes one out, and puts it back once it has answered.

    So no two threads ask one solver at once, and there is no lock that an interruption could leave behind: what was
    interrupted, or failed, is not put back, and another is set up. As many are kept as were ever at work at once.
    """

    def __init__(self, *first: Solver) -> None:
        self._idle = list(first)

    def take(self, set_up: Callable[[], Solver]) -> Solver:
        """A solver that is nobody else's until it is put back; a new one where all are at work."""
        try:
            return self._idle.pop()  # one step, also among threads
        except IndexError:
            return set_up()

    def put_back(self, solver: Solver) -> None:
        """Give back a solver that has answered."""
        self._idle.append(solver)

    def __iter__(self) -> Iterator[Solver]:
        return iter(tuple(self._idle))
