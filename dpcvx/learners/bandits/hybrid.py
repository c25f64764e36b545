"""Arms, boxes and products of simplices by FTRL with entropy and logarithmic barrier, without exploration.

On one group of N arms the probabilities minimise eta <L, p> + sum p ln p - beta sum ln p over the simplex, L the sums
of the estimated costs: ln p_i - beta/p_i = mu - eta L_i, see `entropy_and_barrier`. An arm i is drawn in every group,
one number w = v + z is seen for all of them, and w/p_i estimates the cost of i in each group: given the arm of one
group, v has the mean of its own loss plus one number that all its arms share. So the regret on a product is the sum of
the regrets of its groups. A box is a product of coins.

The bound of one group, for values |v| <= M with symmetric unimodal noise z, q = beta/eta >= M, any 0 < s < 1, and D the
largest regret of even draws in a round, is

    (ln N + beta B(s))/eta + T E psi(|M + z|) + s D T,    B(s) = (N - 1) ln(1/s) - ln N - ln(1 - s + s/N),
    psi(x) = (eta/2) x^2 (N - 1)/(1 + (N - 1)(beta - eta x))  for x <= q,    and beyond
             (eta/2) x^2 (N - 1) + N (x - q).

Proof. FTRL pays (R(u) - R(p_1))/eta + sum_t S_t with S = max_p' <f, p - p'> - D_R(p', p)/eta, for u the comparator
moved inward to (1 - s) e_i + s/N, which costs s D a round. Let i be drawn, p = p_i, a = p/(1 - p), r = p'_i/p and x =
eta |w|. Joining the other arms only lowers the entropic divergence, so that it is at least that of two points.
(1) w < 0, so r >= 1: p (r ln r - r + 1) >= p (r - 1 - ln r); the others' part has second derivative at least 1/(1 -
p), so it is at least p^2 (r - 1)^2/(2 (1 - p)) >= (p^2/(1 - p)) (r - 1 - ln r). With the barrier's beta (r - 1 - ln
r) that is (a + beta)(r - 1 - ln r), whose conjugate at x < a + beta is (a + beta)(-ln(1 - t) - t) for t = x/(a +
beta); so eta S <= (x^2/2)/(a + beta - x).
(2) w > 0 and p <= 1/2: second derivatives only grow as p' falls, so eta S <= (x^2/2)/(a + beta).
(3) w > 0 and p > 1/2: up to a constant the estimate is -w/p on all other arms, which together have the probability
1 - p; one of them grows at least as all do, so what (1) says holds for them with 1/a for a and x/a for x, and that is
at most the right side of (1) where x <= beta.
So S <= (eta/2) w^2/(a_i + beta - eta |w|) where |w| <= q. As p/(a + b) is concave in p for a = p/(1 - p), the mean
over the arms is at most that at p = 1/N, which is psi. Where |w| > q, the excess |w| - q gains at most (1/p_i -
1)(|w| - q) for w < 0, in the mean (N - 1)(|w| - q), and |w| - q for w > 0 by the one arm above 1/2; the rest is at
most (eta/2) w^2 (N - 1). Each arm's bound increases in |w|, and |v + z| is stochastically largest at |v| = M, by
Anderson's inequality.

On a grid of step h noise is discrete. Its size is within a step of that of continuous noise in the coupling by
quantiles, since P(|Z| >= k) = 2 e^(-k/b)/(1 + e^(-1/b)) lies between e^(-k/b) and e^(-(k - 1)/b) for noise of b steps;
and values are off by half a step. So psi at |M + z| + 3 h/2 covers both.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from dpcvx.actions.simplices import Simplices
from dpcvx.actions.weights import drawn
from dpcvx.arguments import positive
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.learners.bandits.action_set import arm_simplex
from dpcvx.learners.bandits.bandit import Bandit, Progress
from dpcvx.learners.bandits.entropy_and_barrier import rebalanced
from dpcvx.sets import DecisionSet, LossSet

_INWARD = 1 / math.e  # how far the comparator moves at most
_FAR = 1e200  # of sums of estimates
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_OUTWARD = 1 + 1e-8  # of integrals
_NONE = 1e300  # instead of an infinite bound, of which differences can be taken
_TRIED = 30.0  # logarithm of the factors by which rates are changed at most


class Known(NamedTuple):
    """What a learner knows of the arms: their probabilities, the sums of their estimated costs, and mu."""

    p: Array
    costs: Array
    mu: Array


class HybridBandit(Bandit):
    """FTRL with entropy and logarithmic barrier over arms, corners of boxes and of products of simplices.

    Args:
        arms: their number; or a simplex { x >= 0, sum x = s }, a box or a product of such sets, whose corners are then
            played.
        loss_set, horizon, noise_scale, seed, replicas: see `Bandit`.
        learning_rate, barrier: eta and beta; by default those with the least bound.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.cube(4), decision_sets.loss_ball(4, p=1)
        >>> hybrid, rival = (kind(X, Y, horizon=10_000) for kind in (dpcvx.HybridBandit, dpcvx.Exp2))
        >>> bool(hybrid.regret_bound.total < rival.regret_bound.total)
        True
    """

    _theorem = "entropy and log-barrier: sum over groups of (ln N + beta B(s))/eta + T E psi(|M + z|), + s D T"

    def __init__(
        self,
        arms: int | DecisionSet,
        loss_set: LossSet,
        horizon: int,
        *,
        noise_scale: float = 0.0,
        learning_rate: float | None = None,
        barrier: float | None = None,
        seed: int | np.random.Generator | None = None,
        replicas: int | None = None,
    ) -> None:
        decision_set = arms if isinstance(arms, DecisionSet) else arm_simplex(arms)
        super().__init__(decision_set, loss_set, horizon, noise_scale=noise_scale, seed=seed, replicas=replicas)
        found = decision_set.recognised.simplices()
        if found is None:
            raise ArgumentError(_no_product(decision_set))
        self.simplices: Simplices = found
        self._given = tuple(
            None if value is None else positive(value, name)
            for value, name in ((learning_rate, "learning_rate"), (barrier, "barrier"))
        )
        self._game = Game(found, self.horizon, self.magnitude, self.noise_scale, self.sizes.variation)
        self.learning_rate, self.barrier = self._game.rates(*self._given)
        shape = (*self.leading, *found.entries.shape)
        costs = np.zeros(shape)
        p = np.broadcast_to(np.where(found.there, 1 / found.counts[:, None], 0.0), shape).copy()
        self._there = None if found.there.all() else found.there
        self._rows = np.arange(p.size // shape[-1]).reshape(shape[:-1]) * shape[-1]  # where groups begin
        even = -np.log(found.counts) - self.barrier * found.counts
        self._progress = Progress(0, Known(p, costs, np.broadcast_to(even, shape[:-1])))
        self._chosen = np.zeros(shape[:-1], dtype=int)

    @classmethod
    def refusal(cls, decision_set: DecisionSet, loss_set: LossSet) -> str | None:
        return None if decision_set.recognised.simplices() is not None else _no_product(decision_set)

    @property
    def probabilities(self) -> Array:
        """p of the arms of each group in this round, (..., groups, arms)."""
        return np.asarray(self._state.p)

    @property
    def uncapped_bound(self) -> float:
        return self._game.bound(self.learning_rate, self.barrier)

    def rounding_cost(self, error: float) -> float:
        """In every group a function of the arm is linear: the bound holds for the losses l + r, off by 2 h a round.

        Discrete noise and values beyond M are covered by psi at three half steps more.
        """
        eta, beta = self.learning_rate, self.barrier
        larger = self._game.bound(eta, beta, slack=3 * error) - self._game.bound(eta, beta)
        return 2 * error * self.horizon * self.simplices.groups + larger

    def _draw_action(self) -> Array:
        self._chosen = drawn(self._state.p, self._rng)
        return self.decision_set.unflatten(self.simplices.actions(self._chosen))

    def _after(self, value: Any) -> Known:
        known: Known = self._state
        at, eta = self._rows + self._chosen, self.learning_rate
        with np.errstate(over="ignore"):
            gain = value[..., None] / known.p.reshape(-1)[at]
        costs = known.costs.copy()
        costs.reshape(-1)[at] += np.minimum(np.maximum(gain, -_FAR), _FAR)
        least = np.minimum.reduce(costs if self._there is None else np.where(self._there, costs, np.inf), axis=-1)
        costs = np.minimum(costs - least[..., None], _FAR)
        p, mu = rebalanced(self.barrier, eta * costs, known.mu - eta * least, known.p, self._there)
        return Known(p, costs, mu)

    def _settings(self) -> dict[str, Any]:
        rate, barrier = self._given
        return {**super()._settings(), "arms": self.decision_set, "learning_rate": rate, "barrier": barrier}

    def _details(self) -> list[str]:
        counts = self.simplices.counts
        sizes = f"{counts[0]}" if np.ptp(counts) == 0 else f"{counts.min()} to {counts.max()}"
        return [
            f"  arms             {len(counts)} x {sizes}" if len(counts) > 1 else f"  arms             {sizes}",
            f"  tuning           learning rate {self.learning_rate:.6g}, barrier {self.barrier:.6g}, "
            f"noise scale {self.noise_scale:.6g}",
        ]


def _no_product(decision_set: DecisionSet) -> str:
    return f"The {decision_set.name} is no simplex, no box and no product of them; give one, or a number of arms."


class Game:
    """The numbers behind the tuning, and the bound as a function of eta and beta.

    Attributes:
        counts, often: the sizes of groups with a choice, and how many there are of each.
        freedom: the sum of N - 1 over groups.
        inward: D. A group has the regret l_mean - l_i <= (1 - 1/N)(max l - min l) of even draws.
    """

    def __init__(self, simplices: Simplices, horizon: int, magnitude: float, noise: float, variation: float) -> None:
        self.horizon, self.magnitude, self.noise = horizon, magnitude, noise
        self.counts, self.often = np.unique(simplices.counts[simplices.counts > 1], return_counts=True)
        self.freedom = float((self.counts - 1) @ self.often)
        self.inward = variation * (1 - 1 / simplices.counts.max())

    @property
    def is_trivial(self) -> bool:
        """Whether there is nothing to choose, or nothing to lose."""
        return not (self.freedom and self.magnitude and self.inward)

    @property
    def _key(self) -> tuple[Any, ...]:
        """All numbers."""
        parts = self.horizon, self.magnitude, self.noise, self.inward
        return (*parts, tuple(self.counts.tolist()), tuple(self.often.tolist()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @lru_cache(maxsize=256)  # noqa: B019  equal games are few numbers
    def rates(self, eta: float | None, beta: float | None) -> tuple[float, float]:
        """(eta, beta); with one of them given, the best other one."""
        if self.is_trivial or (eta and beta):
            return eta or 1.0, beta or 1.0
        spread = self.magnitude**2 + 2 * self.noise**2
        logs = float(np.log(self.counts) @ self.often)
        start = eta or math.sqrt(2 * logs / (self.freedom * self.horizon * spread))
        rare = self.noise * math.log(self.horizon + 1) if self.noise else self.magnitude

        def pair(x: Array) -> tuple[float, float]:
            rate = eta or start * math.exp(float(x[0]))
            return rate, beta or rate * (self.magnitude + rare * math.exp(float(x[1])))

        def cost(x: Array) -> float:
            return min(self.bound(*pair(x)), _NONE) if np.abs(x).max() < _TRIED else _NONE

        corners = [np.array([a, b]) for a in (-1.0, 0.0, 1.0) for b in (-3.0, -1.5, 0.0)]
        corner = min(corners, key=cost)
        around = corner + np.array([[0.0, 0.0], [0.4, 0.0], [0.0, 0.6]])  # steps of less than the distance of corners
        options = {"xatol": 1e-2, "fatol": 1e-5 * cost(corner), "maxiter": 200, "initial_simplex": around}
        return pair(minimize(cost, corner, method="Nelder-Mead", options=options).x)

    def bound(self, eta: float, beta: float, slack: float = 0.0) -> float:
        """The proved bound of the expected regret; `slack` is added to the size of all feedback."""
        if self.is_trivial:
            return 0.0
        T, D, q = self.horizon, self.inward, beta / eta
        if q < (self.magnitude + slack) * (1 - 1e-12):
            return math.inf
        s = min(_INWARD, q * self.freedom / (D * T))
        total: float = s * D * T
        for count, often in zip(self.counts.tolist(), self.often.tolist(), strict=True):
            inward = (count - 1) * math.log(1 / s) - math.log(count) - math.log1p(s / count - s)
            total += float(often) * (math.log(count) / eta + q * inward + T * self._stability(count, eta, beta, slack))
        return total

    def _stability(self, N: int, eta: float, beta: float, slack: float) -> float:
        """E psi(|M + z| + slack) for Laplace noise z."""
        M, lam, q = self.magnitude, self.noise, beta / eta

        def psi(x: Array) -> Array:
            near = np.minimum(x, q)
            inside = (eta / 2) * near**2 * (N - 1) / (1 + (N - 1) * (beta - eta * near))
            return np.where(x <= q, inside, (eta / 2) * x**2 * (N - 1) + N * (x - q))

        if not lam:
            return float(psi(np.array(M + slack)))
        cut = max(q - slack, M)  # beyond it, psi is a quadratic function
        doubled = lam * np.array([-32.0, -16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16, 32])
        ends = np.sort(np.clip(np.concatenate([M + doubled, [-cut, 0.0, cut]]), -cut, cut))
        half, middle = (ends[1:] - ends[:-1])[:, None] / 2, (ends[1:] + ends[:-1])[:, None] / 2
        x = middle + half * _NODES
        inside = float((half * _WEIGHTS * psi(np.abs(x) + slack) * np.exp(-np.abs(x - M) / lam)).sum() / (2 * lam))
        # for y = |M + z| - cut > 0 of density e^(-y/lam)/lam, with weight e^(-(cut -+ M)/lam)/2 on either side
        mean = (eta / 2) * (N - 1) * (q**2 + 2 * q * lam + 2 * lam**2) + N * lam
        return inside * _OUTWARD + mean * (math.exp(-(cut - M) / lam) + math.exp(-(cut + M) / lam)) / 2
