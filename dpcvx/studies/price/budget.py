"""How many rounds fit into so many seconds: a look at the speed of the learners before a grid is measured."""

import time
from dataclasses import replace

from dpcvx.experiments.simulation import simulate
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies.price.contenders import Made
from dpcvx.studies.price.grid import Grid

_SHORT, _LONG = 4, 20  # rounds of two runs, by which a learner's start is told from its rounds
_CHOICES = [*((4**k // 16, 4**k // 4, 4**k) for k in (7, 6, 5, 4)), (64,), (16,)]


def affordable_horizons(X: DecisionSet, Y: LossSet, grid: Grid, seconds: float) -> tuple[int, ...]:
    """Horizons T/16, T/4 and T with which the grid takes about that long; where learners are slow, a single short one.

    Args:
        X, Y: the sets.
        grid: what is to be measured; its own horizons do not matter.
        seconds: of one core.
    """
    grid = replace(grid, horizons=(max(_CHOICES[0]),))
    sequences, start, a_round = len(grid.losses), 0.0, 0.0
    for task in grid.tasks():
        began = time.process_time()
        made = task.make(X, Y)
        making = time.process_time() - began
        short, long = (_seconds(X, Y, grid, made, rounds) for rounds in (_SHORT, _LONG))
        each = max(long - short, 0.0) / (_LONG - _SHORT)
        start += making + sequences * max(short - _SHORT * each, 0.0)
        a_round += sequences * each
    for horizons in _CHOICES:
        if len(horizons) * start + sum(horizons) * a_round <= seconds:
            return horizons
    return _CHOICES[-1]


def _seconds(X: DecisionSet, Y: LossSet, grid: Grid, made: Made, rounds: int) -> float:
    """Of processor time that so many rounds take."""
    losses = grid.losses[0](X, Y, rounds, seed=grid.seed)
    replicas = grid.replicas if made.draws else 1
    began = time.process_time()
    simulate(made.learner, losses, replicas, grid.seed, checkpoints=1, progress=False)
    return time.process_time() - began
