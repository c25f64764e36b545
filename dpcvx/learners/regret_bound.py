"""A proved regret bound, split into what learning and what privacy cost, and whether it says anything yet."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpcvx.privacy.certificate_words import vacuous

_LONGEST = 2**40  # rounds up to which a horizon is sought


@dataclass(frozen=True)
class RegretBound:
    """An upper bound of the expected regret against every oblivious sequence of losses.

    The parts are what the theorem gives, also where their sum is more than any sequence of losses can cost.

    Attributes:
        learning: what the same learner pays without noise.
        privacy: what the noise adds.
        rounds: over how many rounds.
        theorem: the argument behind it, in one line.
        largest: the largest regret there is over these rounds.
        useful_from: the least horizon found, to two digits, at which the same learner's bound is below the largest
            regret; None where it is so here, or was not sought, or not found.
        capped: the bounds of several epochs, each of them no more than its largest regret; None for one epoch.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> bound = dpcvx.FTRL(X, Y, horizon=100, epsilon=1.0).regret_bound
        >>> print(bound)
        57.1411 over 100 rounds = 14.1421 (learning) + 42.9989 (privacy)
        >>> bound.says_nothing, bound.largest
        (False, 200.0)
    """

    learning: float
    privacy: float
    rounds: int
    theorem: str
    largest: float = math.inf
    useful_from: int | None = None
    capped: float | None = None

    def __post_init__(self) -> None:
        for name in ("learning", "privacy", "largest"):  # plain numbers, also where NumPy found them
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def proved(self) -> float:
        """What the theorem gives."""
        return self.learning + self.privacy

    @property
    def total(self) -> float:
        """What holds: the proved bound, or the largest regret there is."""
        return min(self.proved, self.largest) if self.capped is None else min(self.capped, self.proved)

    @property
    def says_nothing(self) -> bool:
        """Whether the largest regret there is is no more than the proved bound."""
        return self.proved >= self.largest > 0

    def __float__(self) -> float:
        return self.total

    def __add__(self, other: "RegretBound") -> "RegretBound":
        """The bound over two epochs, one after the other."""
        return RegretBound(
            self.learning + other.learning,
            self.privacy + other.privacy,
            self.rounds + other.rounds,
            other.theorem,
            self.largest + other.largest,
            capped=self.total + other.total,
        )

    def sought(self, says_nothing_at: Callable[[int], bool]) -> "RegretBound":
        """The same with `useful_from`, where it says nothing here."""
        if not self.says_nothing or self.useful_from is not None:
            return self
        return replace(self, useful_from=useful_horizon(says_nothing_at, self.rounds))

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain values; infinity is None."""
        return {
            "learning": self.learning,
            "privacy": self.privacy,
            "rounds": self.rounds,
            "theorem": self.theorem,
            "largest": self.largest if math.isfinite(self.largest) else None,
            "useful_from": self.useful_from,
            "total": self.total,
        }

    def __str__(self) -> str:
        parts = f"{self.learning:.6g} (learning) + {self.privacy:.6g} (privacy)"
        if self.says_nothing:
            said = vacuous(self.proved, self.largest, self.useful_from)
            return f"{self.total:.6g} over {self.rounds} rounds: {said}; it is {parts}"
        if self.total < self.proved:  # of several epochs the first say nothing
            return f"{self.total:.6g} over {self.rounds} rounds: {parts}, each epoch at most its largest regret"
        return f"{self.total:.6g} over {self.rounds} rounds = {parts}"


def useful_horizon(says_nothing_at: Callable[[int], bool], after: int) -> int | None:
    """The least number of rounds above `after`, rounded up to two digits, at which a bound says something.

    By doubling and bisection: below it there may be others where bounds jump. None where none was found, where a
    horizon on the way does not fit into the numbers that sums run on, and where a learner of a class of its own cannot
    be made again by its settings.
    """
    low, high = after, 2 * after
    try:
        while says_nothing_at(high):
            low, high = high, 2 * high
            if high > _LONGEST:
                return None
        while high - low > max(high // 100, 1):
            middle = (low + high) // 2
            low, high = (middle, high) if says_nothing_at(middle) else (low, middle)
        unit = 10 ** max(len(str(high)) - 2, 0)
        rounded = -(-high // unit) * unit
        return high if says_nothing_at(rounded) else rounded
    except (OverflowError, TypeError):
        return None
