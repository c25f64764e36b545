"""Private running sums of losses: clip, round, count, certify. Every loss of full information goes through here."""

import copy
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ProtocolError
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.counters import Counter, Toeplitz
from dpcvx.privacy.noise import SecureSource, SimulatedSource, Source
from dpcvx.privacy.plan import Plan, plan
from dpcvx.privacy.prefix_noise import PrefixNoise, prefix_noise
from dpcvx.privacy.running_sums import RunningSums
from dpcvx.sets import LossSet


@dataclass(frozen=True)
class OpenEpoch:
    """A counter at work, and what came before it."""

    plan: Plan
    counter: Counter
    number: int
    before: int  # losses of the epochs before
    worst: tuple[float, float | None]  # the largest epsilon of all epochs so far, and its rho


class PrivateSums(RunningSums):
    """The noisy sum of the losses so far, for every round.

    Without a seed the noise is exact and the certificate a claim. With a seed it is a simulation that claims nothing.
    Known horizon: one counter. `horizon=None`: epochs of doubling length, each with a new counter of the full epsilon
    and an empty sum; a loss lives in one epoch, so epsilon holds overall.

    A finite loss outside the set is clipped to it; how often is private and shown nowhere. An exception is visible to
    whoever sees the program run and is outside the certificate: NaN, infinities and wrong shapes raise and change
    nothing, and so do losses outside the set with `on_violation="raise"`.

    Args:
        loss_set: the declared loss set.
        horizon: number of rounds, or None.
        epsilon, delta, counter, noise, neighbours, rounds_per_person, calibration: see `plan`.
        on_violation: "clip" or "raise".
        seed: an int or a NumPy Generator makes it a simulation.
        replicas: in simulation, independent replicas on a leading axis.
    """

    def __init__(
        self,
        loss_set: LossSet,
        horizon: int | None,
        epsilon: float,
        delta: float = 0.0,
        *,
        counter: str | None = None,
        noise: str | None = None,
        neighbours: str = "replace",
        rounds_per_person: int = 1,
        calibration: str = "exact",
        on_violation: str = "clip",
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        if replicas is not None and seed is None:
            raise ValueError("replicas are for simulation; give a seed.")
        self.rounds_per_person = rounds_per_person
        self._settings: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "counter": counter,
            "noise": noise,
            "neighbours": neighbours,
            "rounds_per_person": rounds_per_person,
            "calibration": calibration,
        }
        self._rng = None if seed is None else np.random.default_rng(seed)
        self._process = os.getpid()
        self._open: OpenEpoch
        super().__init__(loss_set, horizon, neighbours, on_violation, replicas)

    def _begin(self, horizon: int, epoch: int, before: int) -> None:
        self._check_process()
        new = plan(self.loss_set, horizon, **self._settings)
        counter = new.make((*self.leading, self.loss_set.size), self._source(new))
        worst = (new.epsilon, new.rho)
        if epoch and self._open.worst[0] > new.epsilon:  # the paper's calibration gives each epoch another epsilon
            worst = self._open.worst
        self._open = OpenEpoch(new, counter, epoch, before, worst)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A loaded checkpoint belongs to the process that loaded it."""
        self.__dict__.update(state)
        self._process = os.getpid()

    def _check_process(self) -> None:
        if self.secure and os.getpid() != self._process:
            raise ProtocolError(
                "A private learner was used after a fork; its state would be released twice. Make one in each process."
            )

    def _source(self, new: Plan) -> Source:
        if self._rng is not None:
            return SimulatedSource(new.law, self._rng.spawn(1)[0])
        source = SecureSource(new.law, self.loss_set.size)
        # the price of one release is OpenDP's: our count of releases times that must not exceed the claim
        price = new.touches * source.cost(new.moved)
        allowed = new.epsilon if new.rho is None else new.rho
        if price > allowed * (1 + 1e-11):
            raise AssertionError(f"The releases cost {price}, more than the {allowed} that the certificate claims.")
        return source

    def __copy__(self) -> "PrivateSums":
        if self.secure:
            raise copy.Error("Secure sums cannot be copied: the same private state would be released twice.")
        return copy.deepcopy(self)

    @property
    def secure(self) -> bool:
        return self._rng is None

    @property
    def plan(self) -> Plan:
        """The calibration of this epoch."""
        return self._open.plan

    @property
    def _counter(self) -> Counter:
        return self._open.counter

    @property
    def prefix(self) -> Array:
        self._check_process()
        return self.loss_set.unflatten(self._open.counter.prefix * self._open.plan.grid.step)

    @property
    def rounds(self) -> int:
        return self._open.before + self._open.counter.items

    @property
    def epoch(self) -> int:
        return self._open.number

    @property
    def epoch_horizon(self) -> int:
        return self._open.counter.horizon

    @property
    def rounding(self) -> float:
        """How far the loss that is summed may be from the loss that was given, in any entry."""
        return self.plan.grid.step / (1 if self.plan.sensitivity.toward_zero else 2)

    @property
    def noise(self) -> PrefixNoise | None:
        return prefix_noise(self.plan)

    @property
    def gaussian_deviation(self) -> float:
        if self.plan.law.name != "Gaussian" or not self.plan.terms:
            return 0.0
        if self.plan.counter == "toeplitz":
            return self.plan.law.scale * self.plan.grid.step * Toeplitz.row_norm(self.plan.horizon, self._counter.items)
        return self.plan.prefix_deviation

    @property
    def _items(self) -> int:
        return self._counter.items

    def _add(self, clipped: Array) -> None:
        self._check_process()
        self._counter.update(self._rounded(clipped))

    def _rounded(self, clipped: Array) -> Array:
        grid = self.plan.grid
        if self.secure:
            return grid.round(clipped, self.plan.sensitivity.toward_zero)
        return clipped / grid.step

    @property
    def certificate(self) -> Certificate:
        p = self.plan
        notes = p.notes
        k_norm = p.law.name == "K-norm"
        if k_norm:
            notes = (*notes, "the scale of K-norm noise is in units of K = Y - Y, in whose norm the sensitivity is 1")
        notes = (*notes, *self._epoch_note())
        return Certificate(
            epsilon=self._open.worst[0],
            delta=p.delta,
            neighbours=self.neighbours,
            rounds_per_person=self.rounds_per_person,
            mechanism=p.mechanism,
            releases_per_loss=p.touches,
            terms_per_prefix=p.terms,
            noise=p.law.name,
            scale=p.law.scale * (1.0 if k_norm else p.grid.step),
            prefix_deviation=p.prefix_deviation,
            sensitivity=p.sensitivity.value,
            sensitivity_norm=p.sensitivity.norm,
            sensitivity_kind=p.sensitivity.kind,
            grid=p.grid.step,
            secure=self.secure,
            horizon=self.horizon,
            rounds=self.rounds,
            rho=self._open.worst[1],
            notes=notes,
        )
