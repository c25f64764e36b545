"""What an exact audit looks at: the noisy releases behind the prefixes of a counter, whose law is known.

They tell at least as much as the prefixes. `NodeEvidence` finds them by running the counter, `StreamEvidence` by the
matrices of a factorisation; `evidence_of` in `likelihood` takes the one for which the counter has what it needs.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from dpcvx.privacy.audit.events import Score
from dpcvx.privacy.audit.lower_bound import Sampler


@dataclass(frozen=True)
class View:
    """Two samplers and the exact log-likelihood ratio of their outputs: what `audit` needs."""

    first: Sampler
    second: Sampler
    score: Score


class Evidence(ABC):
    """The noisy releases behind the prefixes."""

    @abstractmethod
    def influence(self) -> float:
        """How far they move together where one item moves by 1, in the norm of the law, at the worst item.

        Infinite where a prefix moves in a direction that carries no noise at all.
        """

    @abstractmethod
    def view(self, first: Any, second: Any) -> View:
        """Those that differ between two streams of losses (T, *shape)."""
