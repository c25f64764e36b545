"""Arms by FTRL with the logarithmic barrier, without exploration.

With L the sums of the estimated costs, the probabilities minimise eta <L, p> - sum ln p_i over the simplex:

    p_i = 1/(eta L_i + mu), mu such that they sum to 1,

an arm is drawn, its cost w = v + z is seen, and w/p_i estimates the cost of that arm. So 1/p_i is multiplied by
1 + eta w, and then all 1/p_j are shifted by the same number, such that the sum is 1 again: 1/p is all there is to know.

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
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from dpcvx.actions import Arms
from dpcvx.actions.weights import drawn, ones
from dpcvx.arguments import positive, whole
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, OracleError
from dpcvx.learners.bandits.action_set import ActionSet, arm_simplex
from dpcvx.learners.bandits.bandit import Bandit, Progress
from dpcvx.sets import DecisionSet, LossSet

_NEWTON = 100
_INWARD = 1 / math.e  # how far the comparator moves at most: a little further, and not learning has the best bound
_MISS = 1e-9  # by which the probabilities may miss the sum 1
_TAME = 0.5, 2.0  # 1 + eta w between which Newton steps need no care
_FAR = 1e100  # of eta w, and 1e200 of 1/p


class Known(NamedTuple):
    """What a learner knows of the arms: 1/p, and the sum of p^2 to a few digits, for its next Newton step."""

    inverse: Array
    square: Any


class LogBarrierBandit(Bandit):
    """FTRL with the logarithmic barrier over arms.

    Args:
        arms: their number, or a simplex { x >= 0, sum x = s }, whose corners are then played.
        loss_set, horizon, noise_scale, seed, replicas: see `Bandit`.
        learning_rate: eta; by default the one of the theorem.

    Example:
        >>> import decision_sets, dpcvx
        >>> bandit = dpcvx.LogBarrierBandit(3, decision_sets.loss_box(3, 0, 1), horizon=1000, seed=0)
        >>> action = bandit.act()
        >>> sorted(action.tolist())
        [0.0, 0.0, 1.0]
        >>> bandit.update(0.7)
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
        self._given_rate = None if learning_rate is None else positive(learning_rate, "learning_rate")
        self.learning_rate = self._given_rate or self._tuned_rate()
        N = float(self.n_arms)
        self._progress = Progress(0, Known(np.full((*self.leading, self.n_arms), N), np.full(self.leading, 1 / N)))
        self._first = self.n_arms * np.arange(math.prod(self.leading)).reshape(self.leading)  # of each replica's arms
        self._arm = np.zeros(self.leading, dtype=int)

    def _values(self) -> tuple[float, float]:
        return self._arms.values(self.loss_set, self.sizes)

    @classmethod
    def refusal(cls, decision_set: DecisionSet, loss_set: LossSet) -> str | None:
        return None if decision_set.recognised.arms() is not None else _no_simplex(decision_set)

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
        p = 1 / self._state.inverse
        return np.asarray(p / p.sum(axis=-1, keepdims=True))

    @property
    def uncapped_bound(self) -> float:
        return self._bound_at(self.learning_rate) if self.magnitude else 0.0

    def rounding_cost(self, error: float) -> float:
        """A function of the arm is linear: the bound holds for the losses l + r, whose regret is off by 2 h a round."""
        return 2 * error * self.horizon

    def _draw_action(self) -> Array:
        self._arm = drawn(1 / self._state.inverse, self._rng)
        return self.decision_set.unflatten(self._corners.actions(self._arm))

    def _after(self, value: Any) -> Known:
        reach = _FAR / self.learning_rate
        growth = 1 + self.learning_rate * np.minimum(np.maximum(value, -reach), reach)
        known: Known = self._state
        inverse, at = known.inverse.copy(), self._first + self._arm
        own = inverse.take(at)
        inverse.put(at, own * growth)
        if _TAME[0] <= growth.min() and growth.max() <= _TAME[1]:
            return _shifted(inverse, _first_step(known.square, 1 / own, growth))
        inverse -= inverse.min(axis=-1, keepdims=True)
        return _shifted(np.minimum(inverse, _FAR**2), np.ones(self.leading))

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "arms": self._arms, "learning_rate": self._given_rate}

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
        family = given.recognised.arms()
        if family is None:
            raise ArgumentError(_no_simplex(given))
        return ActionSet(given, family)
    count = whole(given, "arms", at_least=2)
    return ActionSet(arm_simplex(count), Arms(count))


def _no_simplex(decision_set: DecisionSet) -> str:
    return f"The {decision_set.name} is not a simplex {{ x >= 0, sum x = s }}; give one, or a number of arms."


def _first_step(square: Any, p: Any, growth: Any) -> Any:
    """The Newton step of `_shifted` from 0, where the sum was 1 before one p was divided by its growth."""
    excess = p / growth - p
    return excess * (1 + excess) / (square + excess * (2 * p + excess))


def _shifted(inverse: Array, shift: Any) -> Known:
    """1/p + s with the number s for which sum p = 1, near the given one.

    G = 1/(sum p) is concave and increasing in s, so Newton steps for G = 1 end below the solution and then approach it
    from there. They stay in the domain 1/p + s > 0 when they start below the solution, as at s = 1 where the least
    entry is 0; and at s = 0 where one entry 1/p_i of a p with sum 1 has grown by a factor of 1/2 to 2. Below 1 that is
    below the solution. Above, with h = 1 - 1/factor <= 1/2, p' after the growth and its largest entry p'_max, the step
    is p_i h (sum p')/(sum p'^2) < p_i h/p'_max^2 <= 1/p'_max, as sum p' < 1 and p_i h <= p_i (1 - h) = p'_i <= p'_max.

    Near the solution a step takes the error e of the sum to at most (sum p^3)/(sum p^2)^2 e^2 <= sqrt(N) e^2, to
    leading order.
    """
    N = inverse.shape[-1]
    near = math.sqrt(_MISS / math.sqrt(N))
    for _ in range(_NEWTON):
        p = 1 / (inverse + shift[..., None])
        total = p @ ones(N)
        excess = total - 1
        square = np.vecdot(p, p)
        shift = shift + excess * total / square
        if np.abs(excess).max() <= near:
            return Known(inverse + shift[..., None], square)
    raise OracleError("The probabilities of the arms could not be normalised.")
