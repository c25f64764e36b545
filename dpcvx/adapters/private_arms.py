"""Private bandits on arms in one line: a policy, a number of arms, epsilon; nothing is declared in cvxpy."""

import copy
import inspect
import math
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from dpcvx import markup
from dpcvx.adapters.arm_policy import COIN, NOISY, UNIT, ArmLearner, ArmPolicy, PullingPolicy
from dpcvx.adapters.mabwiser import MabwiserPolicy, is_mabwiser
from dpcvx.adapters.river import RiverPolicy, is_river
from dpcvx.arguments import as_whole, kind_of, needed, positive, whole
from dpcvx.arrays import reals
from dpcvx.checkpoints import Lineage
from dpcvx.errors import ArgumentError
from dpcvx.learners import PrivateBandit, RegretBound, private_bandit
from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.noise import own_generator
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.storage.thread_lock import ThreadLock
from dpcvx.streams import stream

_ENDLESS = 2**62  # rounds, where their number is unknown: no policy is tuned by it
_CHOICES = ("bound", "practice")
_OPTIONS = ("batch", "neighbours", "noise", "rounds_per_person", "sampler")
_PLURAL = {"reward": "rewards", "loss": "losses"}
_WORDS = {
    NOISY: "the policy sees them with noise",
    UNIT: "the policy sees them with noise, clipped to [0, 1]",
    COIN: "the policy sees coins, by the noisy reward",
}


