"""The runs behind the tables, each once, on several processes, and kept in a folder."""

import os
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.experiments.losses import GENERATORS
from dpcvx.experiments.simulation import simulate
from dpcvx.experiments.sweep.task import sweep
from dpcvx.studies.paper_tables import bandits, full_information
from dpcvx.studies.paper_tables.columns import Point

PROBLEMS = {problem.name: problem for problem in (*full_information.PROBLEMS, *bandits.PROBLEMS)}


def regrets(point: Point, replicas: int, seed: int = 0) -> Array:
    """The regret of independent replicas after the last round of a run; of one replica where nothing is drawn."""
    problem = PROBLEMS[point.problem]
    X, Y = problem.declare(point.size)
    method = problem.method(point.method)
    if method.make is None:
        raise ArgumentError(f"{method.name} is not run on the problem {problem.name}.")
    learner = method.make(X, Y, point.horizon, point.epsilon)
    losses = GENERATORS[point.losses](X, Y, point.horizon)
    draws = method.private or getattr(learner, "sees", "loss") == "value"
    run = simulate(learner, losses, replicas if draws else 1, seed, checkpoints=1, progress=False)
    return np.asarray(run.regret[:, -1])


def play(
    problem: str, method: str, losses: str, size: int, epsilon: float, horizon: int, replicas: int, seed: int
) -> list[dict[str, float]]:
    """The task of the sweep: a row for each replica."""
    point = Point(problem, method, losses, size, epsilon, horizon)
    return [{"regret": float(regret)} for regret in regrets(point, replicas, seed)]


def play_all(
    runs: Mapping[Point, int],
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    progress: bool | None = None,
) -> dict[Point, Array]:
    """The regrets of all runs, which are given with their replicas; those that the folder holds are not run again."""
    mixed = [list(runs)[k] for k in np.random.default_rng(0).permutation(len(runs))]  # for a fair estimate of the time
    settings = [{**asdict(point), "replicas": runs[point]} for point in mixed]
    swept = sweep(play, settings, seeds=1, folder=folder, workers=workers, progress=progress)
    found: dict[Point, list[float]] = {}
    for row in swept.rows:
        point = Point(**{name: row[name] for name in asdict(mixed[0])})  # type: ignore[arg-type]  # as they were sent
        found.setdefault(point, []).append(float(row["regret"]))  # type: ignore[arg-type]  # a number
    return {point: np.array(regret) for point, regret in found.items()}
