"""A policy on arms, as the wrapper needs it, and the bandit learner that it becomes."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import OracleError

NOISY, UNIT, COIN = "noisy", "unit", "coin"  # what a policy can be told; see `ArmPolicy.told`


class ArmPolicy(ABC):
    """A policy on the arms 0, ..., n - 1: `choose` an arm, then `learn(arm, reward)`.

    Attributes:
        name: of the policy, in summaries.
        told: what it can bear as a reward. "noisy": any number, in the units of the declared range. "unit": a number in
            [0, 1], 1 the best. "coin": 0 or 1, drawn with that number as its probability. The last two are made of the
            noisy reward alone, so they cost no privacy; clipping draws means of arms together and keeps their order.
    """

    name: str
    told = NOISY

    @abstractmethod
    def choose(self) -> int:
        """The number of the next arm."""

    @abstractmethod
    def learn(self, arm: int, reward: float) -> None:
        """Take in the reward of an arm; larger is better."""


class PullingPolicy(ArmPolicy):
    """Any object with `pull(arms)`, which returns one of them, and `update(arm, reward)`."""

    def __init__(self, policy: Any, arms: Sequence[Any]) -> None:
        self.policy, self.arms = copy.deepcopy(policy), list(arms)
        self.name = type(policy).__name__
        self._numbers = {arm: number for number, arm in enumerate(self.arms)}

    def choose(self) -> int:
        arm = self.policy.pull(list(self.arms))
        try:
            return self._numbers[arm]
        except (KeyError, TypeError):
            raise OracleError(f"{self.name} pulled {arm!r}, which is none of its {len(self.arms)} arms.") from None

    def learn(self, arm: int, reward: float) -> None:
        self.policy.update(self.arms[arm], reward)


class ArmLearner:
    """An `ArmPolicy` as a bandit learner: its actions are unit vectors, its feedback is a noisy loss.

    Args:
        policy: the policy.
        low, high: the range of a loss, and of the rewards low + high - loss.
        rng: for coins.
    """

    sees = "value"

    def __init__(self, policy: ArmPolicy, count: int, low: float, high: float, rng: np.random.Generator) -> None:
        self.policy, self.count = policy, count
        self.low, self.high = low, high
        self.name = policy.name
        self._rng = rng
        self._arm = 0

    def act(self) -> Array:
        self._arm = self.policy.choose()
        action = np.zeros(self.count)
        action[self._arm] = 1.0
        return action

    def update(self, value: float) -> None:
        self.policy.learn(self._arm, _TOLD[self.policy.told](self, self.low + self.high - float(value)))

    def unit(self, reward: float) -> float:
        """A noisy reward as a number in [0, 1]."""
        return min(max((reward - self.low) / (self.high - self.low), 0.0), 1.0)

    def coin(self, reward: float) -> float:
        """0 or 1, in the mean the number in [0, 1]."""
        return float(self._rng.random() < self.unit(reward))


_TOLD: dict[str, Callable[[ArmLearner, float], float]] = {
    NOISY: lambda learner, reward: reward,
    UNIT: ArmLearner.unit,
    COIN: ArmLearner.coin,
}
