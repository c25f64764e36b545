"""Arms by FTRL with the logarithmic barrier, without exploration.

With L the sums of the estimated costs, the probabilities minimise eta <L, p> - sum ln p_i over the simplex:

    p_i = 1/(eta L_i + mu), mu such that they sum to 1,

an arm is drawn, its cost w = v + z is seen, and w/p_i estimates the cost of that arm.

The bound, for values |v| <= M with Laplace noise z of scale lam, and D the largest regret of a round. FTRL pays

    (R(u) - R(p_1))/eta + sum_t max_p' ( <f, p - p'> - D_R(p', p)/eta )

for the estimate f = (w/p_i) e_i. In the second part only p'_i = r p_i counts, since the other terms of D_R = sum_j (r_j
- 1 - ln r_j) are at least 0. With x = eta w > -1 the maximum of w (1 - r) - (r - 1 - ln r)/eta is (x - ln(1 + x))/eta,
where

    x - ln(1 + x) <= x^2/2 - x^3/3 + x^4/2 for x >= -1/2.

The right side is never negative, and its mean follows from the moments 2 lam^2 and 24 lam^4 of z. Where x < -1/2, so
w < -q with q = 1/(2 eta), the maximum is at most |w| (1/p_i - 1), as r <= 1/p_i: over the arms that is (N - 1) |w| in
the mean, and E |w| 1(w < -q) <= (q + lam) exp(-(q - M)/lam)/2 for q >= M. The comparator is an arm moved inward to
u = (1 - s) e_i + s/N, for s D a round, and R(u) - R(p_1) = (N - 1) ln(1/s) - ln N - ln(1 - s + s/N).

Noise needs no cut, so neither bound nor eta contains the 2 lam ln T of the usual argument.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from dpcvx.arguments import positive, whole
from dpcvx.arrays import Array
from dpcvx.errors import OracleError
from dpcvx.learners.action_families import Arms, drawn, kept
from dpcvx.learners.action_sets import ActionSet, arm_simplex, arms_of
from dpcvx.learners.bandit import Bandit
from dpcvx.sets import DecisionSet, LossSet

_NEWTON = 100
_INWARD = 1 / math.e  # how far the comparator moves at most: a little further, and not learning has the best bound
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

    _theorem = "log-barrier FTRL: (N - 1) ln(1/s)/eta + s D T + T E[x - ln(1 + x)]/eta for x = eta (v + z)"

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

    def _tuned_rate(self) -> float:
        """The rate of the smallest bound, in the neighbourhood of the one that balances its two main terms."""
        if not self.magnitude:
            return 1.0
        second = self.magnitude**2 + 2 * self.noise_scale**2
        balanced = math.sqrt(2 * self.n_arms * math.log(self.horizon + 1) / (self.horizon * second))
        top = 1 / (2 * self.magnitude)
        ends = math.log(min(balanced, top) / 100), math.log(min(100 * balanced, top))
        found = minimize_scalar(lambda log: self._bound_at(math.exp(log)), bounds=ends, method="bounded")
        return math.exp(float(found.x))

    def _bound_at(self, eta: float) -> float:
        """The bound for the learning rate eta; infinity where it does not hold."""
        N, T, M, lam, D = self.n_arms, self.horizon, self.magnitude, self.noise_scale, self.sizes.variation
        if eta * M > 0.5 * (1 + 1e-12):
            return math.inf
        s = min(_INWARD, (N - 1) / (eta * T * D)) if D else _INWARD
        inward = (N - 1) * math.log(1 / s) - math.log(N) - math.log1p(s / N - s)
        square, cube = M**2 + 2 * lam**2, M**3 + 6 * M * lam**2
        fourth = M**4 + 12 * (M * lam) ** 2 + 24 * lam**4
        stability = eta * square / 2 + eta**2 * cube / 3 + eta**3 * fourth / 2
        q = 1 / (2 * eta)
        rare = (N - 1) / 2 * (q + lam) * math.exp(-(q - M) / lam) if lam else 0.0
        return inward / eta + T * (stability + rare + s * D)

    @property
    def probabilities(self) -> Array:
        """p of the arms in this round, (..., N)."""
        return self._known.p.copy()

    @property
    def _known(self) -> ArmCosts:
        return self._start if self._state is None else self._state

    @property
    def uncapped_bound(self) -> float:
        return self._bound_at(self.learning_rate) if self.magnitude else 0.0

    def _play(self) -> Array:
        self._arm = drawn(self._known.p, self._rng)
        return self.decision_set.unflatten(self._corners.points[self._arm])

    def _take(self, value: Any) -> ArmCosts:
        known = self._known
        with np.errstate(over="ignore"):
            costs = kept(known.costs + self._units[self._arm] * value[..., None] / known.p)
        least = costs.min(axis=-1, keepdims=True)
        costs -= least
        start = known.normaliser + self.learning_rate * least  # for which the other arms keep their probabilities
        return ArmCosts(costs, *_normalised(self.learning_rate * costs, start))

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
            reach = self.learning_rate * self.magnitude
            lines.append(f"  note             the proof needs eta M <= 1/2, and it is {reach:.4g}")
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
    mu = np.minimum(np.maximum(start, 1.0), x.shape[-1])
    ones = np.ones((x.shape[-1], 1))
    for _ in range(_NEWTON):
        p = 1 / (x + mu)
        total = p @ ones
        above = total - 1
        if np.abs(above).max() <= _MISS:
            return p / total, mu
        mu = np.minimum(np.maximum(mu + above * total / ((p * p) @ ones), 1.0), x.shape[-1])
    raise OracleError("The probabilities of the arms could not be normalised.")
