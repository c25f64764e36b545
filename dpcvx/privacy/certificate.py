"""What is promised about one stream of losses, in words and numbers that can be checked.

Neighbouring streams: "replace" (one round's loss becomes any other of the set) is `substitute` in OpenDP's and
REPLACE_ONE in dp-accounting's words; "zero-out" (one round's loss becomes 0) is REPLACE_SPECIAL in dp-accounting's
words.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dpcvx import markup
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon

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
        neighbours: "replace" or "zero-out".
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

    @property
    def protects(self) -> str:
        """The unit of privacy in words."""
        if self.rounds_per_person == 1:
            return "one round's loss vector"
        return f"the loss vectors of up to {self.rounds_per_person} rounds"

    @property
    def arithmetic(self) -> str:
        return "secure: exact integer noise" if self.secure else "simulation: not private"

    def group(self, k: int) -> "Certificate":
        """What holds for a group of k persons, or a person in k times as many rounds."""
        if k < 1 or int(k) != k:
            raise ValueError(f"k must be a whole number of at least 1, not {k}.")
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
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields, machine-readable."""
        return asdict(self) | {"protects": self.protects, "arithmetic": self.arithmetic}

    def rows(self) -> list[tuple[str, str]]:
        """The claim and what it rests on, line by line: what about, and words."""
        claim = f"epsilon = {self.epsilon:.6g}, delta = {self.delta:.6g}"
        if not np.isfinite(self.epsilon):
            claim = "none: the sums carry no noise"
        elif not self.secure:
            claim = f"none; a secure run with these settings: {claim}"
        rows = [
            ("claim", claim),
            ("protects", f"{self.protects}, neighbours by {self.neighbours}"),
            ("arithmetic", self.arithmetic),
            *([("sampler", _SAMPLERS[self.sampler])] if self.sampler is not None else []),
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
            ("rounds", f"{self.rounds} of {'any number' if self.horizon is None else self.horizon}"),
        ]
        if not np.isfinite(self.epsilon):
            rows = [row for row in rows if row[0] not in ("mechanism", "noise", "deviation", "sensitivity")]
        if self.regret_bound is not None:
            bound, rounds = self.regret_bound, counted(self.regret_bound["rounds"], "round")
            parts = f"{bound['learning']:.6g} for learning, {bound['privacy']:.6g} for privacy"
            said = f"at most {bound['total']:.6g} over {rounds}, in expectation, against oblivious losses: {parts}"
            rows.append(("regret", said))
            rows.append(("theorem", str(bound["theorem"])))
        rows += [("note", note) for note in self.notes]
        return rows

    @property
    def title(self) -> str:
        return "Privacy certificate" if self.secure else "Simulation: not private"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {key:12s} {text}" for key, text in self.rows())])

    def _repr_html_(self) -> str:
        return markup.table(self.rows(), caption=self.title)


def counted(number: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
