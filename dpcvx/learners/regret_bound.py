"""A proved regret bound, split into what learning and what privacy cost."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class RegretBound:
    """An upper bound of the expected regret against every oblivious sequence of losses.

    Attributes:
        learning: what the same learner pays without noise.
        privacy: what the noise adds.
        rounds: over how many rounds.
        theorem: the argument behind it, in one line.
    """

    learning: float
    privacy: float
    rounds: int
    theorem: str

    @property
    def total(self) -> float:
        return self.learning + self.privacy

    def __float__(self) -> float:
        return self.total

    def __add__(self, other: "RegretBound") -> "RegretBound":
        """The bound over two epochs, one after the other."""
        return RegretBound(
            self.learning + other.learning, self.privacy + other.privacy, self.rounds + other.rounds, other.theorem
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"total": self.total}

    def __str__(self) -> str:
        parts = f"{self.learning:.6g} (learning) + {self.privacy:.6g} (privacy)"
        return f"{self.total:.6g} over {self.rounds} rounds = {parts}"
