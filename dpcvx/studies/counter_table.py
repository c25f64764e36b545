"""How much noise each counter puts on one prefix, as a table."""

from typing import Any

from dpcvx.experiments.data_frame import data_frame
from dpcvx.experiments.text_table import TextTable
from dpcvx.privacy.counters import COUNTERS, default_counters, prefix_lower_bound
from dpcvx.privacy.noise import Gaussian, Laplace, Law

_UNITS: dict[type[Law], str] = {Laplace: "D1/epsilon", Gaussian: "D2 x multiplier"}
_COLUMNS = TextTable("<<><>", (32, 9, 12, 16, 14), between=" ", indent="  ", keys=2)


def rows(horizon: int) -> list[tuple[str, str, float, float | None]]:
    """(counter, unit, standard deviation of one coordinate of the worst prefix, ratio to the lower bound or None).

    Laplace noise in units of D1/epsilon, Gaussian noise in units of D2 times the multiplier sigma/D2 of one release.
    The lower bound is on Gaussian noise by any factorisation.
    """
    least = prefix_lower_bound(max(horizon - 1, 1))
    found: list[tuple[str, str, float, float | None]] = []
    for law, unit in _UNITS.items():
        for counter in COUNTERS.values():
            if counter.refusal(law) is None:
                default = " (default)" if counter in default_counters(law, 1) else ""
                value = counter.relative_deviation(horizon, law.norm)
                found.append((counter.title(law.norm) + default, unit, value, value / least if law.norm == 2 else None))
    return found


def to_pandas(horizon: int) -> Any:
    """The rows as a pandas DataFrame."""
    names = ("counter", "unit", "deviation", "over the lower bound")
    return data_frame([dict(zip(names, row, strict=True)) for row in rows(horizon)])


def table(horizon: int) -> str:
    """The rows as text."""
    names = {unit: law.name for law, unit in _UNITS.items()}
    lines = [("counter", "noise", "deviation", "unit", "over the bound")]
    for name, unit, value, ratio in rows(horizon):
        lines.append((name, names[unit], f"{value:.4g}", unit, "" if ratio is None else f"{ratio:.4f}"))
    title = f"Standard deviation of one coordinate of a prefix, horizon {horizon}"
    return "\n".join([title, *_COLUMNS.lines(lines)])
