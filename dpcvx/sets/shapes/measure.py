"""Numbers that say whether they are exact or certified bounds."""

from typing import Any


class Measure(float):
    """A number with its standing: `kind` is "exact" or "bound" (a certified upper bound)."""

    kind: str

    def __new__(cls, value: float, kind: str) -> "Measure":
        number = super().__new__(cls, value)
        number.kind = kind
        return number

    def __repr__(self) -> str:
        return f"{float(self):.12g} ({self.kind})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Measure, (float(self), self.kind))


def exact(value: float) -> Measure:
    return Measure(float(value), "exact")


def bound(value: float) -> Measure:
    return Measure(float(value), "bound")
