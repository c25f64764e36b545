"""Policies of river (`river.bandit`): UCB, EpsilonGreedy, ThompsonSampling, Exp3 and others without contexts."""

import copy
import importlib
from collections.abc import Sequence
from typing import Any

from dpcvx.adapters.arm_policy import COIN, UNIT, PullingPolicy
from dpcvx.errors import ArgumentError


def is_river(policy: Any) -> bool:
    """Whether an object is a policy of river; without river none is."""
    if not any(kind.__module__.partition(".")[0] == "river" for kind in type(policy).__mro__):
        return False
    return isinstance(policy, importlib.import_module("river.bandit.base").Policy)


class RiverPolicy(PullingPolicy):
    """A policy of river, of which a copy is played.

    Raises:
        ArgumentError: where it needs contexts, has learned from something already, or can pull no arm.
    """

    def __init__(self, policy: Any, arms: Sequence[Any]) -> None:
        kind = type(policy).__name__
        if isinstance(policy, importlib.import_module("river.bandit.base").ContextualPolicy):
            raise ArgumentError(f"{kind} of river needs contexts; only policies without contexts can be made private.")
        if getattr(policy, "_n", 0):
            raise ArgumentError(
                f"{kind} has been updated {policy._n} times already, by rewards that no noise hides; give a new one."
            )
        super().__init__(policy, arms)
        self.told = self._bearable()
        try:  # the usual reward_obj of ThompsonSampling is one that it cannot draw from
            copy.deepcopy(self.policy).pull(list(arms))
        except Exception as error:
            raise ArgumentError(
                f"{kind} of river pulls no arm as it was made: {type(error).__name__}, {error}. Perhaps it needs "
                "another reward_obj, as ThompsonSampling does: river.proba.Beta() or river.proba.Gaussian()."
            ) from error

    def _bearable(self) -> str:
        """Beta distributions count successes, and Exp3 raises weights by rewards of [0, 1]."""
        proba, bandit = importlib.import_module("river.proba"), importlib.import_module("river.bandit")
        if isinstance(self.policy.reward_obj, proba.Beta) or isinstance(self.policy, bandit.BayesUCB):
            return COIN
        return UNIT if isinstance(self.policy, bandit.Exp3) else self.told
