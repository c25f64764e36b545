"""The two tables of the paper, measured: earlier methods, the paper's, ours and none private, with fitted exponents.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

import itertools
import os

from dpcvx.experiments.progress import progress_bar
from dpcvx.studies.paper_tables.ranges import FULL, QUICK, Ranges, Scale
from dpcvx.studies.paper_tables.rows import LAYOUTS, Cell, Layout, Row, Section, Table, plan, table
from dpcvx.studies.paper_tables.runs import play_all
from dpcvx.studies.paper_tables.text import render, table_cells, to_pandas

__all__ = [
    "FULL",
    "LAYOUTS",
    "QUICK",
    "Cell",
    "Layout",
    "Ranges",
    "Row",
    "Scale",
    "Section",
    "Table",
    "paper_tables",
    "render",
    "table_cells",
    "to_pandas",
]


def paper_tables(
    scale: Scale,
    folder: str | os.PathLike[str],
    *,
    layouts: tuple[Layout, ...] = LAYOUTS,
    workers: int | None = None,
    progress: bool | None = None,
) -> tuple[Table, ...]:
    """Run all that the tables need, and fit their exponents.

    Args:
        scale: `QUICK` (minutes), `FULL` (an hour), or sizes of your own.
        folder: where the runs are kept; the same call after an interruption goes on from there.
        layouts: which tables.
        workers, progress: see `sweep`.
    """
    methods = sum(len(problem.methods) for layout in layouts for problem in layout.problems)
    with progress_bar(methods, progress) as bar:
        told = itertools.count()
        planned = [plan(layout, scale, lambda name: bar.tell(f"planning {name}", next(told))) for layout in layouts]
    runs = {point: row.ranges.replicas for rows in planned for row in rows for point in row.points()}
    results = play_all(runs, folder, workers=workers, progress=progress)
    return tuple(table(layout, rows, results) for layout, rows in zip(layouts, planned, strict=True))
