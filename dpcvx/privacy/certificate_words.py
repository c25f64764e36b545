"""A certificate in words: what is protected, what was only declared, what is clipped, and what it costs."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeclaredChange:
    """A declared change as a certificate keeps it.

    Attributes:
        constraints: as they were written.
        replace: whether the set is what a person contributes, which becomes another contribution.
        fingerprint: of the declaration; two certificates speak of the same neighbours where it is the same.
    """

    constraints: tuple[str, ...]
    replace: bool
    fingerprint: str

    def __str__(self) -> str:
        """How two neighbouring losses differ."""
        within = "{" + ", ".join(self.constraints) + "}"
        if self.replace:
            return f"by c' - c, c and c' in {within}"
        return f"by d or -d, d in {within}"


def protected(rounds_per_person: int, change: DeclaredChange | None) -> str:
    """The unit of privacy."""
    one = rounds_per_person == 1
    if change is not None:
        where = "one round" if one else f"up to {rounds_per_person} rounds, in each of them"
        return f"sequences that differ in {where} {change}"
    return "one round's loss vector" if one else f"the loss vectors of up to {rounds_per_person} rounds"


def price(epsilon: float, delta: float) -> str:
    """Epsilon and delta."""
    return f"epsilon = {epsilon:.6g}, delta = {delta:.6g}"


def regret(bound: dict[str, Any]) -> list[tuple[str, str]]:
    """What is proved of the regret, or that it says nothing yet, and by which theorem."""
    rounds = counted(bound["rounds"], "round")
    parts = f"{bound['learning']:.6g} for learning, {bound['privacy']:.6g} for privacy"
    proved, largest = bound["learning"] + bound["privacy"], bound.get("largest")
    said = f"at most {bound['total']:.6g} over {rounds}, in expectation, against oblivious losses"
    if largest is not None and proved >= largest > 0:
        rows = [
            ("regret", f"{said}: no sequence of losses costs more"),
            ("bound", f"{vacuous(proved, largest, bound.get('useful_from'))}; it is {parts}"),
        ]
    else:
        limit = ", each epoch at most its largest possible regret" if bound["total"] < proved else ""
        rows = [("regret", f"{said}: {parts}{limit}")]
    return [*rows, ("theorem", str(bound["theorem"]))]


def vacuous(proved: float, largest: float, useful_from: int | None) -> str:
    """That a bound says nothing."""
    said = f"the proved bound, {proved:.6g}, is above the largest possible regret, {largest:.6g}: it says nothing yet"
    return said if useful_from is None else f"{said}; useful from T = {useful_from}"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
