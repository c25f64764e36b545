"""What the noise behind a claim hides, in numbers: enough to say what it is worth if somebody changes more or less.

Noise is metric: at the same scale, releases that move by c times as much cost c times the epsilon (of Laplace and
K-norm noise), or c^2 times the rho (of Gaussian noise). Grounds answer for c, `ratio`, from numbers that can be written
to a file. Each is certified: where nothing better is proved, it is that of "replace", which holds for whatever is
handed over, since that is clipped.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.sensitivity import changed_entries, changed_units

_SOLVED = 1 + 1e-6  # of sizes over the actions, which may miss their set by a solver's error


class Changing(Protocol):
    """What one person can change in a round; a `Change`."""

    shape: tuple[int, ...]

    def norm(self, p: float = ...) -> float: ...

    def reach(self, x: Array) -> float: ...

    def widths(self) -> Array: ...


class Grounds(ABC):
    """What the noise of one mechanism hides.

    Attributes:
        own: the relation that it was calibrated for: "replace", "zero-out" or "change".
        shape: of a loss.
        lower, upper: the bounding box of the loss set, column by column.
    """

    released: ClassVar[str]  # what is released: "sums" or "feedback"
    own: str
    shape: tuple[int, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @abstractmethod
    def ratio(self, to: str | Changing) -> float:
        """How many times as far one person moves the releases, if neighbours are these and not the own ones."""

    @property
    @abstractmethod
    def clipped(self) -> str:
        """What is clipped to what, in words."""

    def _check(self, change: Changing) -> None:
        if tuple(change.shape) != self.shape:
            shapes = f"shape {tuple(change.shape)} and losses {self.shape}"
            raise ArgumentError(f"The change has {shapes}; they must be the same.")

    @property
    def box(self) -> str:
        """The bounding box in words."""
        return box_in_words(self.lower, self.upper)


@dataclass(frozen=True)
class Hidden:
    """What the noise of one counter hides: how far one round's loss moves, in units of a grid and in the law's norm.

    Attributes:
        step: the unit.
        own, replace, zero_out: the distance under the relation of the calibration, and under those with a name.
        gain, slip: a release moves by gain times the distance, plus slip.
        half: of K-norm noise the half-widths of the box (or the radius of the ball) in which distances are taken.
    """

    step: float
    own: float
    replace: float
    zero_out: float
    gain: float = 1.0
    slip: float = 0.0
    half: tuple[float, ...] = ()

    def ratio(self, moved: float) -> float:
        """How far a release moves where a loss moves by `moved`, relative to what the noise was made for."""
        if moved == self.own:
            return 1.0
        if self.own == 0:
            return math.inf
        return (self.gain * moved + self.slip) / (self.gain * self.own + self.slip) * (1 + 1e-14)


@dataclass(frozen=True)
class SumGrounds(Grounds):
    """Of noisy sums of losses.

    Attributes:
        norm: of the law, 1 or 2; K-norm noise has its own, see `Hidden.half`.
        by_entry: whether losses are clipped entry by entry to the bounding box; otherwise to the nearest point.
        hidden: by the counter of each epoch.
        numbers: noisy numbers that one round's loss enters; None where that has no end.
    """

    own: str
    shape: tuple[int, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    norm: int
    by_entry: bool
    hidden: tuple[Hidden, ...]
    numbers: int | None

    released = "sums"

    def ratio(self, to: str | Changing) -> float:
        if isinstance(to, str):
            return max(one.ratio(one.replace if to == "replace" else one.zero_out) for one in self.hidden)
        self._check(to)
        return max(one.ratio(min(one.replace, self._moved(to, one))) for one in self.hidden)

    def _moved(self, change: Changing, one: Hidden) -> float:
        """How far a change moves a loss that is clipped and rounded, as in `Change`; infinity where that is unknown."""
        if not self.by_entry:
            return math.inf  # going to the nearest point may stretch a change
        lower, upper = np.array(self.lower), np.array(self.upper)
        units = changed_entries(np.ravel(change.widths(), order="F"), lower, upper, one.step)
        if one.half:
            return box_length(units, np.array(one.half))  # by entries nothing but a box is clipped to
        return float(changed_units(units, float(change.norm(self.norm)), lower, upper, one.step, self.norm))

    def repeated(self, times: int) -> "SumGrounds":
        """Of the same mechanism run several times."""
        return replace(self, numbers=None if self.numbers is None else times * self.numbers)

    @property
    def clipped(self) -> str:
        if self.by_entry:
            return f"losses entry by entry to the box {self.box}"
        return f"losses to the nearest point of the loss set, which lies in the box {self.box}"


@dataclass(frozen=True)
class FeedbackGrounds(Grounds):
    """Of the noisy values of a bandit's actions.

    Attributes:
        actions_lower, actions_upper: the bounding box of the decision set, column by column.
        step: the unit of what follows.
        moved: how far one round moves the value of any action, by the one scale for all of them; None where the scale
            is that of the action's own interval.
        replace, zero_out: the largest length of an interval over the loss set, and the largest absolute value.
    """

    own: str
    shape: tuple[int, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    actions_lower: tuple[float, ...]
    actions_upper: tuple[float, ...]
    step: float
    moved: float | None
    replace: float
    zero_out: float

    released = "feedback"

    def ratio(self, to: str | Changing) -> float:
        if not isinstance(to, str):
            self._check(to)
        if self.moved is None:
            return self._by_action(to)
        units = self.replace if isinstance(to, str) else min(self.replace, self._reached(to))
        if to == "zero-out":
            units = min(self.replace, self.zero_out)
        if self.moved == 0:
            return math.inf if units else 1.0
        return units / self.moved

    def _by_action(self, to: str | Changing) -> float:
        """With an interval of its own for each action nothing but the whole of it is known to be moved."""
        if self.own == "replace" or to == "zero-out":
            return 1.0
        # the interval of "zero-out" holds 0 and is at most twice as long as its longer half; only the upper half
        # is there where losses and actions are not negative
        return 1.0 if min(self.lower) >= 0 and min(self.actions_lower) >= 0 else 2.0

    def _reached(self, change: Changing) -> float:
        """How far a change moves the value of any action, in units: at the middle of their box, and from there."""
        lower, upper = np.array(self.actions_lower), np.array(self.actions_upper)
        middle, half = lower / 2 + upper / 2, (upper - lower) / 2 * _SOLVED
        widths = np.ravel(change.widths(), order="F")
        apart = min(float(widths @ half), float(change.norm(1)) * float(half.max()))
        around = float(change.reach(middle.reshape(self.shape, order="F")))
        reach = (around + apart) * _SOLVED
        if reach == 0:
            return 0.0
        largest = float(np.abs([self.lower, self.upper]).max() * np.abs([lower, upper]).max())
        return math.floor((reach + 2.0**-52 * len(self.lower) ** 2 * largest) / self.step) + 2

    def repeated(self, times: int) -> "FeedbackGrounds":
        """Of the same mechanism run several times."""
        return self

    @property
    def clipped(self) -> str:
        return "each value to its interval over the loss set, which lies in the box " + self.box


def box_length(units: Array, half: Array) -> float:
    """How far whole numbers are from 0 in the norm of a box, in the steps of K-norm noise on it; see `k_norm`."""
    moving = half > 0
    if (units[~moving] > 0).any():
        return math.inf
    r = 2 * int(moving.sum())
    levels = [-(-r * int(w) // int(h)) for w, h in zip(units[moving], half[moving], strict=True)]
    return max(levels, default=0) / max(r, 1)


def box_in_words(lower: tuple[float, ...], upper: tuple[float, ...]) -> str:
    """A box, shortened."""
    if len(set(lower)) == len(set(upper)) == 1:
        return f"[{lower[0]:.6g}, {upper[0]:.6g}]" + (f"^{len(lower)}" if len(lower) > 1 else "")
    sides = [f"[{low:.6g}, {high:.6g}]" for low, high in zip(lower, upper, strict=True)]
    return " x ".join(sides if len(sides) <= 4 else [*sides[:3], "...", sides[-1]])
