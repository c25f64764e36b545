"""What is promised about one stream of losses, in words and numbers that can be checked.

Neighbouring streams: "replace" (one round's loss becomes any other of the set) is `substitute` in OpenDP's and
REPLACE_ONE in dp-accounting's words; "zero-out" (one round's loss becomes 0) is REPLACE_SPECIAL in dp-accounting's
words; "change" (one round's loss moves by what the user declared) is another distance of the input in OpenDP's.
"""

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from dpcvx import markup
from dpcvx.errors import ArgumentError
from dpcvx.privacy import accounting, certificate_words
from dpcvx.privacy.certificate_record import SCHEMA, checked_schema, from_text, plain, read, to_text
from dpcvx.privacy.certificate_words import DeclaredChange, counted
from dpcvx.privacy.choice_grounds import ChoiceGrounds
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon
from dpcvx.privacy.grounds import FeedbackGrounds, SumGrounds
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.optimal_composition import integer_slack

_WORDS = ("protects", "arithmetic")  # of a record, beside the fields: for its readers
_GROUNDS = {kind.released: kind for kind in (SumGrounds, FeedbackGrounds, ChoiceGrounds)}

_SAMPLERS = {
    "opendp": "opendp: OpenDP's exact samplers",
    "vector": "vector: dpcvx's own exact samplers, with noise drawn ahead",
    "numpy": "numpy: floating-point numbers from a seed",
}


