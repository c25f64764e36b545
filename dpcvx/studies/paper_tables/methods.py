"""What the tables compare: problems, and the methods that are run on each of them.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies.playing_sets import Pair

Make = Callable[[DecisionSet, LossSet, int, float], Any]  # X, Y, T, epsilon -> a learner, as a simulation
NON_PRIVATE = "non-private"


@dataclass(frozen=True)
class Method:
    """A row of a table.

    Attributes:
        name: how it is called.
        theory: its exponents, one for each column of the table; "" where there is none.
        make: the learner; None where the method is not run.
        judge: a learner with a proved bound by which to tell whether T is large enough; by default the learner itself.
        guarantee: of a learner and the epsilon that was asked for, the epsilon that it gives where a loss is replaced;
            by default that of its certificate.
        additive: whether the noise adds a term to the regret, instead of a factor.
        logarithm: whether its regret has a factor sqrt(ln T).
        reason: why it is not run.
    """

    name: str
    theory: tuple[str, ...]
    make: Make | None = None
    judge: Make | None = None
    guarantee: Callable[[Any, float], float] | None = None
    additive: bool = False
    logarithm: bool = False
    reason: str = ""

    @property
    def private(self) -> bool:
        return self.name != NON_PRIVATE


@dataclass(frozen=True)
class Problem:
    """A line of the paper's table.

    Attributes:
        declare: decisions and losses for an N.
        stated: the bounds that the paper states: previous best, its own, best without privacy.
        methods: its rows.
        steady: losses that always favour one decision, by all its entries, so that noise costs as much as it can.
    """

    name: str
    declare: Callable[[int], Pair]
    stated: tuple[str, str, str]
    methods: tuple[Method, ...]
    steady: str = "const"

    def method(self, name: str) -> Method:
        return next(method for method in self.methods if method.name == name)


@dataclass(frozen=True)
class Promise:
    """What is proved of a learner: its bound, the part of it without noise, and the largest possible regret."""

    total: float
    learning: float
    largest: float

    @property
    def price(self) -> float:
        return self.total - self.learning

    @property
    def meaningful(self) -> bool:
        """Whether the bound is at most half of the largest regret."""
        return self.total <= self.largest / 2


@lru_cache(maxsize=4096)
def promise(problem: Problem, method: Method, size: int, epsilon: float, horizon: int) -> Promise:
    """What is proved of the method, or of the learner by which it is judged."""
    make = method.judge or method.make
    assert make is not None
    learner = make(*problem.declare(size), horizon, epsilon)
    bound = learner.regret_bound
    total = getattr(learner, "uncapped_bound", math.inf if bound is None else bound.total)
    return Promise(total, math.nan if bound is None else bound.learning, horizon * learner.sizes.variation)
