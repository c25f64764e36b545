"""The reduction that makes any bandit learner private, with batches.

It goes back to Algorithm 4 of the paper: Agarwal and Singh, The Price of Differential Privacy for Online Learning
(ICML 2017), which holds no action for longer than a round.

An action is held for B rounds. Every single value is clipped to its interval over the loss set, the sum of the batch is
released with scalar Laplace noise, and the learner sees its mean. One loss enters one release, which moves by at most
the length of the interval: epsilon. Against oblivious losses the regret is B times that of the learner over T/B rounds
of the averaged losses, with noise of scale D/(B epsilon), D the largest length.

Vector noise is the paper's <Z, action>; it exists in simulation, for comparison, and without a bound.
"""

import inspect
import math
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from dpcvx.arguments import kind_of, positive, whole
from dpcvx.arrays import Array
from dpcvx.checkpoints import Lineage
from dpcvx.errors import ArgumentError, HorizonError, OracleError, ProtocolError
from dpcvx.learners.bandits.bandit import Bandit, read_feedback
from dpcvx.learners.bandits.calibration import NOISES, Calibration
from dpcvx.learners.bandits.rounded_feedback import rounded_bound
from dpcvx.learners.player import Player
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.certificate_words import counted
from dpcvx.privacy.feedback import Interval
from dpcvx.privacy.neighbours import Neighbours, relation_for
from dpcvx.privacy.pace import chosen_sampler
from dpcvx.privacy.weakness import warn_if_weak
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.streams import stream


class Turn(NamedTuple):
    """Where a private bandit stands: rounds that are over, and the batch at work.

    Attributes:
        played: rounds of the batch; total: the sum of their clipped feedback.
        releasing: whether the sum is on its way to the learner; where that is interrupted, nothing follows.
    """

    rounds: int
    played: int = 0
    action: Array | None = None
    interval: Interval = (0, 0)
    total: Any = 0
    releasing: bool = False

    def __repr__(self) -> str:
        return f"Turn(rounds={self.rounds}, played={self.played}, releasing={self.releasing})"  # the sum is a secret


