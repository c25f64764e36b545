"""The tables as values: what was measured, beside what the theory says.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dpcvx.arrays import Array
from dpcvx.experiments.exponents import Exponent, fit_exponent
from dpcvx.studies.paper_tables import bandits, full_information
from dpcvx.studies.paper_tables.columns import Fit, Planner, Point, bandit_fits, full_information_fits
from dpcvx.studies.paper_tables.methods import Method, Problem
from dpcvx.studies.paper_tables.ranges import Ranges, Scale, ranges_of

STEADY = "steady"  # stands for the steady losses of a problem
Results = Mapping[Point, Array]  # the regret of the replicas of every run


@dataclass(frozen=True)
class Cell:
    """An exponent, or why there is none, beside that of the theory."""

    exponent: Exponent | None
    theory: str
    reason: str = ""


@dataclass(frozen=True)
class Row:
    """A method on a problem.

    Attributes:
        method: its name.
        epsilon: what it guarantees where a loss is replaced; None without privacy.
        regrets: mean regret at the largest T, on each of the losses of the table.
        cells: one for each exponent of the table.
        reason: why it was not run; empty where it was.
    """

    method: str
    epsilon: float | None
    regrets: tuple[float, ...]
    cells: tuple[Cell, ...]
    reason: str = ""


@dataclass(frozen=True)
class Section:
    """The methods of one problem, with the bounds that the paper states, the steady losses and the sizes."""

    problem: str
    stated: tuple[str, str, str]
    steady: str
    ranges: Ranges
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """One table of the paper."""

    title: str
    losses: tuple[str, ...]
    columns: tuple[str, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Layout:
    """What a table is made of before anything is measured."""

    title: str
    losses: tuple[str, ...]
    columns: tuple[str, ...]
    problems: tuple[Problem, ...]
    fits: Callable[[Planner], tuple[Fit, ...]]


LAYOUTS = (
    Layout(
        "Table 1: full information",
        ("altdrift", STEADY),
        full_information.COLUMNS,
        full_information.PROBLEMS,
        full_information_fits,
    ),
    Layout("Table 2: bandits", (STEADY,), bandits.COLUMNS, bandits.PROBLEMS, bandit_fits),
)


@dataclass(frozen=True)
class PlannedRow:
    """A method, the runs whose regret is shown, and those to which exponents are fitted."""

    problem: Problem
    method: Method
    ranges: Ranges
    shown: tuple[Point, ...]
    fits: tuple[Fit, ...]

    def points(self) -> Iterator[Point]:
        yield from self.shown
        for fit in self.fits:
            yield from (*fit.points, *fit.less)


def plan(layout: Layout, scale: Scale, tell: Callable[[str], None] = lambda name: None) -> list[PlannedRow]:
    """The rows of a table, and all that has to be run for them; `tell` is called with the name of each method."""
    rows = []
    for problem in layout.problems:
        for method in problem.methods:
            tell(f"{problem.name}, {method.name}")
            ranges = ranges_of(scale, problem.name)
            planner = Planner(problem, method, ranges)
            run = method.make is not None
            losses = [problem.steady if name == STEADY else name for name in layout.losses]
            shown = tuple(planner.point(name) for name in losses) if run else ()
            rows.append(PlannedRow(problem, method, ranges, shown, layout.fits(planner) if run else ()))
    return rows


def table(layout: Layout, planned: list[PlannedRow], results: Results) -> Table:
    """The table, from the regrets of its runs."""
    sections = []
    for problem in layout.problems:
        own = [row for row in planned if row.problem is problem]
        rows = tuple(_row(row, results) for row in own)
        sections.append(Section(problem.name, problem.stated, problem.steady, own[0].ranges, rows))
    return Table(layout.title, layout.losses, layout.columns, tuple(sections))


def _row(planned: PlannedRow, results: Results) -> Row:
    method = planned.method
    if method.make is None:
        return Row(method.name, None, (), (), method.reason)
    regrets = tuple(float(np.mean(results[point])) for point in planned.shown)
    cells = tuple(
        _cell(fit, theory, results, _root_log if method.logarithm and k == 0 else None)
        for k, (fit, theory) in enumerate(zip(planned.fits, method.theory, strict=True))
    )
    return Row(method.name, guaranteed(planned.problem, method, planned.ranges), regrets, cells)


def _root_log(horizon: float) -> float:
    return math.sqrt(math.log(horizon))


def _cell(fit: Fit, theory: str, results: Results, divide: Callable[[float], float] | None) -> Cell:
    if not fit.points:
        return Cell(None, theory, fit.reason)
    samples = [results[point] for point in fit.points]
    if fit.less:
        samples = [sample - results[less].mean() for sample, less in zip(samples, fit.less, strict=True)]
        if min(sample.mean() for sample in samples) <= 0:
            return Cell(None, theory, "no price seen")
    return Cell(fit_exponent(fit.sizes, samples, divide=divide), theory)


def guaranteed(problem: Problem, method: Method, ranges: Ranges) -> float | None:
    """The epsilon that a method gives at the largest T where a loss is replaced; None without privacy."""
    if not method.private:
        return None
    assert method.make is not None
    learner = method.make(*problem.declare(ranges.size), ranges.horizons[-1], ranges.epsilon)
    if method.guarantee is not None:
        return method.guarantee(learner, ranges.epsilon)
    return float(learner.certificate.epsilon)
