"""Rows of the price of privacy, measured by simulation, one task each: here, or spread over processes by a sweep."""

import os
import tempfile
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.experiments.looks import looks
from dpcvx.experiments.losses import Losses
from dpcvx.experiments.progress import progress_bar
from dpcvx.experiments.simulation import simulate
from dpcvx.experiments.sweep.task import sweep
from dpcvx.privacy.neighbours import relation_for
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.storage.fingerprint import fingerprint
from dpcvx.studies.idle import idle_regret
from dpcvx.studies.price.comparison import Comparison
from dpcvx.studies.price.contenders import Contender
from dpcvx.studies.price.rows import PriceRow


def measure_all(X: DecisionSet, Y: LossSet, comparison: Comparison, progress: bool | None) -> list[PriceRow]:
    """All rows of the comparison, one after the other."""
    tasks = comparison.tasks()
    rows, done = [], 0
    with progress_bar(sum(task.horizon for task in tasks), progress) as bar:
        for task in tasks:
            rows.append(measure(X, Y, task, comparison))
            done += task.horizon
            bar.show(done)
    return rows


def sweep_all(
    X: DecisionSet,
    Y: LossSet,
    comparison: Comparison,
    folder: str | os.PathLike[str] | None,
    workers: int,
    progress: bool | None,
) -> list[PriceRow]:
    """The same rows by several processes, kept in the folder of a sweep, by default a temporary one."""
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return sweep_all(X, Y, comparison, temporary, workers, progress)
    games = {horizon: _game(X, Y, comparison, horizon) for horizon in comparison.horizons}

    def price_row(seed: int, game: str, **wanted: Any) -> dict[str, Any]:
        row = asdict(measure(X, Y, Contender(**wanted), comparison))
        return {name: value for name, value in row.items() if name not in wanted}

    settings = [asdict(task) | {"game": games[task.horizon]} for task in comparison.tasks()]
    found = sweep(price_row, settings, [comparison.seed], folder=folder, workers=workers, progress=progress).rows
    # fields come back from the files with the types they had
    return [PriceRow(**{field.name: row[field.name] for field in fields(PriceRow)}) for row in found]  # type: ignore[arg-type]


def measure(X: DecisionSet, Y: LossSet, task: Contender, comparison: Comparison) -> PriceRow:
    """Play one learner on all losses; the row of those that were worst for it."""
    made = task.make(X, Y, comparison.neighbours)
    replicas = comparison.replicas if made.draws else 1
    played = _losses(X, Y, comparison, task.horizon)
    runs = [simulate(made.learner, each, replicas, comparison.seed, checkpoints=1, progress=False) for each in played]
    worst = max(runs, key=lambda run: run.final)
    lower, upper = worst.band(0.9)
    return PriceRow(
        setting=task.setting,
        role=task.role,
        learner=made.name,
        horizon=task.horizon,
        epsilon=task.epsilon,
        given_epsilon=made.epsilon,
        delta=task.delta,
        losses=worst.losses,
        replicas=replicas,
        regret=worst.final,
        standard_error=float(worst.standard_error[-1]) if made.draws else 0.0,
        lower=float(lower[-1]),
        upper=float(upper[-1]),
        bound=None if worst.bound is None else float(worst.bound.total),
        idle=max(idle_regret(X, _sum(each)) for each in played),
        largest=task.horizon * sizes_of(X, Y).variation,
    )


def _losses(X: DecisionSet, Y: LossSet, comparison: Comparison, horizon: int) -> list[Losses]:
    return [generate(X, Y, horizon, seed=comparison.seed) for generate in comparison.losses]


def _sum(losses: Losses) -> Array:
    total = np.zeros(losses.shape)
    for loss in losses:
        total += loss
    return total


def _game(X: DecisionSet, Y: LossSet, comparison: Comparison, horizon: int) -> str:
    """What tells games of one length apart, so that a folder never answers for another one."""
    played = (part for losses in _losses(X, Y, comparison, horizon) for part in (losses.name, losses))
    by = relation_for(comparison.neighbours, Y).fingerprint
    return fingerprint(f"{comparison.replicas}{'' if by == 'replace' else by}", looks(X), looks(Y), *played)[:16]
