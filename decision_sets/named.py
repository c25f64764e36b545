"""Sets and losses that a name and a few numbers describe, for whoever has only words, such as the command line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from dpcvx.sets import DecisionSet

Declare = TypeVar("Declare", bound=Callable[..., DecisionSet])


@dataclass(frozen=True)
class NamedSet:
    """A function of the catalogue that can be called with numbers alone.

    Attributes:
        declare: the function.
        example: numbers for it, as they are written after its name: "10,3".
        losses: its usual losses, by a name of `decision_sets.losses.NAMED_LOSSES` and their numbers: "ball:1".
    """

    declare: Callable[..., DecisionSet]
    example: str
    losses: str


NAMED: dict[str, NamedSet] = {}  # by the names of the functions


def named(example: str, losses: str = "box") -> Callable[[Declare], Declare]:
    """A decorator that puts a function of the catalogue into `NAMED`; the arguments are explained in `NamedSet`."""

    def register(declare: Declare) -> Declare:
        NAMED[declare.__name__] = NamedSet(declare, example, losses)
        return declare

    return register
