"""Exp2: exponential weights over finitely many actions with exploration, on <loss, action> alone.

This is Algorithm 5 of Agarwal and Singh, The Price of Differential Privacy for Online Learning (ICML 2017).
With L the sum of the estimates, q(a) proportional to exp(-eta <L, a>), p = (1 - gamma) q + gamma mu and P = E_p[aa'],

    play a ~ p, see w, estimate the loss by P^+ a w,

which is unbiased on the span of the actions, since E_p[P^+ aa'] is the projection onto it.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcvx.actions import Exploration
from dpcvx.arguments import positive
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, DpcvxError
from dpcvx.learners.bandits.action_set import ActionSet, action_set
from dpcvx.learners.bandits.bandit import Bandit
from dpcvx.learners.bandits.exp2_tuning import TUNINGS, Game
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of

_FAR = 1e200  # of sums of estimates, beyond which they would overflow


class Exp2(Bandit):
    """Exponential weights over actions.

    Args:
        actions: points of R^N as an array (k, N), np.eye(N) for arms; or a polytope, whose vertices are then played:
            boxes, simplices, k-sets and flows by formulas, others by listing up to 10,000 of them.
        loss_set, horizon, noise_scale, seed, replicas: see `Bandit`.
        exploration: mu: "design" (Kiefer-Wolfowitz), "uniform", or probabilities of the listed actions.
        tuning: "sharp", "moments" (rounder numbers, for comparison), or for arms also "rigorous" (noise cut at 2 lam
            ln T) and "paper" (Theorem 4.1, unproved).
        learning_rate: eta; by default the one of the tuning. The exploration follows from it.

    Attributes:
        learning_rate, mixing: eta and gamma.

    Example:
        >>> import decision_sets, dpcvx
        >>> bandit = dpcvx.Exp2(decision_sets.capped_simplex(6, 2), decision_sets.loss_box(6, 0, 1), horizon=1000)
        >>> action = bandit.act()  # two of six things
        >>> int(action.sum())
        2
        >>> bandit.update(action @ [0.1, 0.9, 0.5, 0.2, 0.7, 0.4])
    """

    def __init__(
        self,
        actions: DecisionSet | ActionSet[Any] | Any,
        loss_set: LossSet,
        horizon: int,
        *,
        exploration: str | Exploration | Any = "design",
        tuning: str = "sharp",
        noise_scale: float = 0.0,
        learning_rate: float | None = None,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        self._actions = action_set(actions)
        self.family = self._actions.family
        if not isinstance(tuning, str) or tuning not in TUNINGS:
            raise ArgumentError(f"tuning must be one of {', '.join(TUNINGS)}, not {tuning!r}.")
        if TUNINGS[tuning].arms_only and not self.family.is_arms:
            raise ArgumentError(f'tuning="{tuning}" is for arms, the unit vectors; use tuning="sharp".')
        self.tuning, self._tuning = tuning, TUNINGS[tuning]
        super().__init__(
            self._actions.decision_set, loss_set, horizon, noise_scale=noise_scale, seed=seed, replicas=replicas
        )
        self._theorem = self._tuning.theorem
        self.exploration = self.family.exploration(exploration)
        self._given_rate = None if learning_rate is None else positive(learning_rate, "learning_rate")
        self._game = Game(
            log_count=self.family.log_count,
            rank=self.family.rank,
            reach=self.exploration.reach,
            magnitude=self.magnitude,
            noise_scale=self.noise_scale,
            horizon=self.horizon,
            regret=self.sizes.regret_of(self.exploration.mean),
        )
        self.learning_rate, self.mixing = self._tuning.rates(self._game, self._given_rate)
        self._zero = np.zeros((*self.leading, self.family.size))
        self._measure = np.zeros((*self.leading, self.family.size))  # P^+ a of the last action

    @classmethod
    def refusal(cls, decision_set: DecisionSet, loss_set: LossSet) -> str | None:
        """Looks for all that the constructor needs, which is remembered and not looked for again."""
        try:
            actions = action_set(decision_set)
            _ = actions.family.design
            actions.values(loss_set, sizes_of(decision_set, loss_set))
        except (DpcvxError, ValueError) as error:
            return str(error)
        return None

    def _values(self) -> tuple[float, float]:
        return self._actions.values(self.loss_set, self.sizes)

    def _may_shift(self) -> bool:
        return self._tuning.centers and self.family.level

    @property
    def probabilities(self) -> Array:
        """p of the listed actions in this round, (..., k); a ValueError where there are too many."""
        return self.family.mixed(self._covector, self.mixing, self.exploration)

    @property
    def _estimates(self) -> Array:
        """L, the sum of the estimates."""
        return self._zero if self._state is None else self._state

    @property
    def _covector(self) -> Array:
        return np.asarray(self.learning_rate * self._estimates)

    @property
    def uncapped_bound(self) -> float:
        return self._tuning.bound(self._game, self.learning_rate, self.mixing)

    def rounding_cost(self, error: float) -> float:
        """|E r (q - u)'P^+ a| <= h ((q - u)'P^+ (q - u))^(1/2), q'P^+ q <= 1/(1 - gamma) and u'P^+ u <= reach/gamma.

        The first is Cauchy and Schwarz with E aa' = P; the others follow from P >= (1 - gamma) qq' and
        P >= gamma Sigma. Values that reach M + h are covered by the bound for them.
        """
        if not self.mixing:
            return 0.0
        gamma, reach, wider = self.mixing, self.exploration.reach, replace(self._game, magnitude=self.magnitude + error)
        bias = error * self.horizon * (1 / math.sqrt(1 - gamma) + math.sqrt(reach / gamma))
        return bias + max(0.0, self._tuning.bound(wider, self.learning_rate, gamma) - self.uncapped_bound)

    def _draw_action(self) -> Array:
        action, self._measure = self.family.play(self._covector, self.mixing, self.exploration, self._rng)
        return self.decision_set.unflatten(action)

    def _after(self, value: Any) -> Array:
        with np.errstate(over="ignore"):
            estimates = self._estimates + value[..., None] * self._measure
        return np.asarray(np.minimum(np.maximum(estimates, -_FAR), _FAR))

    def _settings(self) -> dict[str, Any]:
        return {
            **super()._settings(),
            "actions": self._actions,
            "exploration": self.exploration,
            "tuning": self.tuning,
            "learning_rate": self._given_rate,
        }

    def _details(self) -> list[str]:
        count = math.exp(self.family.log_count) if self.family.log_count < 30 else math.inf
        listed = f"{count:.0f}" if count < math.inf else f"e^{self.family.log_count:.4g}"
        lines = [
            f"  actions          {listed} of rank {self.family.rank}",
            f"  tuning           {self.tuning}, learning rate {self.learning_rate:.6g}",
            f"  noise            Laplace of scale {self.noise_scale:.6g}",
            f"  exploration      {self.exploration.name}, {self.mixing:.6g} of all draws",
        ]
        if math.isinf(self.uncapped_bound):
            why = self._tuning.reason(self._game, self.learning_rate, self.mixing)
            lines.append(f"  note             {why}")
        return lines