class PrivateArms:
    """A bandit on arms whose choices hide what any one round's reward was: `act()` names an arm, `update(reward)`.

    The rewards reach the policy through `PrivateBandit` alone: clipped to the declared range, summed over the rounds
    for which an arm is held, and released with noise. There are no contexts: a policy that needs them is refused, and a
    reward that depends on features of the round is a reward like any other.

    The certificate is about rewards given to `update`. A reward outside the range is clipped without a word.

    Args:
        policy: a policy of river (`river.bandit`), a `MAB` of mabwiser, or any object with `pull(arms)`, which returns
            one of them, and `update(arm, reward)`; a copy of it is played. What it learned before is not protected, so
            one of river or mabwiser that did is refused. Or "bound", the learner of this package with the smallest
            proved regret bound, or "practice", its adaptive one; these two need a horizon.
        n_arms: how many arms, numbered from 0; or a list of their names.
        epsilon: the privacy of the whole sequence of choices.
        rewards: (low, high), what a reward may be; larger is better. (0, 1) by default.
        losses: (low, high) instead, if `update` takes losses; smaller is better. The policy sees low + high - loss.
        horizon: number of rounds; may be left out for policies of others, which then play on without an end.
        seed: an int or a NumPy Generator makes it a simulation, which claims nothing.
        **options: `batch`, `neighbours`, `noise`, `rounds_per_person`, `sampler`; see `PrivateBandit`.

    Attributes:
        arms: the names.
        bandit: the `PrivateBandit` underneath, which plays unit vectors and takes losses; for `simulate` and `couple`.

    Example:
        >>> import dpcvx
        >>> arms = dpcvx.PrivateArms("bound", ["red", "green", "blue"], epsilon=1.0, horizon=1000)
        >>> arm = arms.act()
        >>> arms.update(0.7)  # its reward, in [0, 1]
        >>> arm in ("red", "green", "blue"), arms.certificate.epsilon
        (True, 1.0)
    """

    def __init__(
        self,
        policy: Any,
        n_arms: int | Iterable[Hashable],
        epsilon: float | None = None,
        *,
        rewards: tuple[float, float] | None = None,
        losses: tuple[float, float] | None = None,
        horizon: int | None = None,
        seed: int | np.random.Generator | None = None,
        **options: Any,
    ) -> None:
        unknown = sorted(options.keys() - set(_OPTIONS))
        if unknown:
            known = ", ".join(("rewards", "losses", "horizon", "seed", *_OPTIONS))
            raise TypeError(f"PrivateArms has no argument {', '.join(unknown)}; there are {known}.")
        needed(epsilon, "PrivateArms", "an epsilon", "a positive number, such as 1.0")
        claimed = positive(epsilon, "epsilon")
        if rewards is not None and losses is not None:
            raise ArgumentError("Give rewards or losses, the range of what update takes, not both.")
        self.takes = "reward" if losses is None else "loss"
        self.low, self.high = _range(_given(rewards, losses), _PLURAL[self.takes])
        self.arms = list(policy.arms) if is_mabwiser(policy) else _names(n_arms)
        if is_mabwiser(policy) and _names(n_arms) not in (self.arms, list(range(len(self.arms)))):
            raise ArgumentError(f"n_arms must be {len(self.arms)}, the number of arms of the MAB, not {n_arms!r}.")
        self.horizon = None if horizon is None else whole(horizon, "horizon (None where it is unknown)")
        count = len(self.arms)
        point, loss = cp.Variable(count, name="arm"), cp.Variable(count, name="loss")
        X = DecisionSet(point, [point >= 0, cp.sum(point) == 1], name=f"{count} arms")
        Y = LossSet(loss, [loss >= self.low, loss <= self.high], name=f"losses in [{self.low:g}, {self.high:g}]")
        if self.takes == "reward" and options.get("neighbours") == "zero-out":
            raise ArgumentError(
                'neighbours="zero-out" is about losses that become 0; declare losses, or use "replace".'
            )
        self.policy: ArmPolicy | None = None
        if isinstance(policy, str):
            self.bandit = _chosen(policy, X, Y, self.horizon, claimed, seed, options)
        else:
            self.policy = _policy(policy, self.arms)
            coins = own_generator(seed, "PrivateArms: coins")
            self.bandit = PrivateBandit(
                ArmLearner(self.policy, count, self.low, self.high, coins),
                claimed,
                decision_set=X,
                loss_set=Y,
                horizon=self.horizon or _ENDLESS,
                seed=None if seed is None else stream(seed, "PrivateArms: noise"),
                **options,
            )

    def act(self) -> Any:
        """The name of the arm to play in this round.

        Raises:
            as `PrivateBandit.act` does.
        """
        return self.arms[int(self.bandit.act().argmax())]

    def update(self, value: Any) -> None:
        """Learn from the reward, or the loss, of the arm that was played; one real number.

        Raises:
            ArgumentError: where it is anything else; nothing was changed then.
            ProtocolError: where no arm was played.
        """
        number = reals(value, self.takes, ())
        if number.shape != ():
            raise ArgumentError(f"The {self.takes} must be one number, not an array of shape {number.shape}.")
        self.bandit.update(self.low + self.high - float(number) if self.takes == "reward" else float(number))

    @property
    def rounds(self) -> int:
        """Rounds that are over."""
        return self.bandit.rounds

    @property
    def epsilon(self) -> float:
        return self.bandit.epsilon

    @property
    def regret_bound(self) -> RegretBound | None:
        """The proved bound; None for policies of others."""
        return self.bandit.regret_bound

    @property
    def certificate(self) -> Certificate:
        """What is promised about the rewards."""
        return replace(self.bandit.certificate, horizon=self.horizon)

    @property
    def lineage(self) -> Lineage | None:
        """The checkpoints of `save`; None in simulation."""
        return self.bandit.lineage

    @property
    def thread_lock(self) -> ThreadLock:
        """Held by the thread that is in `act`, `update` or `save`."""
        return self.bandit.thread_lock

    def summary(self) -> str:
        """What was chosen and what is promised, in a few lines."""
        told = "" if self.policy is None else f"; {_WORDS[self.policy.told]}"
        bound = self.regret_bound
        lines = [
            f"{self.bandit.name} on {len(self.arms)} arms, without contexts",
            f"  {_PLURAL[self.takes]:16s} in [{self.low:g}, {self.high:g}]{told}",
            f"  batch            an arm is held for {self.bandit.batch} round{'s' if self.bandit.batch > 1 else ''}",
            f"  regret           {'no bound is stated' if bound is None else bound}",
        ]
        return "\n".join([*lines, str(self.certificate)])

    def _repr_html_(self) -> str:
        return markup.summary(self.summary())

    def __repr__(self) -> str:
        rounds = f"round {self.rounds} of {self.horizon or 'any number'}"
        return f"PrivateArms({self.bandit.name}, {len(self.arms)} arms, {rounds})"


