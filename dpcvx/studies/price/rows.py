"""One line of the price of privacy: what one learner paid on the losses that were worst for it.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class PriceRow:
    """Regret of one learner over one horizon, on the worst of the losses tried.

    Attributes:
        setting: "full information" or "bandit".
        role: "without privacy", "private" (the default of the package), "in practice", "paper" (its noise), or
            "whole round" (the default of the package, where "private" protects a declared change alone).
        learner: its name.
        horizon: number of rounds.
        epsilon: what was asked for; None without privacy.
        given_epsilon: what is proved of it where one loss is replaced by any other; of "private", under its neighbours.
        delta: the delta of both epsilons.
        losses: the losses on which the mean regret was largest.
        replicas: how many runs; 1 where nothing is drawn.
        regret, standard_error: mean regret of the runs and its error; the error of one random run is NaN.
        lower, upper: nine tenths of the runs lie between these.
        bound: the proved bound of the expected regret against all losses fixed in advance; None where none is proved.
        idle: the regret of the idle player, who stays at the center of the set, on the losses that are worst for it.
        largest: an upper bound of any regret over the horizon.
    """

    setting: str
    role: str
    learner: str
    horizon: int
    epsilon: float | None
    given_epsilon: float | None
    delta: float
    losses: str
    replicas: int
    regret: float
    standard_error: float
    lower: float
    upper: float
    bound: float | None
    idle: float
    largest: float

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: every learner has at most that regret."""
        return self.bound is not None and 0 < self.largest <= self.bound * (1 + 1e-9)
