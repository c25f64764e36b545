"""The reduction that makes any bandit learner private (the paper's Algorithm 4), with batches.

An action is held for B rounds. Every single value is clipped to its interval over the loss set, the sum of the batch is
released with scalar Laplace noise, and the learner sees its mean. One loss enters one release, which moves by at most
the length of the interval: epsilon. Against oblivious losses the regret is B times that of the learner over T/B rounds
of the averaged losses, with noise of scale D/(B epsilon), D the largest length.

The paper's vector noise <Z, action> has scale B_diff/epsilon, B_diff the largest <l - l', x>/|x|_inf, bounded here by
the 1-norm diameter of the loss set; it exists in simulation, for comparison.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import HorizonError, OracleError, ProtocolError
from dpcvx.learners.checkpoint import Lineage
from dpcvx.learners.player import Player
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.feedback import SLACK, NoisyFeedback
from dpcvx.privacy.plan import whole
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import Sizes

NOISES = ("scalar", "vector")


@dataclass(frozen=True)
class Turn:
    """Where a private bandit stands: rounds that are over, the batch at work, its action and its sum of feedback."""

    rounds: int
    played: int  # rounds of the batch
    action: Array | None
    interval: tuple[Array, Array]
    total: Array


class PrivateBandit(Player):
    """Any bandit learner, made private.

    Args:
        learner: an object with `act()` and `update(value)`; with `with_noise(scale, rounds)` it is replaced by the
            learner that this returns, whose regret bound then holds; otherwise it is used as it is, without a bound.
        epsilon: the privacy of the whole sequence of actions.
        loss_set, decision_set, horizon: by default those of the learner.
        noise: "scalar", or "vector": the noise of the paper, in simulation only.
        batch: rounds for which an action is held; "auto" takes the smallest proved bound, which is for losses fixed in
            advance; 1 is for adversaries that react.
        neighbours: "replace" or "zero-out".
        rounds_per_person: rounds in which one person's data may appear.
        seed: an int or a NumPy Generator makes it a simulation.
    """

    sees = "value"

    def __init__(
        self,
        learner: Any,
        epsilon: float,
        *,
        loss_set: LossSet | None = None,
        decision_set: DecisionSet | None = None,
        horizon: int | None = None,
        noise: str = "scalar",
        batch: int | str = "auto",
        neighbours: str = "replace",
        rounds_per_person: int = 1,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        if not (np.isfinite(epsilon) and epsilon > 0):
            raise ValueError(f"epsilon must be a positive number, not {epsilon}.")
        if noise not in NOISES:
            raise ValueError(f'noise must be "scalar" or "vector", not {noise!r}.')
        if noise == "vector" and seed is None:
            raise ValueError('noise="vector" exists only in simulation; give a seed, or use scalar noise.')
        self.loss_set: LossSet = _needed(loss_set, learner, "loss_set", LossSet)
        self.decision_set: DecisionSet = _needed(decision_set, learner, "decision_set", DecisionSet)
        self.horizon = whole(_needed(horizon, learner, "horizon", int), "horizon")
        self.epsilon, self.noise, self.neighbours = float(epsilon), noise, neighbours
        self.rounds_per_person = whole(rounds_per_person, "rounds_per_person")
        self.sizes = Sizes(self.decision_set, self.loss_set)
        self.leading: tuple[int, ...] = getattr(learner, "leading", ())
        self._given, self._batch = learner, batch
        rng = None if seed is None else np.random.default_rng(seed)
        if rng is None and self.leading:
            raise ValueError("replicas are for simulation; give a seed.")
        self._rng = rng
        self._feedback = NoisyFeedback(
            self.loss_set, self.sizes.magnitude, self.epsilon, neighbours, self.rounds_per_person, rng
        )
        self.batch = self._chosen_batch(batch)
        self._learner = self._tuned(self.batch)
        self._torn = False
        self._turn = Turn(0, 0, None, (np.zeros(()), np.zeros(())), np.zeros(self.leading))
        self.lineage = Lineage() if seed is None else None

    # calibration

    @property
    def _largest_moved(self) -> float:
        """How far one person moves the sum of a batch at most, in the units of the feedback."""
        one = self.sizes.feedback_range if self.neighbours == "replace" else self.sizes.magnitude
        if self.noise == "vector":  # <Z, x> has deviation sqrt(2) lambda |x|_2: as a scalar Laplace of that scale
            lam = float(self.loss_set.diameter(1) if self.neighbours == "replace" else self.loss_set.radius(1))
            return self.rounds_per_person * lam * self.decision_set.norm_bound(2)
        return self.rounds_per_person * one + 2 * self._feedback.grid.step

    def _scale(self, batch: int) -> float:
        """The largest scale of the noise on the mean of a batch."""
        return self._largest_moved / (self.epsilon * batch) * SLACK

    def _tuned(self, batch: int) -> Any:
        if not hasattr(self._given, "with_noise"):
            return self._given
        made = self._given.with_noise(self._scale(batch), math.ceil(self.horizon / batch))
        return (
            made.simulated(self.leading[0], self._rng.spawn(1)[0]) if self.leading and self._rng is not None else made
        )

    def _chosen_batch(self, batch: int | str) -> int:
        if batch != "auto":
            return min(whole(batch, "batch"), self.horizon)  # type: ignore[arg-type]  # `whole` refuses strings
        magnitude = max(self.sizes.magnitude, 1e-300)
        best = min(self.horizon, max(1, round(math.sqrt(2) * self._largest_moved / (magnitude * self.epsilon))))
        if not hasattr(self._given, "with_noise"):
            return best
        candidates = sorted({1, best, max(1, best // 2), min(self.horizon, 2 * best), min(self.horizon, 4 * best)})
        return min(candidates, key=lambda B: (self._total(B), B))

    def _total(self, batch: int) -> float:
        """B times the bound of the learner over T/B rounds."""
        inner = self._given.with_noise(self._scale(batch), math.ceil(self.horizon / batch)).regret_bound
        return float("inf") if inner is None else batch * inner.total

    # play

    @property
    def rounds(self) -> int:
        return self._turn.rounds

    @property
    def name(self) -> str:
        inner = getattr(self._given, "name", type(self._given).__name__)
        return f"private {inner}"

    def _decide(self) -> Array:
        self._check()
        turn = self._turn
        if turn.action is None:
            action = self._checked(self._learner.act())
            self._turn = turn = Turn(turn.rounds, 0, action, self._feedback.interval(action), np.zeros(self.leading))
        assert turn.action is not None
        return turn.action.copy()

    def _check(self) -> None:
        if self._torn:
            raise ProtocolError("A release was interrupted; this learner releases nothing more.")
        if self._turn.rounds >= self.horizon:
            raise HorizonError(f"The horizon of {self.horizon} rounds is used up; nothing more is played.")

    def _checked(self, action: Any) -> Array:
        X = self.decision_set
        point = np.array(action, dtype=float)
        if point.shape != (*self.leading, *X.shape):
            raise OracleError(f"The learner played an action of shape {point.shape}; expected {X.shape}.")
        one = point[0] if self.leading else point
        if not np.isfinite(point).all() or not X.contains(one, 1e-7):
            raise OracleError(f"The learner played a point outside the {X.name}.")
        return point

    def _learn(self, feedback: Any) -> None:
        value = np.asarray(feedback)
        if value.shape not in ((), self.leading) or value.dtype.kind not in "biuf" or not np.isfinite(value).all():
            raise ValueError(f"The feedback must be finite numbers of shape {self.leading or ()}, not {feedback!r}.")
        self._check()
        turn = self._turn
        units = self._feedback.units(np.broadcast_to(value.astype(float), self.leading), turn.interval)
        total, played, rounds = turn.total + units, turn.played + 1, turn.rounds + 1
        if played < self.batch:
            self._turn = Turn(rounds, played, turn.action, turn.interval, total)
            return
        self._torn = True  # until the learner has seen it: a second release of the batch would cost epsilon again
        if rounds < self.horizon:
            self._learner.update(self._released(total, turn))
        self._turn = Turn(rounds, 0, None, turn.interval, np.zeros(self.leading))
        self._torn = False

    def _released(self, total: Array, turn: Turn) -> Any:
        if self.noise == "vector":
            assert self._rng is not None and turn.action is not None
            lam = self._largest_moved / (self.epsilon * self.decision_set.norm_bound(2))
            noise = self._rng.laplace(0.0, lam, turn.action.shape) * turn.action
            mean = (total * self._feedback.grid.step + noise.reshape(*self.leading, -1).sum(axis=-1)) / self.batch
        else:
            mean = self._feedback.release(total, turn.interval) / self.batch
        return mean if self.leading else float(mean)

    # promises

    @property
    def regret_bound(self) -> RegretBound | None:
        """B times the bound of the learner for noisy feedback; None for a learner that states none."""
        inner = getattr(self._learner, "regret_bound", None) if hasattr(self._given, "with_noise") else None
        base = getattr(self._given, "regret_bound", None)
        if inner is None or base is None:
            return None
        largest = self.horizon * self.sizes.variation
        total = min(self.batch * inner.total, largest)
        learning = min(base.total, total)
        return RegretBound(learning, total - learning, self.horizon, f"{inner.theorem}; batches of {self.batch}")

    @property
    def certificate(self) -> Certificate:
        """What is promised about the losses, and the regret bound."""
        bound = self.regret_bound
        notes = () if self.batch == 1 else (f"actions are held for {self.batch} rounds: for losses fixed in advance",)
        certificate = Certificate(
            epsilon=self.epsilon,
            delta=0.0,
            neighbours=self.neighbours,
            rounds_per_person=self.rounds_per_person,
            mechanism=f"{self.noise} noise on the feedback of {self.batch} rounds",
            releases_per_loss=1,
            terms_per_prefix=1,
            noise="Laplace",
            scale=self._scale(1),
            prefix_deviation=math.sqrt(2) * self._scale(1),
            sensitivity=self._largest_moved,
            sensitivity_norm=1,
            sensitivity_kind="bound",
            grid=self._feedback.grid.step,
            secure=self._rng is None,
            horizon=self.horizon,
            rounds=self.rounds,
            regret_bound=None if bound is None else bound.to_dict(),
            notes=notes,
        )
        if self.lineage is not None and self.lineage.rollbacks:
            return certificate.after_rollbacks(self.lineage.rollbacks)
        return certificate

    def simulated(self, replicas: int, seed: int | np.random.Generator) -> Self:
        """A new simulation of the same settings that has seen nothing, with replicas."""
        own, noise = np.random.default_rng(seed).spawn(2)
        return type(self)(
            self._given.simulated(replicas, own),
            self.epsilon,
            loss_set=self.loss_set,
            decision_set=self.decision_set,
            horizon=self.horizon,
            noise=self.noise,
            batch=self.batch,
            neighbours=self.neighbours,
            rounds_per_person=self.rounds_per_person,
            seed=noise,
        )

    def summary(self) -> str:
        """What was chosen and what is promised, in a few lines."""
        inner = self._learner.summary() if hasattr(self._learner, "summary") else type(self._learner).__name__
        bound = self.regret_bound
        lines = [
            f"{self.name} on {self.decision_set.name}",
            f"  batch            {self.batch} rounds",
            f"  regret           {'no bound is stated: the learner has no with_noise' if bound is None else bound}",
        ]
        return "\n".join([*lines, inner, str(self.certificate)])

    def __repr__(self) -> str:
        return f"PrivateBandit({self.name}, round {self.rounds} of {self.horizon})"


def _needed(given: Any, learner: Any, name: str, kind: type) -> Any:
    """An argument, or the learner's attribute of that name."""
    value = getattr(learner, name, None) if given is None else given
    if value is None:
        raise ValueError(f"{name} must be given: the learner {type(learner).__name__} has none.")
    if not isinstance(value, kind) and kind is not int:
        raise ValueError(f"{name} must be a {kind.__name__}, not a {type(value).__name__}.")
    return value
