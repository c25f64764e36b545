"""Rows of the price of privacy, measured by simulation, one task each: here, or spread over processes by a sweep."""

import os
import sys
import tempfile
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from dpcvx.experiments.looks import looks
from dpcvx.experiments.losses import Losses
from dpcvx.experiments.simulation import ProgressBar, simulate
from dpcvx.experiments.sweep.task import sweep
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.sets.sizes import sizes_of
from dpcvx.storage.fingerprint import fingerprint
from dpcvx.studies.price.contenders import Contender
from dpcvx.studies.price.grid import Grid
from dpcvx.studies.price.rows import PriceRow


def measure_all(X: DecisionSet, Y: LossSet, grid: Grid, progress: bool | None) -> list[PriceRow]:
    """All rows of the grid, one after the other."""
    tasks = grid.tasks()
    show = sys.stderr.isatty() if progress is None else progress
    rows, done = [], 0
    with ProgressBar(sum(task.horizon for task in tasks), sys.stderr if show else None) as bar:
        for task in tasks:
            rows.append(measure(X, Y, task, grid))
            done += task.horizon
            bar.show(done)
    return rows


def sweep_all(
    X: DecisionSet,
    Y: LossSet,
    grid: Grid,
    folder: str | os.PathLike[str] | None,
    workers: int,
    progress: bool | None,
) -> list[PriceRow]:
    """The same rows by so many processes, kept in the folder of a sweep; without one, in a folder that goes away."""
    if folder is None:
        with tempfile.TemporaryDirectory() as passing:
            return sweep_all(X, Y, grid, passing, workers, progress)
    games = {horizon: _game(X, Y, grid, horizon) for horizon in grid.horizons}

    def price_row(seed: int, game: str, **wanted: Any) -> dict[str, Any]:
        row = asdict(measure(X, Y, Contender(**wanted), grid))
        return {name: value for name, value in row.items() if name not in wanted}

    settings = [asdict(task) | {"game": games[task.horizon]} for task in grid.tasks()]
    found = sweep(price_row, settings, [grid.seed], folder=folder, workers=workers, progress=progress).rows
    # fields come back from the files with the types they had
    return [PriceRow(**{field.name: row[field.name] for field in fields(PriceRow)}) for row in found]  # type: ignore[arg-type]


def measure(X: DecisionSet, Y: LossSet, task: Contender, grid: Grid) -> PriceRow:
    """Play one learner on all losses; the row of those that were worst for it."""
    made = task.make(X, Y)
    replicas = grid.replicas if made.draws else 1
    played = _losses(X, Y, grid, task.horizon)
    runs = [simulate(made.learner, each, replicas, grid.seed, checkpoints=1, progress=False) for each in played]
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
        idle=max(_idle(X, each) for each in played),
        largest=task.horizon * sizes_of(X, Y).variation,
    )


def _losses(X: DecisionSet, Y: LossSet, grid: Grid, horizon: int) -> list[Losses]:
    return [generate(X, Y, horizon, seed=grid.seed) for generate in grid.losses]


def _idle(X: DecisionSet, losses: Losses) -> float:
    """The regret of staying at the center."""
    total = np.zeros(losses.shape)
    for loss in losses:
        total += loss
    return float(np.sum(total * X.center)) + float(X.support(-total))


def _game(X: DecisionSet, Y: LossSet, grid: Grid, horizon: int) -> str:
    """What tells games of one length apart, so that a folder never answers for another one."""
    played = (part for losses in _losses(X, Y, grid, horizon) for part in (losses.name, losses))
    return fingerprint(f"{grid.replicas}", looks(X), looks(Y), *played)[:16]