def from_river(policy: Any, n_arms: int | Iterable[Hashable], epsilon: float, **options: Any) -> PrivateArms:
    """A policy of river, made private; see `PrivateArms`.

    Raises:
        ArgumentError: where it is no policy of river, or needs contexts.
    """
    if not is_river(policy):
        raise ArgumentError(f"policy must be one of river.bandit, not {kind_of(policy)}.")
    return PrivateArms(policy, n_arms, epsilon, **options)


def from_mabwiser(mab: Any, epsilon: float, **options: Any) -> PrivateArms:
    """A MAB of mabwiser, made private, on its own arms; see `PrivateArms`.

    Raises:
        ArgumentError: where it is no MAB, or needs contexts.
    """
    if not is_mabwiser(mab):
        raise ArgumentError(f"mab must be a mabwiser.mab.MAB, not {kind_of(mab)}.")
    return PrivateArms(mab, list(mab.arms), epsilon, **options)


def _policy(policy: Any, arms: list[Any]) -> ArmPolicy:
    """A policy of anybody, as this package asks it."""
    if inspect.isclass(policy):
        raise ArgumentError(f"policy must be an object, not {kind_of(policy)}; make one by calling it.")
    if is_mabwiser(policy):
        return MabwiserPolicy(policy)
    if is_river(policy):
        return RiverPolicy(policy, arms)
    if isinstance(policy, ArmPolicy):
        return copy.deepcopy(policy)
    if callable(getattr(policy, "pull", None)) and callable(getattr(policy, "update", None)):
        return PullingPolicy(policy, arms)
    raise ArgumentError(
        "policy must be a policy of river, a MAB of mabwiser, an object with pull(arms) and update(arm, reward), "
        f'"bound" or "practice", not {kind_of(policy)}.'
    )


def _chosen(
    policy: str, X: DecisionSet, Y: LossSet, horizon: int | None, epsilon: float, seed: Any, options: dict[str, Any]
) -> PrivateBandit:
    if policy not in _CHOICES:
        raise ArgumentError(f'policy must be "bound", "practice" or an object, not {policy!r}.')
    if horizon is None:
        raise ArgumentError(f'policy="{policy}" is tuned for a number of rounds; give horizon.')
    inner = None if seed is None else stream(seed, "PrivateArms: bandit")
    return private_bandit(X, Y, horizon, epsilon, choose=policy, seed=inner, **options)


def _given(rewards: Any, losses: Any) -> Any:
    """The range that was given, or the usual one."""
    return next((one for one in (rewards, losses) if one is not None), (0.0, 1.0))


def _range(given: Any, name: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be two numbers (low, high), not {given!r}.") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError(f"{name} must be two finite numbers (low, high) with low below high, not {given!r}.")
    return low, high


def _names(n_arms: Any) -> list[Any]:
    """The names of the arms: 0, 1, ... for a number of them."""
    count = as_whole(n_arms)
    if count is None and (isinstance(n_arms, str) or not isinstance(n_arms, Iterable)):
        raise ArgumentError(f"n_arms must be a whole number or a list of names, not {n_arms!r}.")
    names = list(range(count)) if count is not None else list(n_arms)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ArgumentError(f"n_arms must be at least 2 arms of different names, not {n_arms!r}.")
    return names
