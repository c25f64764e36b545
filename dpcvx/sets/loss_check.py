"""Public or past losses held against a loss set: how many are outside, in which entries, by how much, and what to do.

What is checked is shown. So it is for data that need no protection: how often private losses were clipped would tell of
them, and a set that is fitted to them protects nobody.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpcvx import markup
from dpcvx.arrays import Array, Bools

_SHOWN = 5  # entries of a summary
_WIDE = 4  # times as wide as the losses is called too wide


@dataclass(frozen=True)
class Excess:
    """An entry in which some losses leave the bounding box of their set.

    Attributes:
        entry: its index.
        losses: in how many losses.
        below, above: by how much at most.
    """

    entry: tuple[int, ...]
    losses: int
    below: float
    above: float

    def __str__(self) -> str:
        where = ", ".join(str(k) for k in self.entry)
        sides = [f"{far:.6g} {side}" for far, side in ((self.below, "below"), (self.above, "above")) if far]
        return f"entry [{where}]: by up to {' and '.join(sides)}, in {self.losses}"


@dataclass(frozen=True, eq=False)
class LossCheck:
    """What `LossSet.check` found.

    Attributes:
        name: of the loss set.
        losses: how many were checked.
        outside: how many of them are finite and not in the set: these are clipped.
        not_finite: how many hold NaN or an infinity: these are refused.
        first: the number of the first that is outside, from 0; None where none is.
        entries: those that leave the bounding box of the set, the farthest first.
        distance: the largest Euclidean distance from the set.
        least, largest: the ends of each entry over the finite losses.
        lower, upper: those of the set.
        by_entry: whether the set is a box, so that its ends are all there is to it.
    """

    name: str
    losses: int
    outside: int
    not_finite: int
    first: int | None
    entries: tuple[Excess, ...]
    distance: float
    least: Array
    largest: Array
    lower: Array
    upper: Array
    by_entry: bool

    @property
    def ok(self) -> bool:
        """Whether every loss is in the set."""
        return not self.outside and not self.not_finite

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        if self.ok:
            return f"All of {self.losses} losses are in the {self.name}."
        found = []
        if self.outside:
            verb = "is" if self.outside == 1 else "are"
            far = f"by up to {self.distance:.6g}"
            found.append(f"{self.outside} of {self.losses} losses {verb} outside the {self.name}, {far}")
        if self.not_finite:
            found.append(f"{self.not_finite} of {self.losses} hold NaN or an infinity")
        return "; ".join(found) + "."

    @property
    def suggestion(self) -> str:
        """What to declare instead, or what to do with the losses."""
        if self.losses == self.not_finite:
            return "Give finite losses."
        low, high = _rounded(float(self.least.min()), up=False), _rounded(float(self.largest.max()), up=True)
        if not self.outside:
            return self._narrower(low, high)
        if not self.entries:
            return f"Each entry is in its range: enlarge the constraints that join entries, by {self.distance:.3g}."
        if self.least.min() >= self.lower.min():
            low = float(self.lower.min()) + 0.0
        if self.largest.max() <= self.upper.max():
            high = float(self.upper.max()) + 0.0
        said = f"Declare a set that holds them, such as {low:g} <= l <= {high:g}"
        scale = self._scale()
        return f"{said}, or divide the losses by {scale:g}." if scale is not None else f"{said}."

    def _narrower(self, low: float, high: float) -> str:
        widths, used = self.upper - self.lower, self.largest - self.least
        if self.losses > 1 and widths.max() > 0 and bool((widths >= _WIDE * used).all()):
            times = float(widths.max() / used.max()) if used.max() > 0 else math.inf
            wide = f"{times:.3g} times as wide as these losses" if math.isfinite(times) else "wide, and they are alike"
            return f"The set is {wide}: if others are like them, {low:g} <= l <= {high:g} needs less noise."
        return "Keep the set."

    def _scale(self) -> float | None:
        """By what the losses are to be divided to lie in the set; None where no number is known to do it."""
        if not self.by_entry:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.where(self.largest > 0, self.largest / np.abs(np.maximum(self.upper, 0.0)), 0.0)
            under = np.where(self.least < 0, np.abs(self.least / np.minimum(self.lower, 0.0)), 0.0)
        needed = float(max(over.max(), under.max()))
        holds_zero = bool((self.lower <= 0).all() and (self.upper >= 0).all())
        return _rounded(needed, up=True) if holds_zero and math.isfinite(needed) else None

    def rows(self) -> list[tuple[str, str]]:
        """Line by line: what about, and words."""
        rows = [("found", self.sentence)]
        rows += [("entry", str(one)) for one in self.entries[:_SHOWN]]
        if len(self.entries) > _SHOWN:
            rows.append(("entry", f"and {len(self.entries) - _SHOWN} more"))
        if self.losses > self.not_finite:
            ends = f"{self.least.min():.6g} to {self.largest.max():.6g}"
            rows.append(("range", f"{ends}, of a set from {self.lower.min() + 0.0:.6g} to {self.upper.max():.6g}"))
        rows.append(("suggestion", self.suggestion))
        rows.append(("note", "for public or past losses: what is shown here is not protected"))
        return rows

    def summary(self) -> str:
        """What was found and what to do, in a few lines."""
        return "\n".join([f"Check of the {self.name}", *(f"  {key:12s} {text}" for key, text in self.rows())])

    def __repr__(self) -> str:
        return f"LossCheck({self.name}, {self.losses} losses, {self.outside} outside, {self.not_finite} not finite)"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return markup.notebook(markup.table(self.rows(), caption=f"Check of the {self.name}"))


def excesses(losses: Array, outside: Bools, lower: Array, upper: Array, shape: tuple[int, ...]) -> tuple[Excess, ...]:
    """The entries in which losses (k, size) that are outside their set leave the box of it, the farthest first."""
    below, above = np.maximum(lower - losses[outside], 0.0), np.maximum(losses[outside] - upper, 0.0)
    far = np.maximum(below, above).max(axis=0, initial=0.0)
    found = []
    for k in np.argsort(-far, kind="stable")[: int((far > 0).sum())].tolist():
        count = int(((below[:, k] > 0) | (above[:, k] > 0)).sum())
        entry = tuple(int(i) for i in np.unravel_index(k, shape, order="F")) if shape else ()
        found.append(Excess(entry, count, float(below[:, k].max()), float(above[:, k].max())))
    return tuple(found)


def _rounded(number: float, up: bool) -> float:
    """The next number of two digits above, or below."""
    if number == 0 or not math.isfinite(number):
        return number + 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(number))) - 1)
    digits = number / unit
    digits = math.ceil(digits - 1e-9) if up else math.floor(digits + 1e-9)
    return float(f"{digits * unit:.3g}") + 0.0
