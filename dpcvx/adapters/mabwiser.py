"""Policies of mabwiser (`mabwiser.mab.MAB`): EpsilonGreedy, UCB1, ThompsonSampling and others without contexts."""

import copy
import importlib
from typing import Any

from dpcvx.adapters.arm_policy import COIN, UNIT, ArmPolicy
from dpcvx.errors import ArgumentError, OracleError


def is_mabwiser(policy: Any) -> bool:
    """Whether an object is a MAB of mabwiser; without mabwiser none is."""
    if not any(kind.__module__.partition(".")[0] == "mabwiser" for kind in type(policy).__mro__):
        return False
    return isinstance(policy, importlib.import_module("mabwiser.mab").MAB)


class MabwiserPolicy(ArmPolicy):
    """A MAB of mabwiser, of which a copy is played. It can predict only after a fit: first each arm is played once.

    Raises:
        ArgumentError: where it needs contexts, or has been fitted already.
    """

    def __init__(self, mab: Any) -> None:
        if mab.is_contextual:
            raise ArgumentError("A MAB with contexts cannot be made private; only policies without contexts can.")
        if mab._is_initial_fit:
            raise ArgumentError("The MAB has been fitted already, to rewards that no noise hides; give a new one.")
        self.mab = copy.deepcopy(mab)
        self.arms = list(mab.arms)
        kind = type(mab.learning_policy).__name__.lstrip("_")
        self.name = f"MAB {kind}"
        binarized = getattr(mab.learning_policy, "binarizer", None) is not None
        self.told = {"ThompsonSampling": self.told if binarized else COIN, "Popularity": UNIT}.get(kind, self.told)
        self._played: set[int] = set()
        self._numbers = {arm: number for number, arm in enumerate(self.arms)}

    def choose(self) -> int:
        for arm in range(len(self.arms)):
            if arm not in self._played:
                return arm
        chosen = self.mab.predict()
        try:
            return self._numbers[chosen]
        except KeyError:
            raise OracleError(f"The MAB predicted {chosen!r}, which is none of its {len(self.arms)} arms.") from None

    def learn(self, arm: int, reward: float) -> None:
        self.mab.partial_fit([self.arms[arm]], [reward])
        self._played = self._played | {arm}
