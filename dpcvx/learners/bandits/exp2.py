"""Exp2: exponential weights over finitely many actions with exploration, on <loss, action> alone (Algorithm 5).

With L the sum of the estimates, q(a) proportional to exp(-eta <L, a>), p = (1 - gamma) q + gamma mu and P = E_p[aa'],

    play a ~ p, see w, estimate the loss by P^+ a w,

which is unbiased on the span of the actions, since E_p[P^+ aa'] is the projection onto it.
"""

import math
from typing import Any

import numpy as np

from dpcvx.actions.families import Arms, Exploration, Listed, kept
from dpcvx.arguments import positive
from dpcvx.arrays import Array
from dpcvx.learners.bandits.action_set import ActionSet, action_set
from dpcvx.learners.bandits.bandit import Bandit
from dpcvx.learners.bandits.exp2_tuning import TUNINGS, Game
from dpcvx.sets import DecisionSet, LossSet


class Exp2(Bandit):
    """Exponential weights over actions.

    Args:
        actions: points of R^N as an array (k, N), np.eye(N) for arms; or a polytope, whose vertices are then played:
            boxes, simplices, k-sets and flows by formulas, others by listing up to 10,000 of them.
        loss_set, horizon, noise_scale, seed, replicas: see `Bandit`.
        exploration: mu: "design" (Kiefer-Wolfowitz), "uniform", or probabilities of the listed actions.
        tuning: "moments", or for arms also "rigorous" (noise cut at 2 lam ln T) and "paper" (Theorem 4.1, unproved).
        learning_rate: eta; by default the one of the tuning. The exploration follows from it.

    Attributes:
        learning_rate, mixing: eta and gamma.
    """

    def __init__(
        self,
        actions: DecisionSet | ActionSet[Any] | Any,
        loss_set: LossSet,
        horizon: int,
        *,
        exploration: str | Exploration | Any = "design",
        tuning: str = "moments",
        noise_scale: float = 0.0,
        learning_rate: float | None = None,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        self._actions = action_set(actions)
        self.family = self._actions.family
        super().__init__(
            self._actions.decision_set, loss_set, horizon, noise_scale=noise_scale, seed=seed, replicas=replicas
        )
        if not isinstance(tuning, str) or tuning not in TUNINGS:
            raise ValueError(f"tuning must be one of {', '.join(TUNINGS)}, not {tuning!r}.")
        if TUNINGS[tuning].arms_only and not isinstance(self.family, Arms):
            raise ValueError(f'tuning="{tuning}" is for arms, the unit vectors; use tuning="moments".')
        self.tuning, self._tuning = tuning, TUNINGS[tuning]
        self._theorem = self._tuning.theorem
        self.exploration = self.family.exploration(exploration)
        self._given_rate = None if learning_rate is None else positive(learning_rate, "learning_rate")
        self._game = Game(
            log_count=self.family.log_count,
            rank=self.family.rank,
            reach=self.exploration.reach,
            magnitude=self._actions.magnitude(loss_set, self.sizes),
            noise_scale=self.noise_scale,
            horizon=self.horizon,
        )
        self.learning_rate, self.mixing = self._tuning.rates(self._game, self._given_rate)
        self._zero = np.zeros((*self.leading, self.family.size))
        self._measure = np.zeros((*self.leading, self.family.size))  # P^+ a of the last action

    @property
    def magnitude(self) -> float:
        """M: an upper bound of |<loss, action>|."""
        return self._game.magnitude

    @property
    def probabilities(self) -> Array:
        """p of the listed actions in this round, (..., k)."""
        if not isinstance(self.family, Listed):
            raise ValueError(
                f"There are about e^{self.family.log_count:.3g} actions; their probabilities are not listed."
            )
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

    def _play(self) -> Array:
        action, self._measure = self.family.play(self._covector, self.mixing, self.exploration, self._rng)
        return self.decision_set.unflatten(action)

    def _take(self, value: Any) -> Array:
        with np.errstate(over="ignore"):
            return kept(self._estimates + value[..., None] * self._measure)

    def _own(self) -> dict[str, Any]:
        return {"exploration": self.exploration, "tuning": self.tuning, "learning_rate": self._given_rate}

    @property
    def _domain(self) -> ActionSet[Any]:
        return self._actions

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
