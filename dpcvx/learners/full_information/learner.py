"""What FTRL and FTPL share: noisy sums of the losses in, actions out, epochs, certificate and bound."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict, Unpack

import numpy as np

from dpcvx.arrays import Array
from dpcvx.checkpoints import Lineage
from dpcvx.errors import ArgumentError, CheckpointError, MissingArgumentError, ProtocolError
from dpcvx.learners.full_information.shared_sums import Horizon, Seat, check_shared
from dpcvx.learners.player import Player
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.exact_sums import ExactSums
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.noise import own_generator
from dpcvx.privacy.prefix_noise import PrefixNoise
from dpcvx.privacy.private_sums import PrivateSums
from dpcvx.privacy.running_sums import RunningSums
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.streams import stream

_SHARED = "the sums are shared: this is promised for all learners on them together, and is not to be added up"


class PrivacyOptions(TypedDict, total=False):
    """How losses become noisy sums; see `PrivateSums`."""

    counter: str | None
    noise: str | None
    neighbours: str | Neighbours
    rounds_per_person: int
    calibration: str
    sampler: str | None
    on_violation: str


@dataclass(frozen=True)
class Epoch:
    """What a learner was tuned to in an epoch of its sums, and the bound over all epochs up to its end."""

    number: int
    constants: Any
    bound: RegretBound | None


class FullInformation(Player):
    """A learner that sees the whole loss vector after each round, through private sums alone.

    Args:
        decision_set: X, where actions lie.
        loss_set: Y, where losses lie. For convex losses it bounds their gradients, and `update` takes the gradient at
            the action. Privacy holds then as well; the regret bound is proved for losses fixed in advance, which
            gradients at actions are not; FTRL states another one for these, `reacting_bound`.
        horizon: number of rounds T, or None for epochs of doubling length.
        epsilon, delta: the privacy of the whole sequence of actions; `epsilon=None` is the learner without privacy.
        sums: `PrivateSums`, or exact ones, that this learner shares with others. All that concerns losses and privacy
            is theirs then and need not be given: `FTRL(X, sums=sums)`. Each round every learner acts, and the loss goes
            to `sums.update`, once; a learner's own `update` refuses. Their certificate holds for all learners together.
            A round in which a learner did not act is counted in `missed`, and its regret bound is withdrawn.
        seed: an int or a NumPy Generator makes it a simulation, which claims nothing.
        replicas: in simulation, independent replicas on a leading axis of actions (and, if wanted, of losses).
        **privacy: `counter`, `noise`, `neighbours`, `rounds_per_person`, `calibration`, `sampler`, `on_violation`;
            see `PrivateSums`.
    """

    rivals: tuple[str, ...] = ()  # lines on the learners among which this one was chosen

    def __init__(
        self,
        decision_set: DecisionSet,
        loss_set: LossSet | None = None,
        horizon: Horizon = ...,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        sums: RunningSums | None = None,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
        **privacy: Unpack[PrivacyOptions],
    ) -> None:
        unknown = sorted(privacy.keys() - PrivacyOptions.__annotations__.keys())
        if unknown:
            known = ", ".join(("epsilon", "delta", *PrivacyOptions.__annotations__))
            raise TypeError(f"{self.name} has no argument {', '.join(unknown)}; the options of privacy are {known}.")
        given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, **privacy}
        self.sums, self._seat = sums, Seat()
        self._sums: RunningSums
        if sums is None:
            self.sizes = sizes_of(decision_set, self._needed(loss_set, "a loss_set", "what losses may be"))
            self._sums, self._privacy = self._own_sums(self.sizes.loss_set, horizon, seed, replicas, given), given
        else:
            self._sums = check_shared(sums, loss_set, horizon, replicas, seed is not None, given)
            self.sizes = sizes_of(decision_set, sums.loss_set)
            self._privacy = {**sums.settings, "on_violation": sums.clipping.on_violation}
        self.decision_set, self.loss_set = decision_set, self.sizes.loss_set
        self._rng = own_generator(seed, f"{type(self).__name__}: own draws")
        self._epoch: Epoch | None = None
        self._sought: RegretBound | None = None

    def _needed(self, given: Any, name: str, words: str) -> Any:
        """An argument that may be left out only with shared sums."""
        if given is None or given is ...:
            raise MissingArgumentError(f"{self.name} needs {name}: {words}; or sums= shared with others.")
        return given

    def _own_sums(
        self,
        loss_set: LossSet,
        horizon: Horizon,
        seed: int | np.random.Generator | None,
        replicas: int | None,
        given: dict[str, Any],
    ) -> RunningSums:
        """The sums of a learner that shares none; see the arguments of the class."""
        rounds = (
            None
            if horizon is None
            else self._needed(horizon, "a horizon", "the number of rounds, or horizon=None where it is unknown")
        )
        if replicas is not None and seed is None:
            raise ArgumentError("replicas are for simulation; give a seed.")
        if given["epsilon"] is not None:
            noise = None if seed is None else stream(seed, f"{type(self).__name__}: noise")
            self.lineage = Lineage() if seed is None else None
            return PrivateSums(loss_set, rounds, **given, seed=noise, replicas=replicas)
        if given["delta"]:
            raise ArgumentError(f"delta = {given['delta']} without epsilon; give both, or neither for no privacy.")
        extra = sorted(given.keys() - {"epsilon", "delta", "on_violation"})
        if extra:
            raise ArgumentError(f"{', '.join(extra)} without epsilon; give epsilon too.")
        return ExactSums(loss_set, rounds, replicas=replicas, on_violation=given.get("on_violation", "clip"))

    @property
    def shared(self) -> bool:
        """Whether the sums are shared with other learners."""
        return self.sums is not None

    @property
    def missed(self) -> int:
        """Rounds that shared sums took before this learner's last action, and in which it did not act."""
        return self._seat.missed

    @property
    def relation(self) -> Neighbours:
        """Which streams of losses are neighbours."""
        return self._sums.relation

    @property
    def horizon(self) -> int | None:
        """Number of rounds, or None."""
        return self._sums.horizon

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def rounds(self) -> int:
        """Rounds that are over."""
        return self._sums.rounds

    def _check_able(self) -> None:
        self._sums.prefix  # noqa: B018  it raises where there is none

    def _act_in_turn(self) -> Array:
        if not self.shared:
            return super()._act_in_turn()
        # no loss comes between the number of the round and its prefix
        with self._sums.thread_lock: return super()._act_in_turn()  # noqa: E701 # fmt: skip # see ThreadLock

    def _choose(self) -> Array:
        action = self._best_action(self._sums.prefix, self._tuned.constants)
        if self.shared:
            self._seat = self._seat.at(self.rounds)
        return action

    def _update_in_turn(self, feedback: Any) -> None:
        if self.shared:
            raise ProtocolError(
                f"This {self.name} shares its sums with other learners: give the loss to sums.update, once a round."
            )
        super()._update_in_turn(feedback)

    def _learn(self, feedback: Any) -> None:
        self._sums.update(feedback)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.shared:
            raise CheckpointError(
                f"This {self.name} shares its sums and can be neither saved nor copied without them: save the sums, "
                "and make the learners anew on what load returns."
            )
        return super().__reduce_ex__(protocol)

    @property
    def _tuned(self) -> "Epoch":
        """The constants of the present epoch; a new epoch of the sums is tuned for here, in one assignment."""
        epoch = self._epoch
        if epoch is not None and epoch.number == self._sums.epoch:
            return epoch
        with self.thread_lock: return self._retuned()  # noqa: E701 # fmt: skip # see ThreadLock

    def _retuned(self) -> "Epoch":
        epoch = self._epoch
        if epoch is None or epoch.number != self._sums.epoch:
            constants = self._tune(self._sums.epoch_horizon)
            bound = self._epoch_bound(constants)
            if epoch is not None and epoch.bound is not None and bound is not None:
                bound = epoch.bound + bound
            self._epoch = epoch = Epoch(self._sums.epoch, constants, bound)
        return epoch

    @abstractmethod
    def _best_action(self, noisy_sum: Array, constants: Any) -> Array:
        """The action after losses of that sum, which carries the noise of privacy."""

    def answers(self, prefixes: Array, deviations: Array) -> Array:
        """What this learner plays in many rounds of the present epoch, from what its sums released in each of them.

        The same actions as those of `act`, up to rounding, and quicker where they are found together. Nothing is noted
        of them, so `missed` does not know of these rounds.

        Args:
            prefixes: (rounds, *shape of a loss) the `prefix` of the sums in each round.
            deviations: (rounds,) their `gaussian_deviation`; a learner that needs none of them leaves them aside.
        """
        constants = self._tuned.constants
        return np.array([self._best_action(prefix, constants) for prefix in prefixes])

    @abstractmethod
    def _tune(self, horizon: int) -> Any:
        """The constants of an epoch of that many rounds; all of them public."""

    @abstractmethod
    def _epoch_bound(self, constants: Any) -> RegretBound | None:
        """The bound over the present epoch for these constants."""

    @property
    def regret_bound(self) -> RegretBound | None:
        """The proved bound over the horizon; without one, over the epochs up to the end of the present one.

        None where shared sums took losses of rounds in which this learner did not act.
        """
        return None if self.missed else self._tuned.bound

    def _proved(self, learning: float, price: float, theorem: str) -> RegretBound:
        """A bound of the present epoch, with what rounding to the grid costs, and the largest regret there is."""
        horizon = self._sums.epoch_horizon
        price += horizon * self._sums.rounding * self.sizes.one_norm_diameter
        return RegretBound(learning, price, horizon, theorem, horizon * self.sizes.variation)

    @property
    def _told_bound(self) -> RegretBound | None:
        """The bound with the horizon from which it says something, where it does not yet."""
        bound = self.regret_bound
        if bound is None or self.horizon is None or not bound.says_nothing:
            return bound
        if self._sought is None:
            self._sought = bound.sought(self._says_nothing_at)
        return self._sought

    def _says_nothing_at(self, horizon: int) -> bool:
        """Whether the bound of the same learner for another horizon says nothing."""
        other = type(self)(**{**self._settings(), "horizon": horizon}, seed=0).regret_bound
        return other is None or other.says_nothing

    @property
    def certificate(self) -> Certificate:
        """What is promised about the losses, and the regret bound."""
        bound = self._told_bound
        certificate = replace(self._sums.certificate, regret_bound=None if bound is None else bound.to_dict())
        notes = (*certificate.notes, *self._further_notes(), *((_SHARED,) if self.shared else ()))
        certificate = replace(certificate, notes=notes)
        if self.lineage is not None and self.lineage.rollbacks:
            return certificate.after_rollbacks(self.lineage.rollbacks)
        return certificate

    def _further_notes(self) -> tuple[str, ...]:
        """What else the reader of the certificate must know of this learner."""
        return ()

    @property
    def noise(self) -> PrefixNoise | None:
        """The noise on the worst sum of the present epoch; None without privacy."""
        return self._sums.noise

    def simulated(self, replicas: int, seed: int | np.random.Generator) -> Self:
        """A new learner of the same settings that has seen nothing: a simulation with replicas."""
        return type(self)(**self._settings(), seed=seed, replicas=replicas)

    def _settings(self) -> dict[str, Any]:
        """All arguments of the constructor but `seed` and `replicas`."""
        sets = {"decision_set": self.decision_set, "loss_set": self.loss_set}
        return {**sets, "horizon": self.horizon, **self._privacy}

    def summary(self) -> str:
        """What was chosen and what is promised, in a few lines."""
        bound = self._told_bound
        lines = [
            f"{self.name} on {self.decision_set.name}, dimension {self.decision_set.dim}",
            *self._details(),
            f"  regret           {'no bound: ' + self._why_unproved() if bound is None else bound}",
        ]
        if self.shared:
            lines.append(f"  shared           {_SHARED}")
        if bound is not None:
            lines.append(f"  theorem          {bound.theorem}; against oblivious losses")
        lines += [f"  rival            {rival}" for rival in self.rivals]
        if self._sums.slow is not None:
            lines.append(f"  noise of a round {self._sums.slow}")
        return "\n".join([*lines, str(self.certificate)])

    @abstractmethod
    def _details(self) -> list[str]:
        """Lines of the summary on what this learner chose."""

    def _why_unproved(self) -> str:
        if self.missed:
            return f"it did not act in {self.missed} of the rounds so far"
        return self._unproved()

    def _unproved(self) -> str:
        """Why there is no bound for this learner, where there is none."""
        return "none is proved"

    def __repr__(self) -> str:
        return f"{self.name}({self.decision_set.name}, round {self.rounds} of {self.horizon or 'any number'})"