class PrivateBandit(Player):
    """Any bandit learner, made private.

    Args:
        learner: an object with `act()` and `update(value)`, which is used as it is and without a regret bound. With
            `with_noise(scale, rounds)` it is replaced by the learner that this returns; the regret bound which that
            learner states then holds if it also says, by `rounding_cost(error)`, what feedback costs that is off by at
            most `error` in every round.
        epsilon: the privacy of the whole sequence of actions.
        loss_set, decision_set, horizon: by default those of the learner.
        noise: "scalar", or "vector": the noise of the paper, in simulation only.
        batch: rounds for which an action is held; "auto" takes what the learner asks for by `own_batch(noise)`, given
            the scale of the noise on a sum, or else the smallest proved bound, which is for losses fixed in advance; 1
            is for adversaries that react.
        neighbours: "replace", "zero-out" or a `Change`.
        rounds_per_person: rounds in which one person's data may appear.
        sampler: of secure noise, "opendp" or "vector"; by default OpenDP's, since a batch draws one value.
        seed: an int or a NumPy Generator makes it a simulation.

    Example:
        >>> import decision_sets, dpcvx
        >>> learner = dpcvx.LogBarrierBandit(3, decision_sets.loss_box(3, 0, 1), horizon=1000)
        >>> bandit = dpcvx.PrivateBandit(learner, epsilon=0.5)
        >>> action = bandit.act()
        >>> bandit.update(0.7)  # clipped, summed over a batch, and shown to the learner with noise
        >>> bandit.certificate.epsilon, bandit.batch > 1
        (0.5, True)
    """

    sees = "value"
    comparison: tuple[str, ...] = ()  # lines on the learners among which this one was chosen

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
        neighbours: str | Neighbours = "replace",
        rounds_per_person: int = 1,
        sampler: str | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.epsilon = positive(epsilon, "epsilon")
        if not (callable(getattr(learner, "act", None)) and callable(getattr(learner, "update", None))):
            raise ArgumentError(_no_learner(learner))
        if inspect.isclass(learner):
            raise ArgumentError(f"learner must be an object, not {kind_of(learner)}; make one by calling it.")
        if isinstance(learner, PrivateBandit):
            raise ArgumentError("learner is private already, and a second noise would protect nobody; use it as it is.")
        if getattr(learner, "sees", "value") != "value":
            raise ArgumentError(_sees_losses(learner))
        if noise not in NOISES:
            raise ArgumentError(f'noise must be "scalar" or "vector", not {noise!r}.')
        if noise == "vector" and seed is None:
            raise ArgumentError('noise="vector" exists only in simulation; give a seed, or use scalar noise.')
        self.loss_set: LossSet = _needed(loss_set, learner, "loss_set", LossSet)
        self.decision_set: DecisionSet = _needed(decision_set, learner, "decision_set", DecisionSet)
        self.horizon = whole(_needed(horizon, learner, "horizon", int), "horizon")
        self.noise, self.relation = noise, relation_for(neighbours, self.loss_set)
        if noise == "vector" and self.relation.declared_change:
            raise ArgumentError('noise="vector" protects whole rounds; with a declared change use scalar noise.')
        self.rounds_per_person = whole(rounds_per_person, "rounds_per_person")
        self.sizes = sizes_of(self.decision_set, self.loss_set)
        if self.decision_set.bandit_refusal is not None:
            raise ArgumentError(self.decision_set.bandit_refusal)
        self.sampler = chosen_sampler(sampler, 1)
        self._calibration = Calibration(
            self.sizes, self.epsilon, self.noise, self.relation, self.rounds_per_person, self.sampler
        )
        self.leading: tuple[int, ...] = getattr(learner, "leading", ())
        self._rng = None if seed is None else stream(seed, "PrivateBandit: noise")
        if self._rng is None:
            warn_if_weak(self.epsilon)
        if self._rng is None and self.leading:
            raise ArgumentError("replicas are for simulation; give a seed.")
        self._given = learner
        self.batch = self._chosen_batch(batch)
        self._learner = self._tuned(self.batch) if self._tunable else learner
        self._trusted = isinstance(self._learner, Bandit)
        self._feedback = self._calibration.feedback(self.batch, self._rng)
        self._turn = Turn(0)
        self._sought: RegretBound | None = None
        self.lineage = Lineage() if self._rng is None else None

    @property
    def neighbours(self) -> str:
        """How certificates call the relation."""
        return self.relation.key

    # tuning

    @property
    def _tunable(self) -> bool:
        return hasattr(self._given, "with_noise")

    def _tuned(self, batch: int) -> Any:
        return self._given.with_noise(self._calibration.scale(batch) / batch, math.ceil(self.horizon / batch))

    def _chosen_batch(self, batch: int | str) -> int:
        if batch != "auto":
            return min(whole(batch, "batch"), self.horizon)
        if hasattr(self._given, "own_batch"):
            return min(whole(self._given.own_batch(self._calibration.moved / self.epsilon), "batch"), self.horizon)
        balanced = self._calibration.balanced_batch(self.horizon)
        if not self._tunable or not hasattr(self._given, "rounding_cost"):
            return balanced
        near = {1} | {max(1, min(self.horizon, round(balanced * 2 ** (k / 2)))) for k in range(-4, 11)}
        return min(sorted(near), key=lambda B: self._bound(self._tuned(B), B))

    def _bound(self, tuned: Any, batch: int) -> float:
        """B times the proved bound of a learner tuned for batches of B rounds, on the grid."""
        # the mean of a batch stands on a finer grid than a value, but is off by as much
        return batch * rounded_bound(
            tuned,
            _uncapped(tuned),
            magnitude=getattr(tuned, "magnitude", self.sizes.magnitude),
            step=self._calibration.grid(batch).step,
            noise=self._calibration.scale(batch),
        )

    # play

    @property
    def rounds(self) -> int:
        return self._turn.rounds

    @property
    def name(self) -> str:
        inner = getattr(self._given, "name", type(self._given).__name__)
        return f"private {inner}"

    def _check_able(self) -> None:
        self._check()

    def _choose(self) -> Array:
        self._check()
        turn = self._turn
        if turn.action is None:
            action = self._checked(self._learner.act())
            self._turn = turn = Turn(turn.rounds, action=action, interval=self._feedback.interval(self._used(action)))
        assert turn.action is not None
        return turn.action.copy()

    def _used(self, action: Array) -> Array:
        """What a loss is multiplied by: the action, or what it uses of the things that losses are about."""
        return self.sizes.pairing.usage(action)

    def _check(self) -> None:
        self._feedback.check_process()
        if self._turn.releasing:
            raise ProtocolError("A release was interrupted; this learner releases nothing more.")
        if self._turn.rounds >= self.horizon:
            raise HorizonError(f"The horizon of {self.horizon} rounds is used up; nothing more is played.")

    def _checked(self, action: Any) -> Array:
        """The learner's action as a new array, or an error.

        Bandits of the package are trusted to play within the set. Of another learner the action is held against the
        set; where it plays replicas, only that of the first.
        """
        X, point = self.decision_set, np.asarray(action).copy()
        if point.dtype.kind not in "biuf":
            raise OracleError(f"The learner's action must be an array of numbers, not {action!r}.")
        if point.shape != (*self.leading, *X.shape):
            raise OracleError(f"The learner played an action of shape {point.shape}; expected {X.shape}.")
        point = point.astype(float, copy=False)
        if self._trusted:
            return point
        if not np.isfinite(point).all() or not X.contains(point[0] if self.leading else point, 1e-7):
            raise OracleError(f"The learner played a point outside the {X.name}.")
        return point

    def _learn(self, feedback: Any) -> None:
        value = read_feedback(feedback, self.leading)
        self._check()
        turn = self._turn
        total = turn.total + self._feedback.clipped(value, turn.interval)
        rounds, played = turn.rounds + 1, turn.played + 1
        if played < self.batch:
            self._turn = turn._replace(rounds=rounds, played=played, total=total)
            return
        if rounds < self.horizon and self.lineage is not None:
            self.lineage.before_release()
        self._turn = turn._replace(releasing=True)  # until the learner has it: a second release would cost epsilon too
        if rounds < self.horizon:
            assert turn.action is not None
            released = self._feedback.release(total, self._used(turn.action), turn.interval)
            self._learner.update(released / self.batch)
        self._turn = Turn(rounds)

    # promises

    @property
    def uncapped_bound(self) -> float:
        """B times the bound of the learner for noisy feedback on the grid; infinity where it states none."""
        return self._bound(self._learner, self.batch) if self._tunable and self.noise == "scalar" else math.inf

    @property
    def regret_bound(self) -> RegretBound | None:
        """The same with the largest regret there is; learning is what the learner pays without noise."""
        total = self.uncapped_bound
        if math.isinf(total):
            return None
        learning = min(_uncapped(self._given), total)
        largest = self.horizon * self.sizes.variation
        theorem = getattr(self._learner.regret_bound, "theorem", self.name)
        return RegretBound(learning, total - learning, self.horizon, f"{theorem}; batches of {self.batch}", largest)

    @property
    def paid(self) -> Array | float | None:
        """What `AdaptiveBandit.paid` says, for the private rounds, once the horizon is used up; otherwise None.

        An unbiased estimate, from this run, of an upper bound on the *expected* regret, and no bound for this run. It
        is made of released numbers: those of the last batch, which is not released, count as the worst there are.
        """
        if self.rounds < self.horizon or not hasattr(self._learner, "paid_with"):
            return None
        error = self._calibration.grid(self.batch).step / 2 if self._rng is None else 0.0
        paid = self._learner.paid_with(error)
        unseen = self.horizon - self.batch * self._learner.rounds
        return None if paid is None else self.batch * paid + unseen * self.sizes.variation

    @property
    def _told_bound(self) -> RegretBound | None:
        """The bound with the horizon from which it says something, where it does not yet."""
        bound = self.regret_bound
        if bound is None or not bound.says_nothing or not isinstance(self._given, Bandit):
            return bound
        if self._sought is None:
            self._sought = bound.sought(self._says_nothing_at)
        return self._sought

    def _says_nothing_at(self, horizon: int) -> bool:
        """Whether the bound of the same learner for another horizon says nothing."""
        given = self._given.simulated(None, 0)
        other = PrivateBandit(
            given.with_noise(given.noise_scale, horizon),
            self.epsilon,
            loss_set=self.loss_set,
            decision_set=self.decision_set,
            noise=self.noise,
            neighbours=self.relation,
            rounds_per_person=self.rounds_per_person,
            seed=0,
        )
        return other.uncapped_bound >= horizon * self.sizes.variation

    @property
    def certificate(self) -> Certificate:
        """What is promised about the losses, and the regret bound."""
        bound = self._told_bound
        certificate = replace(
            self._calibration.certificate(self.batch, secure=self._rng is None),
            horizon=self.horizon,
            rounds=self.rounds,
            regret_bound=None if bound is None else bound.to_dict(),
        )
        if self.lineage is not None and self.lineage.rollbacks:
            return certificate.after_rollbacks(self.lineage.rollbacks)
        return certificate

    def simulated(self, replicas: int, seed: int | np.random.Generator) -> Self:
        """A new simulation of the same settings that has seen nothing, with replicas.

        Raises:
            ValueError: where the learner itself has no method of this name.
        """
        if not hasattr(self._given, "simulated"):
            raise ArgumentError(
                f"The learner {type(self._given).__name__} has no method simulated(replicas, seed); give simulate a "
                "function of a seed that makes the private learner."
            )
        return type(self)(
            self._given.simulated(replicas, stream(seed, "PrivateBandit: learner")),
            self.epsilon,
            loss_set=self.loss_set,
            decision_set=self.decision_set,
            horizon=self.horizon,
            noise=self.noise,
            batch=self.batch,
            neighbours=self.relation,
            rounds_per_person=self.rounds_per_person,
            sampler=self.sampler,
            seed=seed,
        )

    def summary(self) -> str:
        """What was chosen and what is promised, in a few lines."""
        inner = self._learner.summary() if hasattr(self._learner, "summary") else type(self._learner).__name__
        bound = self._told_bound
        lines = [
            f"{self.name} on {self.decision_set.name}",
            f"  batch            {counted(self.batch, 'round')}",
            f"  regret           {self._unstated() if bound is None else bound}",
            *(f"  compared         {line}" for line in self.comparison),
        ]
        return "\n".join([*lines, inner, str(self.certificate)])

    def _unstated(self) -> str:
        """That there is no bound, and why, where that can be mended."""
        learner = self._learner
        proved = self._tunable and self.noise == "scalar" and not math.isinf(_uncapped(learner))
        if not proved or hasattr(learner, "rounding_cost"):
            return "no bound is stated"
        kind = type(learner).__name__
        return f"no bound is stated: {kind} does not say by rounding_cost(error) what rounded feedback costs it"

    def __repr__(self) -> str:
        return f"PrivateBandit({self.name}, round {self.rounds} of {self.horizon})"


