"""What several certificates over the same persons promise together.

Several ways are proved, and the smallest epsilon of them is taken, at one delta for all:

    sum       the epsilons of pure certificates add up, and so does rho of the others, which is converted once;
    zCDP      an epsilon of pure privacy counts as rho = epsilon^2/2 (Bun and Steinke 2016), then rho adds up;
    optimal   the worst cases of all mechanisms compose exactly (see `optimal_composition`): pure ones as randomised
              response, Gaussian noise on integers by its distance from the continuous one.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dpcvx import markup
from dpcvx.arguments import kind_of, share
from dpcvx.errors import ArgumentError
from dpcvx.privacy.accounting import composed_event
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.certificate_words import counted
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon
from dpcvx.privacy.optimal_composition import composed_epsilon


@dataclass(frozen=True)
class Composition:
    """What several certificates over the same persons promise together.

    Attributes:
        parts: the certificates.
        epsilon, delta: what holds for all of them.
        method: how epsilon was found, in words.
        rho: the zero-concentrated privacy of all of them, where each has one or is pure; otherwise None.
    """

    parts: tuple[Certificate, ...]
    epsilon: float
    delta: float
    method: str
    rho: float | None = field(default=None)

    @property
    def secure(self) -> bool:
        return all(part.secure for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """All fields, of plain values; infinity is None."""
        return {
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "delta": self.delta,
            "method": self.method,
            "rho": self.rho,
            "secure": self.secure,
            "parts": [part.to_dict() for part in self.parts],
        }

    def to_dp_accounting(self, relation: str = "REPLACE_ONE") -> Any:
        """The composition as an event of dp-accounting; see `Certificate.to_dp_accounting`."""
        return composed_event(part.to_dp_accounting(relation) for part in self.parts)

    def rows(self) -> list[tuple[str, str]]:
        """The claim and its parts, line by line: what about, and words."""
        claim = f"epsilon = {self.epsilon:.6g}, delta = {self.delta:.6g}"
        rows = [("claim", claim if self.secure else f"none; secure runs with these settings: {claim}")]
        rows += [("by", self.method), ("protects", self.parts[0].protects)]
        return rows + [
            ("part", f"{part.mechanism}: epsilon = {part.epsilon:.6g}, delta = {part.delta:.6g}") for part in self.parts
        ]

    @property
    def title(self) -> str:
        said = f"Composition of {counted(len(self.parts), 'certificate')}"
        return said if self.secure else f"{said} (simulation: not private)"

    def __repr__(self) -> str:
        claim = f"epsilon={self.epsilon:.6g}, delta={self.delta:.6g}" + ("" if self.secure else ", not private")
        return f"Composition({claim}, of {counted(len(self.parts), 'certificate')})"

    def __str__(self) -> str:
        claim = f"epsilon = {self.epsilon:.6g}, delta = {self.delta:.6g}"
        title = f"Composition of {counted(len(self.parts), 'certificate')}: {claim}, by {self.method}"
        return title if self.secure else f"{title} (simulation: not private)"

    def _repr_html_(self) -> str:
        return markup.notebook(markup.table(self.rows(), caption=self.title))


def compose(*certificates: Certificate | Iterable[Certificate], delta: float | None = None) -> Composition:
    """What certificates over the same persons promise together, at one delta.

    Args:
        *certificates: one by one, or in lists.
        delta: the delta of all together; by default the largest of those with a rho, and the others' on top of it. With
            delta > 0 pure certificates alone cost less than the sum of their epsilons, too.

    Raises:
        ValueError: where the certificates speak of different neighbours or rounds per person, and where there is no
            epsilon at this delta.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> one = dpcvx.FTRL(X, Y, horizon=100, epsilon=1.0, delta=1e-6).certificate
        >>> print(dpcvx.compose([one] * 8, delta=1e-6))
        Composition of 8 certificates: epsilon = 2.87963, delta = 1e-06, by optimal composition
    """
    parts = _listed(certificates)
    _check_same(parts)
    approximate = [part for part in parts if part.delta > 0 and part.rho is None]
    missed = 1.0
    if all(part.delta < 1 for part in approximate):
        missed = -math.expm1(math.fsum(math.log1p(-part.delta) for part in approximate))
    if delta is None:
        delta = min(1.0, missed + max((part.delta for part in parts if part.rho is not None), default=0.0))
    elif share(delta, "delta") < missed:
        raise ArgumentError(
            f"delta = {delta:.6g} is below {missed:.6g}, what certificates without rho have spent of it already."
        )
    pure = [part.epsilon for part in parts if part.rho is None]
    rhos = [part.rho for part in parts if part.rho is not None]
    if not math.isfinite(math.fsum(pure)):
        return Composition(parts, math.inf, delta, "a part without noise")
    if delta >= 1:
        return Composition(parts, math.fsum(part.epsilon for part in parts), 1.0, "sum; delta = 1 promises nothing")
    left = (delta - missed) / (1 - missed)  # with D = missed, D + (1 - D) left is delta
    if any(rhos) and left == 0:
        raise ArgumentError(
            f"Gaussian noise has no epsilon at delta = {delta:.6g}"
            + (f", of which {missed:.6g} is spent by other parts." if missed else "; give delta > 0.")
        )
    rho = None if approximate else math.fsum([*rhos, *(epsilon**2 / 2 for epsilon in pure)])
    found = min(_ways(parts, pure, rhos, left, bool(approximate)))
    return Composition(parts, found[0], delta, found[1], rho)


def _ways(
    parts: tuple[Certificate, ...], pure: list[float], rhos: list[float], delta: float, approximate: bool
) -> list[tuple[float, str]]:
    """An epsilon by each way that is proved, and its name; where delta is 0, rho is."""
    spent = math.fsum(rhos)
    ways = [(math.fsum(pure) + _converted(spent, delta), "the sum of the epsilons" if not spent else "the sum of rho")]
    if pure and spent:
        ways = [(ways[0][0], "the sum of pure epsilons and of rho")]
        if not approximate:
            ways.append((_converted(spent + math.fsum(e * e / 2 for e in pure), delta), "the sum of rho, all as zCDP"))
    if delta > 0:
        slacks = [part.gaussian_slack for part in parts if part.rho]
        slack = math.fsum(math.inf if one is None else one for one in slacks)
        if slack < 1:
            best = composed_epsilon(pure, math.sqrt(2 * spent), delta * math.exp(-slack) * (1 - 1e-12)) + slack
            ways.append((best, "optimal composition"))
        else:
            best = composed_epsilon(pure, 0.0, delta / 2) + _converted(spent, delta / 2)
            ways.append((best, "optimal composition of pure parts, and the sum of rho"))
    return ways


def _converted(rho: float, delta: float) -> float:
    return zcdp_epsilon(rho, delta) if rho else 0.0


def _listed(certificates: tuple[Certificate | Iterable[Certificate], ...]) -> tuple[Certificate, ...]:
    """The certificates, out of their lists."""
    found: list[Certificate] = []
    for given in certificates:
        found += list(given) if isinstance(given, Iterable) else [given]
    wrong = next((one for one in found if not isinstance(one, Certificate)), None)
    if wrong is not None:
        hint = ": give its certificate" if hasattr(wrong, "certificate") else ""
        raise TypeError(f"compose takes certificates, not {kind_of(wrong)}{hint}.")
    if not found:
        raise ArgumentError("compose needs at least one certificate.")
    return tuple(found)


def _check_same(parts: tuple[Certificate, ...]) -> None:
    """That all parts speak of the same neighbours and of persons in as many rounds."""
    if len({part.relation for part in parts}) > 1:
        named = sorted({part.neighbours for part in parts})
        which = " and ".join(named) if len(named) > 1 else "declared changes that are not the same"
        raise ArgumentError(f"Certificates of different neighbouring relations do not add up: {which}.")
    if len({part.rounds_per_person for part in parts}) > 1:
        raise ArgumentError(
            "Certificates for different rounds per person do not add up; use group to bring them to one unit."
        )
