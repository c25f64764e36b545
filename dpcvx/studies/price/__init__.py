"""The price of privacy on a declared set: regret with and without it, over epsilon and the number of rounds.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

import os
import time
from collections.abc import Iterable

from dpcvx.arguments import whole
from dpcvx.experiments.progress import progress_bar
from dpcvx.privacy.neighbours import Neighbours, relation_for
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.studies.price.comparison import HARD, Comparison, Generator
from dpcvx.studies.price.free import Threshold, bound_threshold, measured_threshold
from dpcvx.studies.price.measuring import measure_all, sweep_all
from dpcvx.studies.price.result import PriceOfPrivacy
from dpcvx.studies.price.rows import PriceRow
from dpcvx.studies.settings import FULL_INFORMATION, SETTINGS

__all__ = ["BEYOND", "HARD", "SETTINGS", "PriceOfPrivacy", "PriceRow", "Threshold", "price_of_privacy"]

BEYOND = 10**6  # rounds for which the bounds are asked where less was measured


def price_of_privacy(
    X: DecisionSet,
    Y: LossSet,
    epsilons: float | Iterable[float] = (0.1, 0.3, 1, 3),
    horizons: int | Iterable[int] = (2**10, 2**12, 2**14),
    *,
    settings: Iterable[str] = SETTINGS,
    losses: Iterable[str | Generator] = HARD,
    replicas: int = 16,
    seed: int = 0,
    delta: float | None = None,
    neighbours: str | Neighbours = "replace",
    workers: int = 1,
    folder: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> PriceOfPrivacy:
    """What privacy costs on a set of yours: regret without it, with the default, and with the noise of the paper.

    Privacy is called free where it adds at most as much regret as learning costs and the private learner learns: where
    its worst regret is at most twice the worst regret without privacy and 3/4 of the idle player's (measured), or where
    the privacy part of the proved bound is at most its learning part (bounds); see `dpcvx.studies.price.free`.

    Args:
        X: where decisions lie.
        Y: what a loss may be.
        epsilons: the privacy of the whole sequence of actions; one number, or several.
        horizons: the rounds of a game, one number or several; learners are tuned for every one.
        settings: "full information": FTRL, the regulariser with the smallest bound. "bandit": `private_bandit`, and
            without privacy the learner with the smallest bound. The paper's: FTRL with its tree, EXP2 on arms, SCRiBLe
            with vector noise elsewhere; its rows say which epsilon that gives.
        losses: names of `dpcvx.experiments.losses.GENERATORS`, or functions f(X, Y, horizon, seed=...) of your own.
            A row shows those on which the mean regret was largest.
        replicas: runs of every learner on every sequence.
        seed: of the losses and of the learners: all runs are simulations. A cell is the same as by itself, that is as
            `simulate(FTRL(X, Y, T, epsilon), const(X, Y, T, seed=seed), replicas, seed)`.
        delta: for Gaussian noise with full information; bandits have delta = 0.
        neighbours: what one person may change: "replace", "zero-out" or a `Change`. With a `Change` the private learner
            stands beside itself without it, which protects the whole round, instead of beside the paper's.
        workers: processes among which the rows are divided; the result is the same.
        folder: where finished rows are kept, so that the same call goes on after an interruption; see `sweep`.
        progress: whether to show a progress bar on stderr; by default where that is a terminal.

    Raises:
        ValueError: where an argument is wrong.
        SweepError: where a row could not be measured by workers, or the folder belongs to something else.

    Example:
        >>> import decision_sets, dpcvx
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> price = dpcvx.price_of_privacy(
        ...     X, Y, epsilons=[1.0], horizons=[256], settings=["full information"], losses=["const"], replicas=4
        ... )
        >>> price.horizons, price.settings
        ((256,), ('full information',))
    """
    comparison = Comparison.checked(epsilons, horizons, settings, losses, replicas, seed, delta, neighbours)
    sizes_of(X, Y)  # names arguments that are no such sets
    relation_for(neighbours, Y)
    started = time.perf_counter()
    if folder is None and whole(workers, "workers") == 1:
        rows = measure_all(X, Y, comparison, progress)
    else:
        rows = sweep_all(X, Y, comparison, folder, workers, progress)
    with progress_bar(1, progress) as bar:
        bar.tell("from which epsilon on is privacy free?")
        thresholds = tuple(_thresholds(X, Y, rows, comparison)) if sizes_of(X, Y).variation else ()
    return PriceOfPrivacy(
        rows=tuple(rows),
        thresholds=thresholds,
        decision_set=X.name,
        loss_set=Y.name,
        seconds=time.perf_counter() - started,
    )


def _thresholds(X: DecisionSet, Y: LossSet, rows: list[PriceRow], comparison: Comparison) -> Iterable[Threshold]:
    """Measured ones at every horizon; by the bounds at the largest, and at one beyond."""
    last = comparison.horizons[-1]
    for setting in comparison.settings:
        yield from (measured_threshold(rows, setting, horizon) for horizon in comparison.horizons)
        for horizon in sorted({last, max(last, BEYOND)}):
            delta = comparison.delta if setting == FULL_INFORMATION else 0.0
            yield bound_threshold(X, Y, setting, horizon, delta, comparison.neighbours)
