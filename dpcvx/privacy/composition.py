"""What several certificates over the same persons promise together."""

from dataclasses import dataclass
from typing import Any

from dpcvx.privacy.certificate import Certificate


@dataclass(frozen=True)
class Composition:
    """What several certificates over the same persons promise together."""

    parts: tuple[Certificate, ...]

    @property
    def epsilon(self) -> float:
        return float(sum(part.epsilon for part in self.parts))

    @property
    def delta(self) -> float:
        return min(1.0, float(sum(part.delta for part in self.parts)))

    @property
    def secure(self) -> bool:
        return all(part.secure for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "secure": self.secure,
            "parts": [part.to_dict() for part in self.parts],
        }

    def __str__(self) -> str:
        title = f"Composition of {len(self.parts)} certificates: epsilon = {self.epsilon:.6g}, delta = {self.delta:.6g}"
        return title if self.secure else f"{title} (simulation: not private)"


def compose(*certificates: Certificate) -> Composition:
    """Add certificates over the same data: basic composition."""
    if not certificates:
        raise ValueError("compose needs at least one certificate.")
    if len({part.neighbours for part in certificates}) > 1:
        raise ValueError("Certificates of different neighbouring relations do not add up.")
    if len({part.rounds_per_person for part in certificates}) > 1:
        raise ValueError(
            "Certificates for different rounds per person do not add up; use group to bring them to one unit."
        )
    return Composition(certificates)
