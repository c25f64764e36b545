"""Arms by FTRL with the logarithmic barrier, without exploration.

With L the sums of the estimated costs, the probabilities minimise eta <L, p> - sum ln p_i over the simplex:

    p_i = 1/(eta L_i + mu), mu such that they sum to 1,

an arm is drawn, its cost w is seen, and w/p_i estimates the cost of that arm. Its dual local norm is |w|, whatever p.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx.arguments import positive, whole
from dpcvx.arrays import Array
from dpcvx.errors import OracleError
from dpcvx.learners.action_families import Arms, drawn, kept
from dpcvx.learners.action_sets import ActionSet, arm_simplex, arms_of
from dpcvx.learners.bandit import Bandit
from dpcvx.sets import DecisionSet, LossSet

_NEWTON = 100
_MISS = 1e-12  # by which the probabilities may miss the sum 1 before they are normalised


@dataclass(frozen=True)
class ArmCosts:
    """What is known of the arms: sums of estimates, of which the least is 0, probabilities, and mu, (..., 1)."""

    costs: Array
    p: Array
    normaliser: Array


class LogBarrierBandit(Bandit):
    """FTRL with the logarithmic barrier over arms.

    Args:
        arms: their number, or a simplex { x >= 0, sum x = s }, whose corners are then played.
        loss_set, horizon, noise_scale, seed, replicas: see `Bandit`.
        learning_rate: eta; by default the one of the theorem.
    """

    _theorem = "log-barrier FTRL: N ln T/eta + eta T (M^2 + 2 lam^2) + 4 M"

    def __init__(
        self,
        arms: int | DecisionSet | ActionSet[Arms],
        loss_set: LossSet,
        horizon: int,
        *,
        noise_scale: float = 0.0,
        learning_rate: float | None = None,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        self._arms = _arms(arms)
        super().__init__(
            self._arms.decision_set, loss_set, horizon, noise_scale=noise_scale, seed=seed, replicas=replicas
        )
        self._corners = self._arms.family
        self.n_arms = self._corners.size
        self.magnitude = self._arms.magnitude(loss_set, self.sizes)
        self._given_rate = None if learning_rate is None else positive(learning_rate, "learning_rate")
        self.learning_rate = self._given_rate or self._tuned_rate()
        shape = (*self.leading, self.n_arms)
        self._start = ArmCosts(
            np.zeros(shape), np.full(shape, 1 / self.n_arms), np.full((*self.leading, 1), self.n_arms)
        )
        self._units = np.eye(self.n_arms)
        self._arm = np.zeros(self.leading, dtype=int)

    @property
    def _range(self) -> float:
        """N ln T."""
        return self.n_arms * math.log(max(self.horizon, 2))

    @property
    def _cut(self) -> float:
        """M + b: what the feedback exceeds in one round with probability at most T^-2."""
        return self.magnitude + 2 * self.noise_scale * math.log(max(self.horizon, 2))

    @property
    def _second_moment(self) -> float:
        return self.magnitude**2 + 2 * self.noise_scale**2

    def _tuned_rate(self) -> float:
        if not self._cut:
            return 1.0
        return min(math.sqrt(self._range / (self.horizon * self._second_moment)), 1 / (2 * self._cut))

    @property
    def probabilities(self) -> Array:
        """p of the arms in this round, (..., N)."""
        return self._known.p.copy()

    @property
    def _known(self) -> ArmCosts:
        return self._start if self._state is None else self._state

    @property
    def uncapped_bound(self) -> float:
        if not self._cut:
            return 0.0
        if self.learning_rate * self._cut > 0.5 * (1 + 1e-12):
            return math.inf
        # 2 M for moving the comparator inward by 1/T, and 2 M for rounds with rare noise
        stability = self.learning_rate * self.horizon * self._second_moment
        return self._range / self.learning_rate + stability + 4 * self.magnitude

    def _play(self) -> Array:
        self._arm = drawn(self._known.p, self._rng)
        return self.decision_set.unflatten(self._corners.points[self._arm])

    def _take(self, value: Any) -> ArmCosts:
        known = self._known
        with np.errstate(over="ignore"):
            costs = kept(known.costs + self._units[self._arm] * value[..., None] / known.p)
        costs -= costs.min(axis=-1, keepdims=True)
        return ArmCosts(costs, *_normalised(self.learning_rate * costs, known.normaliser))

    def _own(self) -> dict[str, Any]:
        return {"learning_rate": self._given_rate}

    @property
    def _domain(self) -> ActionSet[Arms]:
        return self._arms

    def _details(self) -> list[str]:
        lines = [
            f"  arms             {self.n_arms}",
            f"  tuning           learning rate {self.learning_rate:.6g}, noise scale {self.noise_scale:.6g}",
        ]
        if math.isinf(self.uncapped_bound):
            reach = self.learning_rate * self._cut
            lines.append(f"  note             the proof needs eta (M + b) <= 1/2, and it is {reach:.4g}")
        return lines


def _arms(given: Any) -> ActionSet[Arms]:
    """The arms, from their number or their simplex."""
    if isinstance(given, ActionSet):
        return given
    if isinstance(given, DecisionSet):
        family = arms_of(given)
        if family is None:
            raise ValueError(
                f"The {given.name} is not a simplex {{ x >= 0, sum x = s }}; give one, or a number of arms."
            )
        return ActionSet(given, family)
    count = whole(given, "arms", at_least=2)
    return ActionSet(arm_simplex(count), Arms(count))


def _normalised(x: Array, start: Array) -> tuple[Array, Array]:
    """p_i = 1/(x_i + mu) with sum 1, and mu, for x >= 0 with least entry 0.

    1/(sum p) is concave and increasing in mu, so Newton steps for it approach 1 from below after the first; mu is
    between 1, since no p exceeds 1, and N, where all x are 0.
    """
    mu = start
    for _ in range(_NEWTON):
        p = 1 / (x + mu)
        total = p.sum(axis=-1, keepdims=True)
        if np.abs(total - 1).max() <= _MISS:
            return p / total, mu
        step = (total - 1) * total / (p * p).sum(axis=-1, keepdims=True)
        mu = np.clip(mu + step, 1.0, x.shape[-1])
    raise OracleError("The probabilities of the arms could not be normalised.")
