"""The rates of lazy exponential weights: how often an action is redrawn, what that costs, and what is then proved.

In K = ceil(T/B) batches an action is kept with probability (1 - p) exp(-eta C), C what it cost in the batch, or drawn
anew from softmax(-eta L), L all costs so far, at most S times. One person moves the costs of an action by dk and the
difference of two actions' costs by R, in one batch. The coins of other batches have the same law given what was seen,
that of the batch itself moves as `coin_cost` says, and the log-ratios of each redraw after it lie in an interval of
length eta R; `choices_cost` adds them up. For a person in k rounds it is k times as much, and k^2 times for rho.

Regret. Without the limit S the action of a batch has the law softmax(-eta L) exactly: P(j stays or comes) = (1 - p)
q(j) e^(-eta C(j)) + (1 - (1 - p) W) q'(j), W = E_q e^(-eta C) and q(j) e^(-eta C(j)) = W q'(j). The coins show a
redraw with probability at most 1 - (1 - p) e^(-eta B w), whatever came before, so with costs in [0, w] the regret is
at most

    ln N/eta + eta K B^2 w^2/8 + w T P(more than S of K - 1 such coins).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import bdtrc

from dpcvx.arrays import Array
from dpcvx.privacy.choice_grounds import choices_cost, coin_cost
from dpcvx.privacy.gaussian_calibration import zcdp_rho

_SLIP = 1 + 1e-12  # claims are never too small by rounding


@dataclass(frozen=True)
class Rates:
    """eta, the rounds of a batch, the chance p of a redraw at no cost, and how often is redrawn at most."""

    eta: float
    batch: int
    chance: float
    redraws: int


@dataclass(frozen=True)
class Lazy:
    """The numbers of a game.

    Attributes:
        horizon: T; log_count: ln N.
        width: w, of the costs of a round.
        moved: dk; apart: R.
        epsilon, delta: the budget; people: rounds in which one person appears.
    """

    horizon: int
    log_count: float
    width: float
    moved: float
    apart: float
    epsilon: float
    delta: float
    people: int

    @property
    def is_trivial(self) -> bool:
        """Whether there is nothing to choose, or nothing to lose."""
        return not (self.log_count and self.width)

    @property
    def learning(self) -> float:
        """The regret of exponential weights without privacy."""
        return self.width * math.sqrt(self.horizon * self.log_count / 2)

    @property
    def rho(self) -> float | None:
        """The zero-concentrated privacy behind (epsilon, delta); None where that is pure."""
        return zcdp_rho(self.epsilon, self.delta) if self.delta else None

    def spent(self, rates: Rates) -> tuple[float, float | None]:
        """What the rates cost one person: epsilon, or rho."""
        moved, apart = rates.eta * self.moved, rates.eta * self.apart
        cost = choices_cost(moved, apart, rates.chance, rates.redraws, bool(self.delta))
        return (0.0, self.people**2 * cost) if self.delta else (self.people * cost, None)

    def bound(self, rates: Rates) -> float:
        """The proved bound of the expected regret."""
        return float(self._bounds(np.array(rates.eta), np.array(rates.batch), np.array(rates.chance), rates.redraws))

    def _bounds(self, eta: Array, batch: Array, chance: Array, redraws: Array | int) -> Array:
        T, w = self.horizon, self.width
        K = np.ceil(T / batch)
        likely = -np.expm1(np.log1p(-chance) - eta * batch * w)
        coins = np.maximum(K - 1, 0)
        most = np.maximum(coins, 1).astype(np.int64)
        tail = np.where(redraws >= coins, 0.0, bdtrc(np.minimum(redraws, coins), most, likely))
        return np.asarray(self.log_count / eta + eta * K * batch**2 * w**2 / 8 + w * T * tail)

    def rates(self) -> Rates:
        """The rates with the least bound."""
        return _tuned(self)

    @property
    def budget(self) -> float:
        """For the coin of a person in one round: epsilon, or the one with all of rho."""
        return self.epsilon / self.people if self.rho is None else math.sqrt(2 * self.rho) / self.people

    def share(self, rates: Rates) -> float:
        """Of the budget, which the coin has."""
        return coin_cost(rates.eta * self.moved, rates.chance) / self.budget

    def best(self, etas: Array, batches: Array, shares: Array) -> Rates:
        """The best of a grid; `shares` are of the budget, for the coin."""
        eta, batch, share = np.meshgrid(etas, batches, shares, indexing="ij")
        budget = self.budget
        coin = budget * share / _SLIP**2
        x = eta * self.moved
        chance = 1 / (1 + np.expm1(np.minimum(coin, 700.0)) / np.maximum(-np.expm1(-x), 1e-300))
        redraw = np.maximum(eta * self.apart, 1e-300) * _SLIP**3
        left = (budget - coin) / redraw if self.rho is None else 4 * (budget**2 - coin**2) / redraw**2
        redraws = np.floor(np.minimum(left / _SLIP**3, 2.0**52))
        chance = np.where(self.moved > 0, chance, 1e-12)
        bounds = np.where(x <= coin, self._bounds(eta, batch, np.minimum(chance, 0.999), redraws), np.inf)
        at = np.unravel_index(int(np.argmin(bounds)), bounds.shape)
        return Rates(float(eta[at]), int(batch[at]), float(chance[at]), int(redraws[at]))


@lru_cache(maxsize=64)
def _tuned(game: Lazy) -> Rates:
    """The rates with the least bound, by a grid and finer ones around its best point."""
    if game.is_trivial:
        return Rates(1.0, game.horizon, 0.5, 0)
    free = math.sqrt(8 * game.log_count / game.horizon) / game.width  # without privacy
    batches = np.unique(np.round(np.geomspace(1, max(1.0, game.horizon**0.75), 16)))
    best = game.best(free * np.geomspace(1e-5, 1, 40), batches, np.geomspace(1e-3, 0.95, 10))
    for spread in (2.0, 1.5, 1.2, 1.06):
        around = np.geomspace(1 / spread, spread, 9)
        batches = np.unique(np.clip(np.round(best.batch * around), 1, game.horizon))
        shares = np.clip(game.share(best) * around, 1e-4, 0.999)
        best = min(best, game.best(best.eta * around, batches, shares), key=game.bound)
    return best
