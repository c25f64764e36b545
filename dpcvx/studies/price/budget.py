"""How many rounds fit into so many seconds: the speed of the learners, tried before a comparison is measured."""

import time
from dataclasses import replace

from dpcvx.experiments.progress import progress_bar
from dpcvx.experiments.simulation import simulate
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies.price.comparison import Comparison
from dpcvx.studies.price.contenders import Made

_SHORT, _LONG = 4, 20  # rounds of two trial runs: their difference tells the time of a round from that of the start
_CHOICES = [*((4**k // 16, 4**k // 4, 4**k) for k in (7, 6, 5, 4)), (64,), (16,)]


def affordable_horizons(
    X: DecisionSet, Y: LossSet, comparison: Comparison, seconds: float, progress: bool | None = False
) -> tuple[int, ...]:
    """Horizons T/16, T/4 and T for which the comparison takes about so long; one short horizon where learners are slow.

    Args:
        X, Y: the sets.
        comparison: what is to be measured; its own horizons do not matter.
        seconds: how long it may take on one core.
        progress: whether to show progress on stderr; None shows it on a terminal.
    """
    comparison = replace(comparison, horizons=(max(_CHOICES[0]),))
    sequences, start, a_round = len(comparison.losses), 0.0, 0.0
    tasks = comparison.tasks()
    with progress_bar(len(tasks), progress) as bar:
        for number, task in enumerate(tasks):
            bar.tell("how fast is it?", number)
            began = time.process_time()
            made = task.make(X, Y, comparison.neighbours)
            making = time.process_time() - began
            short, long = (_seconds(X, Y, comparison, made, rounds) for rounds in (_SHORT, _LONG))
            each = max(long - short, 0.0) / (_LONG - _SHORT)
            start += making + sequences * max(short - _SHORT * each, 0.0)
            a_round += sequences * each
    for horizons in _CHOICES:
        if len(horizons) * start + sum(horizons) * a_round <= seconds:
            return horizons
    return _CHOICES[-1]


def _seconds(X: DecisionSet, Y: LossSet, comparison: Comparison, made: Made, rounds: int) -> float:
    """The processor time that so many rounds take."""
    losses = comparison.losses[0](X, Y, rounds, seed=comparison.seed)
    replicas = comparison.replicas if made.draws else 1
    began = time.process_time()
    simulate(made.learner, losses, replicas, comparison.seed, checkpoints=1, progress=False)
    return time.process_time() - began
