"""A bandit learner for use rather than for proofs: its rates follow the feedback, and there is nothing to tune.

Over finitely many actions it plays exponential weights, over any other body barrier FTRL; see `adaptive_weights` and
`adaptive_barrier`. It sees nothing but feedback, so behind `PrivateBandit` it is as private as any other learner.
"""

import math
from typing import Any

import numpy as np

from dpcvx.actions import PointList
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, DpcvxError
from dpcvx.learners.bandits.action_set import ActionSet, action_set
from dpcvx.learners.bandits.adaptive_barrier import AdaptiveBarrier
from dpcvx.learners.bandits.adaptive_weights import RECIPES, AdaptiveWeights, exploration_of
from dpcvx.learners.bandits.bandit import Bandit, Progress
from dpcvx.sets import DecisionSet, LossSet

_BATCH = 5.66  # twice the batch that is best where feedback is as far from its mean as it can be: it seldom is


class AdaptiveBandit(Bandit):
    """Rates that follow the feedback, for finitely many actions and for any convex body.

    No worst-case bound is proved for either setting. For the setting "middle" over actions, `paid` estimates a bound
    of the expected regret from one run.

    Args:
        actions: points of R^N as an array (k, N), or a decision set. The vertices of polytopes are played where a
            family or a list holds them, points of the set otherwise.
        loss_set, horizon, noise_scale, seed, replicas: see `Bandit`.
        setting: "recipe", or "middle": more exploration, and estimates that are never cut.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> bandit = dpcvx.PrivateBandit(dpcvx.AdaptiveBandit(X, Y, horizon=1000), epsilon=1.0)
        >>> action = bandit.act()
        >>> bandit.update(action @ [0.1, 0.9, 0.5])  # the loss of that action, one number
        >>> bandit.regret_bound is None  # none is proved for this learner
        True
    """

    _theorem = "none"

    def __init__(
        self,
        actions: DecisionSet | ActionSet[Any] | Any,
        loss_set: LossSet,
        horizon: int,
        *,
        setting: str = "recipe",
        noise_scale: float = 0.0,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        if setting not in RECIPES:
            raise ArgumentError(f"setting must be one of {', '.join(RECIPES)}, not {setting!r}.")
        found, self._why = _listed(actions)
        self._actions = actions if found is None else found
        decision_set: Any = actions if found is None else found.decision_set
        super().__init__(decision_set, loss_set, horizon, noise_scale=noise_scale, seed=seed, replicas=replicas)
        self.setting = setting
        spread = self.sizes.feedback_range
        self._plays: AdaptiveWeights | AdaptiveBarrier
        if found is None:
            self._plays = AdaptiveBarrier(decision_set, self.horizon, spread, self.noise_scale)
        else:
            family = found.family
            if not family.level and isinstance(family, PointList):  # a constant more in every action puts them on one
                family = PointList(np.column_stack([family.points, np.ones(family.count)]))
            self._plays = AdaptiveWeights(family, self.sizes.losses, spread, self.noise_scale, setting)
        self._idle = not self._plays.dim or not self._plays.first
        self._progress = Progress(0, self._plays.start(self.leading))
        self._drawn: Any = None

    def own_batch(self, noise: float) -> int:
        """The batch that it asks for where the sum of a batch carries Laplace noise of this scale."""
        spread = self.sizes.feedback_range
        return max(1, round(_BATCH * noise / spread)) if spread else 1

    @property
    def paid(self) -> Array | float | None:
        """An unbiased estimate, from this run, of an upper bound on the *expected* regret; None where there is none.

        It is for this fixed horizon and losses fixed in advance, is no bound for this run and has no confidence level;
        learners are not to be chosen by it. It is stated once the horizon is used up, for the setting "middle" over
        actions, and is made of released numbers alone.
        """
        return self.paid_with(0.0) if self.rounds >= self.horizon else None

    def paid_with(self, error: float) -> Array | float | None:
        """The same over the rounds so far, where all feedback is off by at most `error`."""
        if self.setting != "middle" or not isinstance(self._plays, AdaptiveWeights):
            return None
        paid = self._state.paid + error * self._state.tilt
        return paid.copy() if self.leading else float(paid)

    @property
    def uncapped_bound(self) -> float:
        return math.inf

    def rounding_cost(self, error: float) -> float:
        """There is no bound to which it could be added."""
        return math.inf

    def _draw_action(self) -> Array:
        X = self.decision_set
        if self._idle:
            return X.unflatten(np.broadcast_to(X.flatten(X.argmin(np.zeros(X.shape))), (*self.leading, X.size)).copy())
        action, self._drawn = self._plays.draw(self._state, self.rounds, self._rng)
        return X.unflatten(action[..., : X.size])

    def _after(self, value: Any) -> Any:
        return self._state if self._idle else self._plays.after(self._state, self._drawn, value, self.rounds)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "actions": self._actions, "setting": self.setting}

    def _details(self) -> list[str]:
        lines = [f"  plays            {self._plays.says}, setting {self.setting}"]
        if self._why:
            lines.append(f"  note             no list of actions: {self._why}")
        lines.append("  note             rates follow the feedback; no worst-case bound is proved")
        return lines


def _listed(actions: Any) -> tuple[ActionSet[Any] | None, str]:
    """The actions of a family or a list; None for a set that has no short list or exploration, and why."""
    if not isinstance(actions, DecisionSet):
        return action_set(actions), ""
    try:
        found = action_set(actions)
        exploration_of(found.family)
    except (DpcvxError, ValueError) as error:
        return None, str(error)
    return found, ""
