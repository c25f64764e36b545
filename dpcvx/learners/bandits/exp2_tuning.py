"""How Exp2 chooses its learning rate and its exploration, and what is then proved.

moments    the noise enters through its exact moment generating function: no ln T from the largest noise
rigorous   the noise is cut at b = 2 lam ln T, which it exceeds in one round with probability T^-2
paper      the constants of Theorem 4.1 of Agarwal and Singh, The Price of Differential Privacy for Online Learning
           (ICML 2017), whose proof conditions on the size of the noise
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

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
    """

    log_count: float
    rank: int
    reach: float
    magnitude: float
    noise_scale: float
    horizon: int

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
    theorem: str

    def rates(self, game: Game, given: float | None) -> tuple[float, float]:
        """(eta, gamma); with a given eta, the gamma that belongs to it."""
        if game.is_trivial:
            return given or 1.0, 0.0
        largest = self._mixing_per_rate(game)
        eta = given or self._rate(game)
        gamma = min(eta * largest, self._most)
        return (eta if given else min(eta, gamma / largest)), gamma

    _most = 0.5  # of gamma

    @abstractmethod
    def _rate(self, game: Game) -> float:
        """The eta that is best without a limit on gamma."""

    @abstractmethod
    def _mixing_per_rate(self, game: Game) -> float:
        """gamma/eta."""

    @abstractmethod
    def bound(self, game: Game, eta: float, gamma: float) -> float:
        """The proved bound of the expected regret, infinite where there is none."""

    def reason(self, game: Game, eta: float, gamma: float) -> str:
        """Why nothing is proved, where that is so."""
        needed = eta * self._mixing_per_rate(game)
        return f"the learning rate {eta:.4g} needs exploration of {needed:.4g}, but it is {gamma:.4g}"


class MomentsTuning(Tuning):
    """theory: gamma = 2 eta reach max(M, lam), so that eta |a'P^+v| max(M, lam) <= 1/2."""

    theorem = "Exp2 by moments: ln|A|/eta + eta n T (M^2 + 7/3 lam^2)/(1 - gamma) + 2 gamma M T"

    def _second_moment(self, game: Game) -> float:
        return game.magnitude**2 + 7 / 3 * game.noise_scale**2

    def _mixing_per_rate(self, game: Game) -> float:
        return 2 * game.reach * game.largest

    def _rate(self, game: Game) -> float:
        exploring = 4 * game.magnitude * game.reach * game.largest
        return math.sqrt(game.log_count / (game.horizon * (game.rank * self._second_moment(game) + exploring)))

    def bound(self, game: Game, eta: float, gamma: float) -> float:
        if game.is_trivial:
            return 0.0
        if eta * self._mixing_per_rate(game) > gamma * _SLIP:
            return math.inf
        second = eta * game.rank * game.horizon * self._second_moment(game) / (1 - gamma)
        return game.log_count / eta + second + 2 * gamma * game.magnitude * game.horizon


class RigorousTuning(Tuning):
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

    def bound(self, game: Game, eta: float, gamma: float) -> float:
        if game.is_trivial:
            return 0.0
        if eta * self._mixing_per_rate(game) > gamma * _SLIP:
            return math.inf
        second = eta * game.rank * game.horizon * self._second_moment(game) / (1 - gamma)
        return game.log_count / eta + second + 2 * game.magnitude * (gamma * game.horizon + 1)


class PaperTuning(Tuning):
    """Theorem 4.1 of the paper, for losses up to M instead of 1."""

    arms_only = True
    theorem = "the paper's Theorem 4.1"
    _most = 1.0

    def _spread(self, game: Game) -> float:
        """M^2 + 2 lam^2 log(N T)."""
        logarithm = game.log_count + math.log(game.horizon)
        return game.magnitude**2 + 2 * game.noise_scale**2 * logarithm

    def _mixing_per_rate(self, game: Game) -> float:
        return game.rank * math.sqrt(self._spread(game))

    def _rate(self, game: Game) -> float:
        return math.sqrt(game.log_count / (2 * game.rank * game.horizon * self._spread(game)))

    def bound(self, game: Game, eta: float, gamma: float) -> float:
        return math.inf

    def reason(self, game: Game, eta: float, gamma: float) -> str:
        return "the paper's exploration bounds the noise by its deviation, and its proof needs a bound of all of it"


TUNINGS: dict[str, Tuning] = {"moments": MomentsTuning(), "rigorous": RigorousTuning(), "paper": PaperTuning()}
