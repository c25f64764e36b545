"""How Exp2 chooses its learning rate and its exploration, and what is then proved.

sharp      the noise enters through its exact moment generating function: no ln T from the largest noise
moments    the same with rounder numbers: a second moment, and 2 M for what a round of exploration costs
rigorous   the noise is cut at b = 2 lam ln T, which it exceeds in one round with probability T^-2
paper      the constants of Theorem 4.1 of Agarwal and Singh, The Price of Differential Privacy for Online Learning
           (ICML 2017), whose proof conditions on the size of the noise
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from scipy.optimize import minimize_scalar

_STEEP = 50.0  # of k M, beyond which no bound is of use
_SLIP = 1 + 1e-9  # by which a condition may be missed through rounding


@dataclass(frozen=True)
class Game:
    """The numbers behind every tuning.

    Attributes:
        log_count: ln |A|.
        rank: n, dimension of the span of the actions.
        reach: an upper bound of max a'Sigma^+ a for the exploration; at best n.
        magnitude: M, the largest |<loss, action>|.
        noise_scale: lam, of the Laplace noise on the feedback.
        horizon: T.
        regret: E, the largest regret of a round that explores, in the mean.
    """

    log_count: float
    rank: int
    reach: float
    magnitude: float
    noise_scale: float
    horizon: int
    regret: float

    @property
    def is_trivial(self) -> bool:
        """Whether there is nothing to choose, or nothing to lose."""
        return not (self.log_count and self.rank and self.largest)

    @property
    def largest(self) -> float:
        return max(self.magnitude, self.noise_scale)

    @property
    def cut(self) -> float:
        """M + b: what the feedback exceeds in one round with probability at most T^-2."""
        return self.magnitude + 2 * self.noise_scale * math.log(max(self.horizon, 2))


class Tuning(ABC):
    """A choice of the learning rate eta and the share gamma of exploration."""

    arms_only = False
    centers = True  # whether the middle of the feedback's range is taken off it, where the actions allow that
    theorem: str
    _most = 0.5  # of gamma

    @abstractmethod
    def rates(self, game: Game, given: float | None) -> tuple[float, float]:
        """(eta, gamma); with a given eta, the gamma that belongs to it."""

    @abstractmethod
    def bound(self, game: Game, eta: float, gamma: float) -> float:
        """The proved bound of the expected regret, infinite where there is none."""

    @abstractmethod
    def reason(self, game: Game, eta: float, gamma: float) -> str:
        """Why nothing is proved, where that is so."""


class SharpTuning(Tuning):
    """gamma and eta in proportion, k = eta reach/gamma: eta |a'P^+ b| <= k for all actions, and the best k is taken.

    Given the action b that was played and c = a'P^+ b, the mean of exp(-eta c (v + z)) over Laplace noise z is
    e^x/(1 - y) for x = -eta c v and y = (eta c lam)^2. As x <= kM and y <= (k lam)^2 < 1 it is at most

        1 + x + phi(kM) x^2 + e^(kM) y/(1 - (k lam)^2),    phi(s) = (e^s - 1 - s)/s^2,

    since (e^x - 1 - x)/x^2 increases and e^x/(1 - y) = e^x + e^x y/(1 - y). The mean of c^2 over q is at most
    b'P^+ b/(1 - gamma), and that of b'P^+ b is n. So q has a regret of ln|A|/eta + eta n T (...)/(1 - gamma); it is
    played in 1 - gamma of the rounds, in the others regret is at most E in the mean.
    """

    theorem = "Exp2: ln|A|/eta + eta n T (phi(kM) M^2 + e^(kM) lam^2/(1 - (k lam)^2)) + gamma E T, k = eta reach/gamma"

    def rates(self, game: Game, given: float | None) -> tuple[float, float]:
        if game.is_trivial:
            return given or 1.0, 0.0
        top = min(_STEEP / game.magnitude if game.magnitude else math.inf, 1 / max(game.noise_scale, 1e-300))
        ends = math.log(1e-8 * top), math.log(top * (1 - 1e-9))

        def pair(log: float) -> tuple[float, float]:
            k = math.exp(log)
            eta = given or min(self._balanced(game, k), self._most * k / game.reach)
            return eta, min(eta * game.reach / k, self._most)

        found = minimize_scalar(lambda log: self.bound(game, *pair(log)), bounds=ends, method="bounded")
        return pair(float(found.x))

    def _balanced(self, game: Game, k: float) -> float:
        """The eta that is best for this k."""
        cost = game.rank * self._second_moment(game, k) + game.reach * game.regret / k
        return math.sqrt(game.log_count / (game.horizon * cost))

    def _second_moment(self, game: Game, k: float) -> float:
        M, lam = game.magnitude, game.noise_scale
        s = k * M
        phi = (math.expm1(s) - s) / s**2 if s > 1e-4 else 0.5 + s / 5
        return phi * M**2 + math.exp(s) * lam**2 / (1 - (k * lam) ** 2)

    def bound(self, game: Game, eta: float, gamma: float) -> float:
        if game.is_trivial:
            return 0.0
        k = eta * game.reach / gamma if gamma else math.inf
        if k * game.noise_scale >= 1 or k * game.magnitude > _STEEP:
            return math.inf
        second = eta * game.rank * game.horizon * self._second_moment(game, k)
        return game.log_count / eta + second + gamma * game.regret * game.horizon

    def reason(self, game: Game, eta: float, gamma: float) -> str:
        return f"the learning rate {eta:.4g} is too large for exploration of {gamma:.4g} and the noise"


class ProportionalTuning(Tuning):
    """gamma in a fixed proportion to eta."""

    def rates(self, game: Game, given: float | None) -> tuple[float, float]:
        if game.is_trivial:
            return given or 1.0, 0.0
        largest = self._mixing_per_rate(game)
        eta = given or self._rate(game)
        gamma = min(eta * largest, self._most)
        return (eta if given else min(eta, gamma / largest)), gamma

    @abstractmethod
    def _rate(self, game: Game) -> float:
        """The eta that is best without a limit on gamma."""

    @abstractmethod
    def _mixing_per_rate(self, game: Game) -> float:
        """gamma/eta."""

    @abstractmethod
    def _second_moment(self, game: Game) -> float:
        """What bounds the mean square of a feedback with its noise."""

    def reason(self, game: Game, eta: float, gamma: float) -> str:
        needed = eta * self._mixing_per_rate(game)
        return f"the learning rate {eta:.4g} needs exploration of {needed:.4g}, but it is {gamma:.4g}"


class ProvedTuning(ProportionalTuning):
    """One with a bound: ln|A|/eta, the second moments, and what is lost."""

    @abstractmethod
    def _lost(self, game: Game, gamma: float) -> float:
        """What exploring costs, and what the proof leaves out."""

    def bound(self, game: Game, eta: float, gamma: float) -> float:
        if game.is_trivial:
            return 0.0
        if eta * self._mixing_per_rate(game) > gamma * _SLIP:
            return math.inf
        second = eta * game.rank * game.horizon * self._second_moment(game) / (1 - gamma)
        return game.log_count / eta + second + self._lost(game, gamma)


class MomentsTuning(ProvedTuning):
    """theory: gamma = 2 eta reach max(M, lam), so that eta |a'P^+v| max(M, lam) <= 1/2."""

    theorem = "Exp2 by moments: ln|A|/eta + eta n T (M^2 + 7/3 lam^2)/(1 - gamma) + 2 gamma M T"

    def _second_moment(self, game: Game) -> float:
        return game.magnitude**2 + 7 / 3 * game.noise_scale**2

    def _mixing_per_rate(self, game: Game) -> float:
        return 2 * game.reach * game.largest

    def _rate(self, game: Game) -> float:
        exploring = 4 * game.magnitude * game.reach * game.largest
        return math.sqrt(game.log_count / (game.horizon * (game.rank * self._second_moment(game) + exploring)))

    def _lost(self, game: Game, gamma: float) -> float:
        return 2 * gamma * game.magnitude * game.horizon


