"""How the regret of private bandits grows with rounds, dimension and barrier parameter, beside the theory."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcvx.experiments.exponents import Exponent, fit_exponent
from dpcvx.learners import Exp2, SCRiBLe
from dpcvx.studies.bandit_prices.contests import (
    LEVEL,
    Contest,
    ContestRow,
    extreme,
    hardest,
    polygon,
    second_moment,
)
from dpcvx.studies.bandit_prices.tables import ALL_FACTORS, ARM_FACTORS, arm_row, ball_row, body_contest
from dpcvx.studies.playing_sets import arms, cube

EXPECTED = (0.4, 0.65)  # where the exponent in T is expected, after division by sqrt(ln T)
GENTLE = 4.0  # the epsilon at which dimensions are compared: at 1, regret is soon the largest there is


def root_log(size: float) -> float:
    """sqrt(ln size), the factor of the bounds beside the power."""
    return math.sqrt(math.log(size))


@dataclass(frozen=True)
class Growth:
    """One fitted power law.

    Attributes:
        name: who plays what.
        over: T, n or nu.
        sizes, means, errors: mean regrets and their standard errors.
        exponent: the fitted one.
        theory: that of the proved bound; not a number where none is proved.
        is_divided: whether sqrt(ln size) was divided out before.
    """

    name: str
    over: str
    sizes: tuple[float, ...]
    means: tuple[float, ...]
    errors: tuple[float, ...]
    exponent: Exponent
    theory: float
    is_divided: bool


def growth_over_rounds(horizons: Sequence[int], replicas: int) -> list[Growth]:
    """Ten arms by all learners but the paper's, and SCRiBLe on a ball, at their hardest gap for every T."""
    return [
        arm_growth("EXP2 by moments", "", 1.0, horizons, replicas),
        arm_growth("log-barrier", "", 10.0, horizons, replicas),
        arm_growth("log-barrier", "", 1.0, horizons, replicas),
        arm_growth("log-barrier", ", batches", 1.0, horizons, replicas),
        arm_growth("entropy and barrier", "", 1.0, horizons, replicas),
        arm_growth("adaptive", ", batches", 1.0, horizons, replicas, theory=math.nan),
        ball_growth(1.0, horizons, replicas),
    ]


def arm_growth(
    kind: str, batch: str, epsilon: float, horizons: Sequence[int], replicas: int, theory: float = 0.5
) -> Growth:
    """Ten arms over T, with all factors: the largest gaps, which small factors do not reach, are worst for some."""
    rows = [(T, arm_row(kind, batch, T, epsilon, replicas, factors=ALL_FACTORS)) for T in horizons]
    return _growth(f"10 arms, {kind}{batch}, epsilon {epsilon:g}", "T", rows, theory, root_log)


def ball_growth(epsilon: float, horizons: Sequence[int], replicas: int, size: int = 5) -> Growth:
    """SCRiBLe on a ball over T."""
    rows = [(T, ball_row(size, "", T, epsilon, replicas)) for T in horizons]
    return _growth(f"ball N = {size}, SCRiBLe, epsilon {epsilon:g}", "T", rows, 0.5, root_log)


def growth_over_sizes(
    horizon: int, counts: Iterable[int], dims: Iterable[int], sides: Iterable[int], arm_replicas: int, replicas: int
) -> list[Growth]:
    """Regret against the number of arms, the dimension of cubes and simplices, and the sides of a polygon.

    The bound of EXP2 is of order sqrt(n T ln|A|), that of SCRiBLe n sqrt(nu T ln T); nu is n on cubes and simplices.
    """
    counts, dims, sides = list(counts), list(dims), list(sides)
    few = [(n, arm_row("EXP2 by moments", "", horizon, 1.0, arm_replicas, n, ALL_FACTORS)) for n in counts]
    fewer = [(n, arm_row("log-barrier", "", horizon, 1.0, arm_replicas, n, ALL_FACTORS)) for n in counts]
    return [
        _growth("arms, EXP2 by moments", "n", few, 0.5, root_log),
        _growth("arms, log-barrier", "n", fewer, 0.5),
        _growth("cubes, EXP2 by moments", "n", [(n, _corners(n, horizon, replicas)) for n in dims], 1.0),
        _growth("cubes, SCRiBLe", "n", [(n, _cube(n, horizon, replicas)) for n in dims], 1.5),
        _growth("simplices, SCRiBLe", "n", [(n, _simplex(n, horizon, replicas)) for n in dims], 1.5),
        _growth("polygons, SCRiBLe", "nu", [(m, _polygon(m, horizon, replicas)) for m in sides], 0.5),
    ]


def _growth(
    name: str,
    over: str,
    measured: Sequence[tuple[int, ContestRow]],
    theory: float,
    divide: Callable[[float], float] | None = None,
) -> Growth:
    sizes = tuple(float(size) for size, _ in measured)
    rows = [row for _, row in measured]
    exponent = fit_exponent(sizes, [row.regrets for row in rows], divide=divide, level=LEVEL)
    means, errors = tuple(row.mean for row in rows), tuple(row.standard_error for row in rows)
    return Growth(name, over, sizes, means, errors, exponent, theory, divide is not None)


def _corners(n: int, horizon: int, replicas: int) -> ContestRow:
    """EXP2 on the corners of a cube, at multiples of its gap sqrt(n ln|A| V/T)."""
    sets = cube(n)
    gap = n * math.sqrt(math.log(2) * second_moment(sets, GENTLE) / horizon)
    losses = hardest(np.full(n, 1 / n), gap, ARM_FACTORS)
    contest = Contest(f"cube N = {n}", sets, horizon, GENTLE, losses, replicas)
    return contest.row("EXP2 by moments", Exp2(*sets, horizon, tuning="moments"), batch=1)


def _cube(n: int, horizon: int, replicas: int) -> ContestRow:
    sets = cube(n)
    contest = body_contest(f"cube N = {n}", sets, np.full(n, 1 / n), horizon, GENTLE, replicas)
    return contest.row("SCRiBLe", SCRiBLe(*sets, horizon), batch=1)


def _simplex(n: int, horizon: int, replicas: int) -> ContestRow:
    sets = arms(n + 1)
    contest = body_contest(f"{n + 1} arms", sets, extreme(sets), horizon, GENTLE, replicas)
    return contest.row("SCRiBLe", SCRiBLe(*sets, horizon), batch=1)


def _polygon(sides: int, horizon: int, replicas: int) -> ContestRow:
    sets = polygon(sides)
    contest = body_contest(f"{sides} sides", sets, extreme(sets), horizon, GENTLE, replicas)
    return contest.row("SCRiBLe", SCRiBLe(*sets, horizon), batch=1)
