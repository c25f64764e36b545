"""The columns of the tables: which runs an exponent is fitted to, and in which regime that means something.

A run counts in the regime where theory speaks: where the term that the noise adds is below half of the square root, for
the exponent of regret in T; where that term is the larger one, for the exponents of the price; and always where the
proved bound is at most half of the largest regret. Where too few sizes remain there is no number, and the
column says from which T on there is one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice

from dpcvx.studies.paper_tables.methods import NON_PRIVATE, Method, Problem, Promise, promise
from dpcvx.studies.paper_tables.ranges import Ranges, halvings

LEAST = 3  # epsilons or N of a fit
HORIZONS = 4  # of a fit in T: a factor of 8, since the first are at the edge of the regime
MOST = 4  # epsilons of a fit
_FARTHEST = 40  # T up to 2 to this power is tried

Regime = Callable[[Promise], bool]


@dataclass(frozen=True)
class Point:
    """One run: a method on a problem, with its losses, N, epsilon and T."""

    problem: str
    method: str
    losses: str
    size: int
    epsilon: float
    horizon: int


@dataclass(frozen=True)
class Fit:
    """What an exponent is fitted to.

    Attributes:
        sizes: T, 1/epsilon or N; points: the runs at these.
        less: runs whose mean regret is subtracted, one for each point: the price of privacy remains.
        reason: where there is no fit, why.
    """

    sizes: tuple[float, ...] = ()
    points: tuple[Point, ...] = ()
    less: tuple[Point, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Planner:
    """Plans the fits of one method on one problem."""

    problem: Problem
    method: Method
    ranges: Ranges

    def point(self, losses: str, *, size: int = 0, epsilon: float = 0.0, horizon: int = 0) -> Point:
        """A run; what is not given is taken from the ranges."""
        ranges = self.ranges
        return Point(
            self.problem.name,
            self.method.name,
            losses,
            size or ranges.size,
            epsilon or ranges.epsilon,
            horizon or ranges.horizons[-1],
        )

    def _holds(self, regime: Regime, point: Point) -> bool:
        return regime(promise(self.problem, self.method, point.size, point.epsilon, point.horizon))

    def _needed(self, regime: Regime, at: Point, doublings: int = 0) -> str:
        """From which T on a run is in the regime, and so many doublings of T with it."""
        for k in range(self.ranges.horizons[0].bit_length() - 1, _FARTHEST):
            if self._holds(regime, replace(at, horizon=2**k)):
                return f"needs T >= 2^{k + doublings}"
        return f"needs T > 2^{_FARTHEST}"

    def in_horizon(self, losses: str, regime: Regime) -> Fit:
        """Regret in T, at those horizons that are in the regime."""
        points = [self.point(losses, horizon=T) for T in self.ranges.horizons]
        points = [point for point in points if self._holds(regime, point)]
        if len(points) < HORIZONS:
            return Fit(reason=self._needed(regime, self.point(losses), HORIZONS - 1))
        return Fit(tuple(float(point.horizon) for point in points), tuple(points))

    def in_epsilon(self, losses: str, regime: Regime) -> Fit:
        """Regret in 1/epsilon, at the largest epsilons that are in the regime."""
        if not self.method.private:
            return Fit(reason="-")
        tried = [self.point(losses, epsilon=e, horizon=self.ranges.single) for e in halvings(self.ranges.epsilon)]
        points = list(islice((point for point in tried if self._holds(regime, point)), MOST))
        if len(points) < LEAST:
            return Fit(reason=self._needed(regime, tried[LEAST - 1]))
        return Fit(tuple(1 / point.epsilon for point in points), tuple(points))

    def in_size(self, losses: str, regime: Regime, epsilons: Iterable[float]) -> Fit:
        """Regret in N, at the first of the epsilons at which all N are in the regime."""
        for epsilon in epsilons:
            points = [
                self.point(losses, size=n, epsilon=epsilon, horizon=self.ranges.single) for n in self.ranges.sizes
            ]
            if all(self._holds(regime, point) for point in points):
                return Fit(tuple(float(n) for n in self.ranges.sizes), tuple(points))
        return Fit(reason=self._needed(regime, self.point(losses, size=self.ranges.sizes[-1])))

    def price_in_horizon(self, losses: str, regime: Regime) -> Fit:
        """The price in T, at the first epsilon at which most horizons are in the regime."""
        best: list[Point] = []
        for epsilon in halvings(self.ranges.epsilon):
            points = [self.point(losses, epsilon=epsilon, horizon=T) for T in self.ranges.horizons]
            points = [point for point in points if self._holds(regime, point)]
            best = max(best, points, key=len)
            if len(best) == len(self.ranges.horizons):
                break
        if len(best) < HORIZONS:
            return Fit(reason=self._needed(regime, self.point(losses), HORIZONS - 1))
        return Fit(tuple(float(point.horizon) for point in best), tuple(best))

    def less_non_private(self, fit: Fit) -> Fit:
        """The same for the price: regret less that of the learner without privacy on the same losses."""
        return replace(fit, less=tuple(replace(p, method=NON_PRIVATE, epsilon=self.ranges.epsilon) for p in fit.points))


def free(promise: Promise) -> bool:
    """Whether the term of the noise is below half of the square root."""
    return promise.meaningful and promise.price <= promise.learning / 2


def dear(promise: Promise) -> bool:
    """Whether noise costs more than learning, and the bound still says something."""
    return promise.meaningful and promise.price >= promise.learning


def meaningful(promise: Promise) -> bool:
    return promise.meaningful


def full_information_fits(planner: Planner) -> tuple[Fit, ...]:
    """Regret in T on altdrift, which attains the square root; prices on steady losses, which attain the price."""
    method, steady = planner.method, planner.problem.steady
    regret = planner.in_horizon("altdrift", free if method.additive else meaningful)
    if not method.private:
        return regret, *[Fit(reason="-")] * 3
    prices = (
        planner.price_in_horizon(steady, dear),
        planner.in_epsilon(steady, dear),
        planner.in_size(steady, dear, halvings(planner.ranges.epsilon)),
    )
    return regret, *(planner.less_non_private(fit) for fit in prices)


def bandit_fits(planner: Planner) -> tuple[Fit, ...]:
    """Regret on steady losses, where every learner pays for its learning rate and its exploration.

    A smaller gap costs each of these learners less, whose rate and exploration are fixed.
    """
    steady = planner.problem.steady
    return (
        planner.in_horizon(steady, meaningful),
        planner.in_epsilon(steady, meaningful),
        planner.in_size(steady, meaningful, (planner.ranges.epsilon,)),
    )