@dataclass(frozen=True)
class Certificate:
    """A privacy claim with all that it rests on.

    Attributes:
        epsilon, delta: what holds for one person, who is in at most `rounds_per_person` rounds.
        neighbours: "replace", "zero-out" or "change".
        mechanism: the counter, or the noise on the feedback.
        releases_per_loss: noisy releases that one loss enters (the count of the composition).
        terms_per_prefix: noises in one released prefix.
        noise, scale: law and scale of one noise, in the units of the loss.
        prefix_deviation: standard deviation of one coordinate of a released prefix.
        sensitivity, sensitivity_norm, sensitivity_kind: of one rounded loss; "exact" or "bound".
        grid: the step to whose multiples losses are rounded.
        secure: exact integer noise from the operating system's entropy; otherwise it is a simulation and not private.
        horizon, rounds: rounds allowed (None is unlimited) and used.
        rho: zero-concentrated privacy behind (epsilon, delta) for Gaussian noise, otherwise None.
        sampler: what draws the noise: "opendp", "vector" (the package's own exact samplers), or "numpy" in simulation;
            None without noise.
        regret_bound: parts of a proved regret bound, or None.
        notes: what else the reader must know.
        change: what one person may change, where neighbours are "change".
        grounds: what `epsilon_for` needs; None where nothing is known of other neighbours.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> certificate = dpcvx.FTRL(X, Y, horizon=100, epsilon=1.0).certificate
        >>> certificate.epsilon, certificate.neighbours, certificate.secure
        (1.0, 'replace', True)
        >>> certificate.group(3).epsilon  # three persons together, or one in three rounds
        3.0
        >>> dpcvx.Certificate.from_json(certificate.to_json()) == certificate
        True
    """

    epsilon: float
    delta: float
    neighbours: str
    rounds_per_person: int
    mechanism: str
    releases_per_loss: int
    terms_per_prefix: int
    noise: str
    scale: float
    prefix_deviation: float
    sensitivity: float
    sensitivity_norm: int
    sensitivity_kind: str
    grid: float
    secure: bool
    horizon: int | None
    rounds: int
    rho: float | None = None
    regret_bound: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    sampler: str | None = None
    change: DeclaredChange | None = None
    grounds: SumGrounds | FeedbackGrounds | ChoiceGrounds | None = None

    @property
    def protects(self) -> str:
        """The unit of privacy in words."""
        return certificate_words.protected(self.rounds_per_person, self.change)

    @property
    def relation(self) -> tuple[str, str]:
        """What tells neighbouring relations apart: the name, and the fingerprint of a declared change."""
        return self.neighbours, "" if self.change is None else self.change.fingerprint

    @property
    def arithmetic(self) -> str:
        return "secure: exact integer noise" if self.secure else "simulation: not private"

    def group(self, k: int) -> "Certificate":
        """What holds for a group of k persons, or a person in k times as many rounds."""
        if k < 1 or int(k) != k:
            raise ArgumentError(f"k must be a whole number of at least 1, not {k}.")
        if self.delta == 0:
            return replace(self, epsilon=k * self.epsilon, rounds_per_person=k * self.rounds_per_person)
        with np.errstate(over="ignore"):
            epsilon, delta = k * self.epsilon, float(k * np.exp((k - 1) * self.epsilon) * self.delta)
        if self.rho is not None:  # the sensitivity grows k times, rho k^2 times
            epsilon, delta = zcdp_epsilon(k * k * self.rho, self.delta), self.delta
        return replace(
            self,
            epsilon=epsilon,
            delta=min(delta, 1.0),
            rho=None if self.rho is None else k * k * self.rho,
            rounds_per_person=k * self.rounds_per_person,
        )

    def after_rollbacks(self, count: int) -> "Certificate":
        """What holds for a learner that was continued `count` times from an older checkpoint.

        Each continuation is a run of its own, and all are seen: epsilon and delta, or rho, add up.
        """
        times = count + 1
        epsilon, delta = times * self.epsilon, min(times * self.delta, 1.0)
        if self.rho is not None:
            epsilon, delta = zcdp_epsilon(times * self.rho, self.delta), self.delta
        return replace(
            self,
            epsilon=epsilon,
            delta=delta,
            rho=None if self.rho is None else times * self.rho,
            notes=(*self.notes, f"continued {count} times from an older checkpoint (rollback), which is counted"),
            grounds=self.grounds and self.grounds.repeated(times),
        )

    def epsilon_for(self, neighbours: str | Neighbours) -> float:
        """The epsilon of the same mechanism, at the same delta, if neighbours are others than it was made for.

        Args:
            neighbours: "replace": one round's whole loss becomes any other, "zero-out", or a `Change`.

        Where losses are clipped to the nearest point of their set, which may stretch a change, and where each action of
        a bandit has noise of its own scale, no `Change` is known to cost less than "replace" does.

        Raises:
            ValueError: where this certificate cannot tell.
        """
        mark = getattr(neighbours, "fingerprint", "")
        if not mark and neighbours not in ("replace", "zero-out"):
            shown = repr(neighbours) if isinstance(neighbours, str) else f"a {type(neighbours).__name__}"
            raise ArgumentError(f'neighbours must be "replace", "zero-out" or a Change, not {shown}.')
        if self.relation == ((neighbours, "") if isinstance(neighbours, str) else ("change", mark)):
            return self.epsilon
        if math.isinf(self.epsilon):
            return math.inf
        if self.grounds is None:
            raise ArgumentError(f"This certificate does not hold what other neighbours cost: {self.mechanism}.")
        ratio = self.grounds.ratio(neighbours)  # type: ignore[arg-type]  # a relation with a fingerprint is a Change
        if ratio == 1:
            return self.epsilon
        if self.rho is not None:
            return zcdp_epsilon(self.rho * ratio**2, self.delta) if math.isfinite(ratio) else math.inf
        if self.delta > 0 and ratio > 1:
            raise ArgumentError(f"Without rho nothing is known of more than was declared at delta = {self.delta:.6g}.")
        return self.epsilon * ratio if self.delta == 0 else self.epsilon

    @property
    def gaussian_slack(self) -> float | None:
        """How far, as a log-ratio, the noise on integers is from rounded Gaussian noise of the same rho; None unless
        it is Gaussian noise on a number of integers that is known. See `optimal_composition`."""
        if self.noise != "Gaussian" or not isinstance(self.grounds, SumGrounds) or self.grounds.numbers is None:
            return None
        return integer_slack(self.grounds.numbers * self.rounds_per_person, self.scale / self.grid)

    def to_dp_accounting(self, relation: str = "REPLACE_ONE") -> Any:
        """The claim as an event of dp-accounting, which has to be installed (`pip install 'dpcvx[accounting]'`).

        Args:
            relation: of the account to which the event goes. What one person changes is in the event already; but that
                package prices an event by the relation of the account, so one that was made for another is wrong there.

        Raises:
            ImportError: where the package is not installed.
            ValueError: where that package has no such event.
        """
        accounting.checked_relation(relation)
        if math.isinf(self.epsilon):
            return accounting.unprotected_event()
        if self.rho is not None:
            exact = self.gaussian_slack
            if exact is None or exact > 1e-6 or not self.rho:
                return accounting.zcdp_event(self.rho)
            return accounting.gaussian_event(math.sqrt(2 * self.rho), relation)
        if self.delta > 0:
            raise ArgumentError("dp-accounting has no event for (epsilon, delta) without rho.")
        return accounting.pure_event(self.epsilon, relation)

    def to_dict(self) -> dict[str, Any]:
        """All fields, of plain values: numbers, texts, lists, with infinity as None, and the number of the schema."""
        record = {"schema": SCHEMA, **{name: plain(getattr(self, name)) for name in _names()}}
        if self.grounds is not None:
            record["grounds"] = {"released": self.grounds.released, **record["grounds"]}
        return record | {name: getattr(self, name) for name in _WORDS}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Self:
        """The certificate of `to_dict`.

        Raises:
            ValueError: where the record is of another schema, or damaged.
        """
        values = checked_schema(record)
        words = {name: values.pop(name) for name in _WORDS if name in values}
        grounds = values.pop("grounds", None)
        made: Self = read(cls, values, "The certificate")
        if grounds is not None:
            kind = _GROUNDS.get(str(grounds.get("released"))) if isinstance(grounds, dict) else None
            if kind is None:
                raise ArgumentError(f"The certificate.grounds must be of {' or '.join(_GROUNDS)}; they are not.")
            given = {name: value for name, value in grounds.items() if name != "released"}
            made = replace(made, grounds=read(kind, given, "The certificate.grounds"))
        made._check()
        wrong = sorted(name for name, said in words.items() if said != getattr(made, name))
        if wrong:
            raise ArgumentError(f"The certificate is damaged: its {wrong[0]!r} does not follow from its fields.")
        return made

    def to_json(self) -> str:
        """`to_dict` as JSON."""
        return to_text(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The certificate of `to_json`.

        Raises:
            ValueError: where the text is no JSON, of another schema, or damaged.
        """
        return cls.from_dict(from_text(text))

    def _check(self) -> None:
        """That the fields can be those of a certificate, in a ValueError."""
        if not self.epsilon >= 0 or not 0 <= self.delta <= 1 or not (self.rho is None or self.rho >= 0):
            raise ArgumentError(
                f"The certificate is damaged: epsilon = {self.epsilon}, delta = {self.delta}, rho = {self.rho}."
            )
        if self.neighbours not in ("replace", "zero-out", "change"):
            raise ArgumentError(f"The certificate is damaged: it knows no neighbours by {self.neighbours!r}.")
        if (self.neighbours == "change") != (self.change is not None):
            raise ArgumentError(
                "The certificate is damaged: a change is to be declared where neighbours are by change."
            )
        counts = (self.rounds_per_person - 1, self.rounds, self.releases_per_loss, self.terms_per_prefix)
        if min(counts) < 0 or min(self.scale, self.grid, self.sensitivity) < 0:
            raise ArgumentError("The certificate is damaged: a count or a size in it is negative.")

    def rows(self) -> list[tuple[str, str]]:
        """The claim and what it rests on, line by line: what about, and words."""
        claim = certificate_words.price(self.epsilon, self.delta)
        if not np.isfinite(self.epsilon):
            claim = "none: the sums carry no noise"
        elif not self.secure:
            claim = f"none; a secure run with these settings: {claim}"
        by = "" if self.change is not None else f", neighbours by {self.neighbours}"
        rows = [("claim", claim), ("protects", f"{self.protects}{by}"), *self._conditions()]
        rows.append(("arithmetic", self.arithmetic))
        if self.sampler is not None:
            rows.append(("sampler", _SAMPLERS.get(self.sampler, self.sampler)))
        if np.isfinite(self.epsilon):
            rows += self._noise_rows()
        rows.append(("rounds", f"{self.rounds} of {'any number' if self.horizon is None else self.horizon}"))
        if self.regret_bound is not None:
            rows += certificate_words.regret(self.regret_bound)
        return rows + [("note", note) for note in self.notes]

    def _conditions(self) -> list[tuple[str, str]]:
        """What the claim depends on, and what it is for more persons or a larger change."""
        rows = []
        if self.change is not None:
            rows.append(
                ("declared", "that one person changes a round by no more is the user's declaration; it is not checked")
            )
        rows.append(("persons", f"each in at most {counted(self.rounds_per_person, 'round')}; that is declared, too"))
        if self.grounds is not None:
            rows.append(("clipped", self.grounds.clipped))
        if not np.isfinite(self.epsilon):
            return rows
        if self.change is not None and self.grounds is not None:
            whole = certificate_words.price(self.epsilon_for("replace"), self.delta)
            rows.append(("whole round", f"{whole}, if one round's whole loss becomes another"))
        pair = self.group(2)
        rows.append(("groups", f"of 2 persons: {certificate_words.price(pair.epsilon, pair.delta)}; group(k) for k"))
        return rows

    def _noise_rows(self) -> list[tuple[str, str]]:
        """How the claim was reached."""
        return [
            ("mechanism", f"{self.mechanism}: one loss enters {counted(self.releases_per_loss, 'release')}"),
            (
                "noise",
                f"{self.noise} of scale {self.scale:.6g}, {counted(self.terms_per_prefix, 'term')} in a noisy sum",
            ),
            ("deviation", f"{self.prefix_deviation:.6g} in each coordinate of a noisy sum"),
            (
                "sensitivity",
                f"{self.sensitivity:.6g} in the {self.sensitivity_norm}-norm ({self.sensitivity_kind}), "
                f"on the grid {self.grid:.3g}",
            ),
        ]

    @property
    def title(self) -> str:
        return "Privacy certificate" if self.secure else "Simulation: not private"

    def __repr__(self) -> str:
        claim = f"epsilon={self.epsilon:.6g}, delta={self.delta:.6g}" + ("" if self.secure else ", not private")
        rounds = f"round {self.rounds} of {self.horizon or 'any number'}"
        return f"Certificate({claim}, neighbours={self.neighbours!r}, {self.mechanism}, {rounds})"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {key:12s} {text}" for key, text in self.rows())])

    def _repr_html_(self) -> str:
        return markup.notebook(markup.table(self.rows(), caption=self.title))


def _names() -> list[str]:
    return [field.name for field in fields(Certificate)]
