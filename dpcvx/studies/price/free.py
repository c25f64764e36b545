"""From which epsilon on privacy is free: it adds at most as much regret as learning costs anyway, and one learns.

measured   worst regret of the private learner <= twice the worst regret without privacy, and <= 3/4 of what the idle
           player pays, over the losses tried: a learner that pays about as much as one who never moves has learned
           nothing, and what it is compared with does not make that free. Between two epsilons that were measured the
           difference is interpolated, linearly in log epsilon. It says nothing where twice the regret without privacy
           is as much as the idle player pays
bounds     full information: E max <Z, x> <= the learning part of the bound, Z the noise of a prefix (by Monte Carlo)
           bandit: the smallest proved bound with noise <= twice the smallest one without

Bounds hold for any horizon and for all losses fixed in advance, so they alone reach beyond what was measured.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dpcvx.learners import FTRL, PrivateBandit
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.privacy.plan import plan
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.studies.price.contenders import PRIVATE, WITHOUT, ranked_bandits
from dpcvx.studies.price.rows import PriceRow
from dpcvx.studies.settings import BANDIT, FULL_INFORMATION
from dpcvx.studies.thresholds import crossing, mean_maximum

LEARNED = 0.75  # of what the idle player pays: who pays less has learned
SEARCHED = (1e-4, 1e4)  # epsilons between which bounds are compared


@dataclass(frozen=True)
class Threshold:
    """The least epsilon at which privacy is free, in one setting and over one horizon.

    Attributes:
        epsilon: 0 where privacy was free at all epsilons looked at, infinity where at none.
        looked_at: the least and the largest of these.
        source: "measured" or "bounds".
        vacuous: whether it says nothing, since the bounds behind it are at least the largest possible regret, or since
            the rounds were too few to learn much without privacy.
    """

    setting: str
    horizon: int
    epsilon: float
    looked_at: tuple[float, float]
    source: str
    vacuous: bool = False

    def spoken(self, beyond: bool) -> str:
        """A sentence; `beyond` says that nothing was measured at this horizon."""
        rounds = f"T = {self.horizon}" if self.horizon < 10**6 else f"T = {self.horizon:.3g}".replace("e+0", "e")
        said = f"{rounds}, by the proved bounds{' alone, beyond what was measured' if beyond else ''}"
        empty = "they say nothing, being at least the largest possible regret"
        if self.source == "measured":
            said = f"{rounds}, measured"
            empty = "too few rounds to tell; even without privacy, half of what the idle player pays remains"
        if self.vacuous:
            return f"{said}: {empty}."
        least, largest = self.looked_at
        if self.epsilon == 0:
            return f"{said}: privacy is free at all epsilons tried, down to {least:g}."
        if math.isinf(self.epsilon):
            return f"{said}: privacy is not free at any epsilon tried, up to {largest:g}."
        return f"{said}: privacy is free down to epsilon {self.epsilon:.2g}."


def measured_threshold(rows: Iterable[PriceRow], setting: str, horizon: int) -> Threshold:
    """From the rows of one setting and horizon."""
    own = [row for row in rows if (row.setting, row.horizon) == (setting, horizon)]
    (alone,) = (row for row in own if row.role == WITHOUT)
    twice = alone.regret + max(alone.regret, 0.0)
    allowed = min(twice, LEARNED * alone.idle)
    excess = sorted((row.epsilon or 0.0, row.regret - allowed) for row in own if row.role == PRIVATE)
    found = 0.0
    for (below, too_much), (above, spare) in zip(excess, [*excess[1:], (math.inf, 0.0)], strict=True):
        if too_much > 0 and math.isinf(above):
            found = math.inf
        elif too_much > 0 >= spare:
            found = below * (above / below) ** (too_much / (too_much - spare))
    return Threshold(setting, horizon, found, (excess[0][0], excess[-1][0]), "measured", twice >= alone.idle)


def bound_threshold(
    X: DecisionSet,
    Y: LossSet,
    setting: str,
    horizon: int,
    delta: float = 0.0,
    neighbours: str | Neighbours = "replace",
) -> Threshold:
    """From proved bounds alone."""
    price, learning = _BOUNDS[setting](X, Y, horizon, delta, neighbours)
    largest = horizon * sizes_of(X, Y).variation
    vacuous = 0 < largest <= 2 * learning * (1 + 1e-9)
    return Threshold(setting, horizon, crossing(price, learning, SEARCHED), SEARCHED, "bounds", vacuous)


Price = tuple[Callable[[float], float], float]


def _full_information(X: DecisionSet, Y: LossSet, horizon: int, delta: float, neighbours: str | Neighbours) -> Price:
    """What noise costs at an epsilon, and what learning costs."""
    learner = FTRL(X, Y, horizon, 1.0, delta, neighbours=neighbours, seed=0)
    bound, noise = learner.regret_bound, learner.noise
    assert bound is not None
    if noise is None or not X.dim:
        return (lambda epsilon: 0.0), bound.learning
    width = mean_maximum(X, noise) / noise.deviation  # epsilon only scales the noise of one law

    def price(epsilon: float) -> float:
        same = plan(Y, horizon, epsilon, delta, noise=noise.law.key, neighbours=neighbours)
        return width * same.prefix_deviation

    return price, bound.learning


def _bandit(X: DecisionSet, Y: LossSet, horizon: int, delta: float, neighbours: str | Neighbours) -> Price:
    learners = ranked_bandits(X, Y, horizon)
    learning = learners[0].uncapped_bound

    def price(epsilon: float) -> float:
        made = (PrivateBandit(learner, epsilon, neighbours=neighbours, seed=0) for learner in learners)
        return min(one.uncapped_bound for one in made) - learning

    return price, learning


_BOUNDS: dict[str, Callable[[DecisionSet, LossSet, int, float, str | Neighbours], Price]] = {
    FULL_INFORMATION: _full_information,
    BANDIT: _bandit,
}