class RigorousTuning(ProvedTuning):
    """gamma = eta N (M + b), so that |eta estimate| <= 1 in all rounds with probability 1 - 1/T."""

    arms_only = True
    theorem = "Exp2 with cut noise: ln N/eta + eta T N (M^2 + 2 lam^2)/(1 - gamma) + 2 gamma M T + 2 M"

    def _second_moment(self, game: Game) -> float:
        return game.magnitude**2 + 2 * game.noise_scale**2

    def _mixing_per_rate(self, game: Game) -> float:
        return game.reach * game.cut

    def _rate(self, game: Game) -> float:
        exploring = 2 * game.magnitude * game.reach * game.cut
        return math.sqrt(game.log_count / (game.horizon * (2 * game.rank * self._second_moment(game) + exploring)))

    def _lost(self, game: Game, gamma: float) -> float:
        return 2 * game.magnitude * (gamma * game.horizon + 1)


class PaperTuning(ProportionalTuning):
    """Theorem 4.1 of the paper, for losses up to M instead of 1."""

    arms_only = True
    centers = False
    theorem = "the paper's Theorem 4.1"
    _most = 1.0

    def _second_moment(self, game: Game) -> float:
        """M^2 + 2 lam^2 log(N T)."""
        logarithm = game.log_count + math.log(game.horizon)
        return game.magnitude**2 + 2 * game.noise_scale**2 * logarithm

    def _mixing_per_rate(self, game: Game) -> float:
        return game.rank * math.sqrt(self._second_moment(game))

    def _rate(self, game: Game) -> float:
        return math.sqrt(game.log_count / (2 * game.rank * game.horizon * self._second_moment(game)))

    def bound(self, game: Game, eta: float, gamma: float) -> float:
        return math.inf

    def reason(self, game: Game, eta: float, gamma: float) -> str:
        return "the paper's exploration bounds the noise by its deviation, and its proof needs a bound of all of it"


TUNINGS: dict[str, Tuning] = {
    "sharp": SharpTuning(),
    "moments": MomentsTuning(),
    "rigorous": RigorousTuning(),
    "paper": PaperTuning(),
}