def _no_learner(given: Any) -> str:
    """What a learner needs, and what is for policies on arms."""
    hint = "; policies on arms, with pull and update, are for PrivateArms" if hasattr(given, "pull") else ""
    return f"learner must have the methods act and update; {type(given).__name__} has not{hint}."


def _sees_losses(learner: Any) -> str:
    """That a learner is no bandit, and what to use instead."""
    kind = type(learner).__name__
    return (
        f"PrivateBandit is for learners that see the value of an action alone, and {kind} sees whole losses: it is "
        f"private by itself, as {kind}(decision_set, loss_set, horizon, epsilon); or give PrivateBandit a bandit, such "
        "as SCRiBLe(decision_set, loss_set, horizon)."
    )


def _needed(given: Any, learner: Any, name: str, kind: type) -> Any:
    """An argument, or the learner's attribute of that name."""
    value = getattr(learner, name, None) if given is None else given
    if value is None:
        needed = ("decision_set", "loss_set", "horizon")
        missing = [one for one in needed if one == name or getattr(learner, one, None) is None]
        raise ArgumentError(
            f"{name} must be given: the learner {type(learner).__name__} has none. Of such a learner PrivateBandit "
            f"needs {', '.join(f'{one}=' for one in missing)}; for arms, PrivateArms needs their number alone."
        )
    if not isinstance(value, kind) and kind is not int:
        raise ArgumentError(f"{name} must be a {kind.__name__}, not {kind_of(value)}.")
    return value


def _uncapped(learner: Any) -> float:
    """A learner's proved bound before it is capped, where it says so; infinity where it states none."""
    bound = getattr(learner, "regret_bound", None)
    return float(getattr(learner, "uncapped_bound", math.inf if bound is None else bound.total))
