"""Simulations side by side: one table, one picture."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcvx import markup
from dpcvx.arguments import kind_of
from dpcvx.errors import ArgumentError
from dpcvx.experiments.axes import axes_or_new
from dpcvx.experiments.data_frame import data_frame
from dpcvx.experiments.exported import Cells, to_csv, to_markdown
from dpcvx.experiments.simulation_result import Simulation
from dpcvx.experiments.text_table import TextTable

_HEADER = (
    "run",
    "losses",
    "rounds",
    "replicas",
    "regret",
    "std. error",
    "5 %",
    "95 %",
    "per round",
    "over least",
    "bound",
)


@dataclass(frozen=True, eq=False)
class ComparedRuns:
    """Simulations with labels that tell them apart.

    Attributes:
        runs: the simulations by their labels, in the order in which they were given.
    """

    runs: dict[str, Simulation]

    def rows(self) -> list[dict[str, Any]]:
        """What is known of the end of each run, as plain values; `bound` is None where none is proved."""
        least = min(run.final / int(run.rounds[-1]) for run in self.runs.values())
        return [_row(label, run, least) for label, run in self.runs.items()]

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each run."""
        return data_frame(self.rows())

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows to a CSV file."""
        to_csv(self._cells(), path)

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return to_markdown(self._cells())

    def plot(self, ax: Any = None, *, level: float = 0.9, bound: bool | None = None) -> Any:
        """Draw all runs on matplotlib axes, by default new ones, and return them.

        Args:
            ax: where to draw.
            level: of the bands; see `Simulation.plot`.
            bound: whether to draw proved bounds; by default those that fit among the curves.
        """
        ax = axes_or_new(ax)
        top = max(float(run.band(level)[1].max()) for run in self.runs.values())
        for label, run in self.runs.items():
            run.plot(ax, level=level, label=label, bound=run.bound_fits(top) if bound is None else bound)
        return ax

    def _cells(self) -> Cells:
        return _HEADER, [[_shown(value) for value in row.values()] for row in self.rows()]

    def __repr__(self) -> str:
        return f"ComparedRuns({', '.join(self.runs)})"

    def __str__(self) -> str:
        header, rows = self._cells()
        sides = "<<" + ">" * (len(header) - 2)
        lines = [list(header), *rows]
        return "\n".join(TextTable.fitting(lines, sides).lines(lines))

    def _repr_html_(self) -> str:
        header, rows = self._cells()
        return markup.notebook(markup.table(rows, header, "regret at the end of each run"))

    def __len__(self) -> int:
        return len(self.runs)


def compare(*simulations: Simulation | Iterable[Simulation] | Mapping[str, Simulation]) -> ComparedRuns:
    """Put simulations side by side: print the result, `plot()` it, or take it `to_pandas()`.

    Args:
        *simulations: one by one, in a list, or in a dict. In a dict they are called by its keys, otherwise by learner,
            epsilon and counter, and by their losses and a number where that does not tell them apart.

    Raises:
        ArgumentError: where there is none, or something is no simulation.

    Example:
        >>> import decision_sets, dpcvx, numpy as np
        >>> X, Y = decision_sets.simplex(3), decision_sets.loss_box(3)
        >>> losses = np.tile([-1.0, 1.0, 1.0], (200, 1))
        >>> runs = [dpcvx.simulate(dpcvx.FTRL(X, Y, 200, epsilon), losses, replicas=4) for epsilon in (None, 1.0)]
        >>> [row["rounds"] for row in dpcvx.compare(runs).rows()]
        [200, 200]
    """
    only = simulations[0] if len(simulations) == 1 else simulations
    if isinstance(only, Mapping):
        return ComparedRuns({str(label): run for label, run in zip(only, _checked(only.values()), strict=True)})
    runs = _checked(only if isinstance(only, Iterable) else simulations)
    labels = [run.label for run in runs]
    if len(set(labels)) < len(labels):
        labels = [f"{label} on {run.losses}" for label, run in zip(labels, runs, strict=True)]
    seen: dict[str, int] = {}
    found = {}
    for label, run in zip(labels, runs, strict=True):
        seen[label] = seen.get(label, 0) + 1
        found[label if labels.count(label) == 1 else f"{label}, {seen[label]}"] = run
    return ComparedRuns(found)


def _checked(given: Iterable[Any]) -> list[Simulation]:
    runs = list(given)
    if not runs:
        raise ArgumentError("compare needs at least one simulation.")
    for run in runs:
        if not isinstance(run, Simulation):
            raise ArgumentError(f"compare takes what simulate returns, not {kind_of(run)}.")
    return runs


def _row(label: str, run: Simulation, least: float) -> dict[str, Any]:
    rounds = int(run.rounds[-1])
    lower, upper = (float(end[-1]) for end in run.band())
    values = (
        label,
        run.losses,
        rounds,
        run.replicas,
        run.final,
        float(run.standard_error[-1]),
        lower,
        upper,
        run.final / rounds,
        run.final / rounds / least if least > 0 else np.nan,
        None if run.bound is None else float(run.bound.total),
    )
    return dict(zip(_HEADER, values, strict=True))


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
