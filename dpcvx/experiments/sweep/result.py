"""What a sweep found: its rows, their means, and how they are shown."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcvx import markup
from dpcvx.experiments.data_frame import data_frame
from dpcvx.experiments.sweep.folder import Row, SweepFolder, identity, read_rows
from dpcvx.experiments.text_table import TextTable

_LINES = 12  # settings in a printed table


@dataclass(frozen=True, eq=False)
class SweepResult:
    """The rows of a sweep.

    Attributes:
        folder: where its files are.
        rows: dicts of the setting, "seed", and what the task returned.

    Example:
        >>> import dpcvx
        >>> from pathlib import Path
        >>> rows = [{"rounds": 4, "seed": 0, "regret": 2.0}, {"rounds": 4, "seed": 1, "regret": 3.0}]
        >>> dpcvx.SweepResult(Path("folder"), rows).means()
        [{'rounds': 4, 'regret': 2.5}]
    """

    folder: Path
    rows: list[Row]

    def means(self) -> list[Row]:
        """For every setting the mean of each number over all its rows; texts are left out."""
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            setting = dict(list(row.items())[: list(row).index("seed")])
            groups.setdefault(identity(setting), []).append(row)
        return [_mean(rows) for rows in groups.values()]

    def to_pandas(self) -> Any:
        """A pandas DataFrame of the rows."""
        return data_frame(self.rows)

    def _table(self) -> tuple[str, list[str], list[list[str]]]:
        """The title, the header, and a few settings spread over all of them."""
        means = self.means()
        seeds = len({row["seed"] for row in self.rows})
        title = f"{self.folder}: {len(means)} settings, {seeds} seeds, means over {len(self.rows)} rows"
        names = list(dict.fromkeys(name for mean in means for name in mean))
        few = means if len(means) <= _LINES else [means[k * (len(means) - 1) // (_LINES - 1)] for k in range(_LINES)]
        return title, names, [[_cell(mean.get(name)) for name in names] for mean in few]

    def __repr__(self) -> str:
        return f"SweepResult({str(self.folder)!r}, {len(self.rows)} rows)"

    def __str__(self) -> str:
        title, names, lines = self._table()
        rows = [names, *lines]
        return "\n".join([title, *TextTable.fitting(rows, ">" * len(names)).lines(rows)])

    def _repr_html_(self) -> str:
        title, names, lines = self._table()
        return markup.notebook(f"<p>{markup.text(title)}</p>{markup.table(lines, names)}")


def read_sweep(folder: str | os.PathLike[str]) -> SweepResult:
    """All finished settings in the folder of a sweep.

    Example:
        >>> import dpcvx, tempfile
        >>> def task(seed, rounds):
        ...     return {"regret": rounds**0.5 + seed}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ran = dpcvx.sweep(task, {"rounds": [4]}, seeds=2, folder=folder, workers=1)
        ...     dpcvx.read_sweep(folder).rows == ran.rows
        True
    """
    files = SweepFolder(Path(folder))
    files.manifest()
    return SweepResult(files.path, [row for path in files.files() for row in read_rows(path)])


def _mean(rows: list[Row]) -> Row:
    """The setting of the rows, then the mean of every column of numbers."""
    names = list(rows[0])
    place = names.index("seed")
    mean = {name: rows[0][name] for name in names[:place]}
    for name in names[place + 1 :]:
        values = [row[name] for row in rows]
        if all(isinstance(value, (int, float)) for value in values):
            mean[name] = sum(values) / len(values)  # type: ignore[arg-type]  # numbers, as was just looked at
    return mean


def _cell(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else "" if value is None else str(value)
