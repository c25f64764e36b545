"""Private running sums of losses: clip, round, count, certify. Every loss of full information goes through here."""

import copy
from dataclasses import dataclass
from types import EllipsisType

import numpy as np

from dpcvx.arguments import needed, positive, share
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, MissingArgumentError
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.counters import Counter
from dpcvx.privacy.mechanism import Mechanism
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.noise import Gaussian, Spent
from dpcvx.privacy.pace import sampler_notes, slow_round
from dpcvx.privacy.plan import Plan, plan
from dpcvx.privacy.prefix_noise import PrefixNoise
from dpcvx.privacy.running_sums import Epoch, RunningSums
from dpcvx.privacy.sum_grounds import sum_grounds
from dpcvx.privacy.weakness import warn_if_weak
from dpcvx.sets import LossSet
from dpcvx.storage.process import ProcessGuard
from dpcvx.streams import stream


@dataclass(frozen=True)
class PrivateEpoch(Epoch):
    """An epoch with noise: a counter at work, the mechanism that it runs on, and the largest price so far."""

    counter: Counter
    mechanism: Mechanism
    worst: Spent
    earlier: tuple[Plan, ...] = ()  # the calibrations of the epochs before


class PrivateSums(RunningSums):
    """The noisy sum of the losses so far, for every round.

    Without a seed the noise is exact and the certificate a claim. With a seed it is a simulation that claims nothing.
    Known horizon: one counter. `horizon=None`: epochs of doubling length, each with a new counter of the full epsilon
    and an empty sum; a loss lives in one epoch, so epsilon holds overall.

    A finite loss outside the set is clipped to it (under a declared change to its bounding box); how often is private
    and shown nowhere. An exception is visible to whoever sees the program run and is outside the certificate: NaN,
    infinities and wrong shapes raise and change nothing, and so do losses outside the set with `on_violation="raise"`.

    Args:
        loss_set: the declared loss set.
        horizon: number of rounds, or None.
        epsilon, delta, counter, noise, neighbours, rounds_per_person, calibration, sampler: see `plan`.
        on_violation: "clip" or "raise".
        seed: an int or a NumPy Generator makes it a simulation.
        replicas: in simulation, independent replicas on a leading axis.

    Example:
        >>> import decision_sets, dpcvx
        >>> sums = dpcvx.PrivateSums(decision_sets.loss_box(3, 0, 1), horizon=100, epsilon=1.0)
        >>> sums.update([0.2, 0.9, 0.4])
        >>> sums.prefix.shape  # the sum so far, with noise
        (3,)
        >>> sums.certificate.mechanism
        'smooth tree'
    """

    _epoch: PrivateEpoch

    def __init__(
        self,
        loss_set: LossSet,
        horizon: int | EllipsisType | None = ...,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        counter: str | None = None,
        noise: str | None = None,
        neighbours: str | Neighbours = "replace",
        rounds_per_person: int = 1,
        calibration: str = "exact",
        sampler: str | None = None,
        on_violation: str = "clip",
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        if isinstance(horizon, EllipsisType):
            raise MissingArgumentError(
                "PrivateSums needs a horizon: the number of rounds, or horizon=None where it is unknown."
            )
        needed(epsilon, "PrivateSums", "an epsilon", "a positive number, such as 1.0")
        if replicas is not None and seed is None:
            raise ArgumentError("replicas are for simulation; give a seed.")
        self.secure, self.rounds_per_person = seed is None, rounds_per_person
        if self.secure:
            warn_if_weak(positive(epsilon, "epsilon"), share(delta, "delta"))
        self.settings = {
            "epsilon": positive(epsilon, "epsilon"),
            "delta": share(delta, "delta"),
            "counter": counter,
            "noise": noise,
            "neighbours": neighbours,
            "rounds_per_person": rounds_per_person,
            "calibration": calibration,
            "sampler": sampler,
        }
        self._rng = None if seed is None else stream(seed, "PrivateSums: noise")
        self._guard = ProcessGuard()
        super().__init__(loss_set, horizon, neighbours, on_violation, replicas)

    def planned(self, horizon: int) -> Plan:
        """The calibration of an epoch of that many rounds."""
        return plan(self.loss_set, horizon, **self.settings)

    def _opened(self, horizon: int, number: int, before: int) -> PrivateEpoch:
        new = self.planned(horizon)
        mechanism = Mechanism(new, self.clipping, self.rounds_per_person, self._rng)
        counter = mechanism.counter((*self.leading, self.loss_set.size), mechanism.source(self.loss_set.size))
        worst = Spent(new.epsilon, new.rho)
        if number and self._epoch.worst.epsilon > new.epsilon:  # calibration="paper" gives each epoch its own
            worst = self._epoch.worst
        earlier = (*self._epoch.earlier, self.plan) if number else ()
        return PrivateEpoch(number, counter, before, mechanism, worst, earlier)

    def _item(self, clipped: Array) -> Array:
        return self._epoch.mechanism.rounded(clipped)

    def check_process(self) -> None:
        if self.secure:
            self._guard.check()

    def __copy__(self) -> "PrivateSums":
        if self.secure:
            raise copy.Error("Secure sums cannot be copied: the same private state would be released twice.")
        return copy.deepcopy(self)

    @property
    def mechanism(self) -> Mechanism:
        """What an auditor may know of this epoch."""
        return self._epoch.mechanism

    @property
    def plan(self) -> Plan:
        """The calibration of this epoch."""
        return self._epoch.mechanism.plan

    def _prefix(self) -> Array:
        return self.loss_set.unflatten(self._epoch.counter.prefix * self.plan.grid.step)

    @property
    def rounding(self) -> float:
        return self.plan.grid.step / (1 if self.plan.sensitivity.toward_zero else 2)

    @property
    def noise(self) -> PrefixNoise | None:
        return self.plan.noise

    @property
    def gaussian_deviation(self) -> float:
        return self.plan.deviation(self._epoch.counter.items) if isinstance(self.plan.law, Gaussian) else 0.0

    @property
    def slow(self) -> str | None:
        return slow_round(self.plan.sampler, self.plan.draws) if self.secure else None

    @property
    def certificate(self) -> Certificate:
        epoch = self._epoch  # once: a thread may open the next one
        p, worst = epoch.mechanism.plan, epoch.worst
        certificate = Certificate(
            epsilon=worst.epsilon,
            delta=p.delta,
            neighbours=self.neighbours,
            rounds_per_person=self.rounds_per_person,
            mechanism=p.counter.name,
            releases_per_loss=p.touches,
            terms_per_prefix=p.terms,
            noise=p.law.name,
            scale=p.law.scaled(p.grid.step).scale,
            prefix_deviation=p.prefix_deviation,
            sensitivity=p.sensitivity.value,
            sensitivity_norm=p.sensitivity.norm,
            sensitivity_kind=p.sensitivity.kind,
            grid=p.grid.step,
            secure=self.secure,
            horizon=self.horizon,
            rounds=self.rounds,
            rho=worst.rho,
            sampler=p.sampler if self.secure else "numpy",
            notes=(
                *p.notes,
                *self.relation.notes(self.loss_set),
                *p.law.notes,
                *self._sampler_note(p),
                *self._epoch_note(),
            ),
            change=self.relation.declaration,
            grounds=sum_grounds((*epoch.earlier, p), self.clipping, known=self.horizon is not None),
        )
        if self.lineage is not None and self.lineage.rollbacks:
            return certificate.after_rollbacks(self.lineage.rollbacks)
        return certificate

    def _sampler_note(self, plan: Plan) -> tuple[str, ...]:
        return sampler_notes(self.settings["sampler"], plan.draws) if self.secure else ()
