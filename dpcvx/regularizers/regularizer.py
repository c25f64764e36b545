"""What follow-the-regularised-leader needs to know of a regulariser R over a set X, and the bound that follows.

For x_t = argmin eta <L_{t-1} + m, x> + R(x) and losses l_t of Y

    regret <= D/eta + (eta/2) T G^2,    D = max R - min R over X,    G = max |l - m|*_x over l in Y and x in X,

with |l|*_x the norm dual to that of R''(x), on the tangent space of X. The right-hand side is least at
eta = sqrt(2 D/(T G^2)). The statement in Agarwal and Singh, The Price of Differential Privacy for Online Learning
(ICML 2017), lacks the factor 2 and is false without it.

m is a public loss that is expected in every round, in most cases 0. Where R is 1-strongly convex in one norm, the bound
follows in three lines. With f_t = eta <L_t, x> + R and F_t = min f_t, x_t minimises f_{t-1} + eta <m, x>, so that

    f_t(x) >= f_{t-1}(x_t) + eta <m, x_t> + |x - x_t|^2/2 + eta <l_t - m, x>
           >= F_{t-1} + eta <l_t, x_t> - eta^2 |l_t - m|*^2/2     for every x, and hence for F_t,

and the sum over t is eta sum <l_t, x_t> <= F_T - F_0 + (eta^2/2) T G^2 with F_T <= eta <L_T, u> + R(u), F_0 = min R.
Noise in L is noise in f, whatever m.
"""

from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.sizes import Sizes


class Noise(Protocol):
    """The noise of one released sum of losses, one coordinate of it."""

    @property
    def deviation(self) -> float: ...

    def log_moment(self, s: float) -> float:
        """log E exp(s z), or an s^2 v/2 such that given some v' of mean v it is at most s^2 v'/2."""


@runtime_checkable
class HasArgmin(Protocol):
    """The least that an own regulariser must have."""

    def argmin(self, covector: Array) -> Any:
        """argmin <covector, x> + R(x) over the set."""


class Regularizer(ABC):
    """A strictly convex function over a decision set, with certified sizes.

    Raises:
        UnsupportedConeError: where the sets do not admit it; `refusal` says why.
    """

    name: str
    theorem = "D/eta + (eta/2) T G^2"  # the bound without noise, in symbols

    def __init__(self, sizes: Sizes) -> None:
        reason = self.refusal(sizes)
        if reason is not None:
            raise UnsupportedConeError(reason)
        self.sizes = sizes
        self.decision_set, self.loss_set = sizes.decision_set, sizes.loss_set

    @classmethod
    def refusal(cls, sizes: Sizes) -> str | None:
        """Why these sets do not admit the regulariser, in a sentence; None where they do."""
        return None

    @abstractmethod
    def value(self, point: Any) -> Array:
        """R at points of the set."""

    @abstractmethod
    def argmin(self, covector: Any, start: Array | None = None) -> Array:
        """argmin <covector, x> + R(x), on leading batch axes; `start` are earlier answers, from which it may begin."""

    def follow(self, covector: Any, last: Array | None = None) -> tuple[Array, Array | None]:
        """`argmin`, and from where the next one may begin: numbers, a row for each of the batch, that `last` takes.

        None where every one begins at the center. The numbers belong to the state of a learner: with them it goes on
        to the same bits.
        """
        return self.argmin(covector), None

    @property
    @abstractmethod
    def range(self) -> float:
        """D: an upper bound of max R - min R over the set."""

    @property
    @abstractmethod
    def dual_norm(self) -> float:
        """An upper bound of the dual local norm of a loss."""

    @property
    def expected(self) -> Array | None:
        """m: a public loss, in the shape of a decision, that FTRL adds to the sum; None for 0."""
        return None

    @property
    def surprise(self) -> float:
        """An upper bound of the dual local norm of a loss less the expected one."""
        return self.dual_norm

    def learning_rate(self, horizon: int) -> float:
        """The step size eta with the least bound."""
        return _ratio(np.sqrt(2 * self.range / horizon), self.surprise)

    def learning_bound(self, horizon: int, learning_rate: float) -> float:
        """The regret of `horizon` rounds without noise; where all losses act alike on the set there is none."""
        if not self.surprise:
            return 0.0
        return self.range / learning_rate + learning_rate * horizon * self.surprise**2 / 2

    @property
    def steadiness(self) -> tuple[float, float] | None:
        """(c, G) where R is 1/c strongly convex in some norm over the whole set, and G the largest dual norm of a loss.

        It is what a bound against losses that react asks for; None where there is no such norm, or none is known.
        """
        return None

    def noise_size(self, noise: Noise, width: float) -> float:
        """An upper bound of E |Z|* in the dual of the norm of `steadiness`; `width` is E max <Z, x> over the set."""
        return float("inf")

    @property
    def unproved(self) -> str:
        """Why `learning_bound` is infinite, where it is."""
        return f"the regularizer {self.name} does not state its range and dual_norm"

    def noise_bound(self, noise: Noise, learning_rate: float) -> float:
        """An upper bound of E max <-Z, x> - (R(x) - min R)/eta over the set; infinite where none better is known."""
        return float("inf")


def _ratio(a: float, b: float) -> float:
    """a/b as a step size: 1 where the set is a point or all losses act alike, so that nothing is to be learnt."""
    return float(a / b) if a > 0 and b > 0 else 1.0
