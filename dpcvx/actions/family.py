"""Distributions q(a) proportional to exp(-<covector, a>) over a finite set A of points, and how to explore it.

A family answers for a sample, the mean and the second moment E_q[aa'] of q, for ln |A| and for the rank of the span of
A. Lists of points do so by enumeration; the corners of a box, the k-sets of n things and the paths of a graph are far
too many for that, and have formulas. `play` draws from p = (1 - mixing) q + mixing mu, mu the exploration, together
with P^+ a for the drawn a and P = E_p[aa'], from which a bandit learner estimates its loss: E_p[P^+ a <l, a>] = l on
the span.

A family also recognises the boxes, cut by a sum or not, whose corners it holds: `of_bounds`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError

EXPLORATIONS = ("uniform", "design")
Mixing = float | Array  # the share of exploration, the same for all leading axes or one for each
LEFT_OUT = "exploration leaves out directions: the actions it draws do not span all actions."


class Bounds(NamedTuple):
    """The polytope { lower <= x <= upper }, or { lower <= x <= upper, sum x = total }, in R^N.

    Attributes:
        lower, upper: (N,), as tight as the sum allows.
        total: None without an equation.
        is_simplex: whether it is { x >= 0, sum x = total }: no upper bound cuts anything off.
    """

    lower: Array
    upper: Array
    total: float | None
    is_simplex: bool


@dataclass(frozen=True, eq=False)
class Exploration:
    """A distribution mu on the actions.

    Attributes:
        name: what it is called in a summary.
        moment: Sigma = E_mu[aa'], (N, N); None where the family does without.
        reach: an upper bound of max a'Sigma^+ a over the actions.
        mean: E_mu[a], (N,).
        weights: probabilities of the actions of a list; None where mu is uniform, or has steps.
        steps: of paths, the probability of each edge on paths at its tail; None where mu is uniform.
    """

    name: str
    moment: Array | None
    reach: float
    mean: Array
    weights: Array | None = None
    steps: Array | None = None


class ActionFamily(ABC):
    """Exponential weights over a finite set A in R^N; covectors (..., N) stand on leading axes.

    Attributes:
        size: N.
        rank: dimension of the span of A.
        log_count: ln |A|.
        is_arms: whether A is the unit vectors, up to one common factor.
    """

    size: int
    rank: int
    log_count: float
    is_arms = False

    @classmethod
    def of_bounds(cls, bounds: Bounds) -> "ActionFamily | None":
        """The corners of a polytope given by bounds and at most one sum; None where this is not their family."""
        return None

    def listed(self) -> Array | None:
        """All actions, one a row, for a family that is played faster as a list where it is small; otherwise None."""
        return None

    @abstractmethod
    def sample(self, covector: Array, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        """Draws from q, (*shape, ..., N)."""

    @abstractmethod
    def mean(self, covector: Array) -> Array:
        """E_q[a], (..., N)."""

    @abstractmethod
    def second_moment(self, covector: Array) -> Array:
        """E_q[aa'], (..., N, N)."""

    @abstractmethod
    def log_partition(self, covector: Array) -> Array:
        """ln of the sum of exp(-<covector, a>) over all actions, (...)."""

    def partition(self, covector: Array) -> tuple[Array, Array]:
        """Both `log_partition` and `mean`, which most families find at once."""
        return self.log_partition(covector), self.mean(covector)

    @abstractmethod
    def ends(self, covector: Array) -> tuple[Array, Array]:
        """The least and the largest <covector, a> over all actions, (...)."""

    @property
    @abstractmethod
    def design(self) -> Exploration:
        """The exploration with the smallest reach that is known, found once."""

    def exploration(self, wanted: Any) -> Exploration:
        """The exploration of that name, or the one with given probabilities.

        Raises:
            ValueError: where the name is unknown, or the family takes no probabilities.
        """
        if isinstance(wanted, Exploration):
            return wanted
        if isinstance(wanted, str) and wanted in EXPLORATIONS:
            return self.design
        if isinstance(wanted, str):
            raise ArgumentError(f'exploration must be "uniform", "design" or probabilities, not {wanted!r}.')
        raise ArgumentError(
            f"exploration by probabilities needs a list of actions; there are about e^{self.log_count:.3g} here."
        )

    def values(
        self, box: tuple[Array, Array], ranges: Callable[[Array], tuple[Array, Array]]
    ) -> tuple[float, float] | None:
        """The least and the largest <loss, action>, from outside; None where its hull knows them as well.

        Args:
            box: the least and the largest value of each entry of a loss.
            ranges: gives the least and the largest <loss, point> over all losses, for points (k, N).
        """
        return None

    @property
    def level(self) -> bool:
        """Whether some e has <e, a> = 1 for all actions, so that a constant is a linear function of them."""
        return False

    def mixed(self, covector: Array, mixing: float, exploration: Exploration) -> Array:
        """p of the actions one by one, (..., k), where they are listed.

        Raises:
            ValueError: where there are too many.
        """
        raise ArgumentError(f"There are about e^{self.log_count:.3g} actions; their probabilities are not listed.")

    def play(
        self, covector: Array, mixing: Mixing, exploration: Exploration, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """One draw a from p for each covector, and P^+ a."""
        explores = rng.random(covector.shape[:-1]) < mixing
        action = self.sample(np.where(explores[..., None], 0.0, covector), rng)
        return action, self.measure(covector, mixing, exploration, action)

    def measure(self, covector: Array, mixing: Mixing, exploration: Exploration, action: Array) -> Array:
        """P^+ a for actions (..., N)."""
        return np.asarray(np.linalg.solve(self._mixed_moment(covector, mixing, exploration), action[..., None])[..., 0])

    def centered(
        self, covector: Array, mixing: Mixing, exploration: Exploration, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """One draw a from p, and a covector that differs by a constant from Cov_p^+ (a - E_p a) on all actions.

        Where the actions are on a level, P^+ a is one: <P^+ a, b> = 1 + (a - m)'Cov^+ (b - m), as in regression with
        an intercept.
        """
        assert self.level
        return self.play(covector, mixing, exploration, rng)

    def _mixed_moment(self, covector: Array, mixing: Mixing, exploration: Exploration) -> Array:
        """P."""
        assert exploration.moment is not None
        share = np.asarray(mixing)[..., None, None]
        return np.asarray((1 - share) * self.second_moment(covector) + share * exploration.moment)
