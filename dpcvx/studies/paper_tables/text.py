"""The tables as text of at most 120 columns.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

from typing import Any

from dpcvx.experiments.data_frame import data_frame
from dpcvx.experiments.exponents import Exponent
from dpcvx.experiments.exported import Cells
from dpcvx.experiments.text_table import TextTable
from dpcvx.studies.paper_tables.rows import Cell, Row, Section, Table

_NAME, _EPSILON, _NUMBER, _CELL = 20, 3, 5, 20  # widths of columns
_HEADS = {"altdrift": "drift", "steady": "stead"}  # of losses, no longer than a number

_LEGEND = """\
Exponents: fitted [95 % interval] and that of the theory ("log": a power of log T alone; "+": and a logarithm). eps:
what is guaranteed where one loss is replaced by another. Numbers: mean regret at the largest T, on altdrift ("drift")
and on steady losses. Table 1: regret in T on altdrift, where the term of the noise is below half of the square root;
price, on steady losses: regret less that without privacy, at the largest eps/2^k at which noise costs more than
learning. Table 2: all on steady losses; where regret is of square-root order it is divided by sqrt(ln T) before the
fit in T. Only runs whose proved bound is at most half of the largest regret count. "needs T >= ...": T is too small
for that, so there is no number."""


def render(tables: tuple[Table, ...]) -> str:
    """All tables, one below the other, and how to read them."""
    return "\n\n".join([*(_table(table) for table in tables), _LEGEND])


def table_cells(tables: tuple[Table, ...]) -> Cells:
    """All tables as one, for other programs: a row for each exponent of each method."""
    header = (
        "table",
        "problem",
        "method",
        "epsilon",
        "regrets",
        "exponent of",
        "fitted",
        "lower",
        "upper",
        "theory",
        "note",
    )
    rows: list[tuple[str, ...]] = []
    for table in tables:
        for section in table.sections:
            for row in section.rows:
                epsilon = "" if row.epsilon is None else repr(row.epsilon)
                regrets = "; ".join(
                    f"{name} {regret:.6g}" for name, regret in zip(table.losses, row.regrets, strict=False)
                )
                start = (table.title, section.problem, row.method, epsilon, regrets)
                if row.reason:
                    rows.append((*start, "", "", "", "", "", f"not run: {row.reason}"))
                for name, cell in zip(table.columns, row.cells, strict=False):
                    fit = cell.exponent
                    numbers = ("",) * 3 if fit is None else tuple(f"{x:.6g}" for x in (fit.value, fit.lower, fit.upper))
                    rows.append((*start, name, *numbers, cell.theory, cell.reason))
    return header, rows


def to_pandas(tables: tuple[Table, ...]) -> Any:
    """The same as a pandas DataFrame of texts."""
    header, rows = table_cells(tables)
    return data_frame([dict(zip(header, row, strict=True)) for row in rows])


def _table(table: Table) -> str:
    heads = [_HEADS.get(losses, losses) for losses in table.losses]
    cells = ["", "eps", *heads, *table.columns]
    columns = TextTable(
        "<>" + ">" * len(heads) + "<" * len(table.columns),
        (_NAME, _EPSILON, *[_NUMBER] * len(heads), *[_CELL] * len(table.columns)),
        between=" ",
    )
    lines = [table.title, "=" * len(table.title), columns.line(cells)]
    for section in table.sections:
        lines += ["", *_section(section, columns, cells)]
    return "\n".join(line.rstrip() for line in lines)


def _section(section: Section, columns: TextTable, header: list[str]) -> list[str]:
    ranges, (previous, paper, best) = section.ranges, section.stated
    last, single = (T.bit_length() - 1 for T in (ranges.horizons[-1], ranges.single))
    sizes = f"N = {ranges.size}, eps = {ranges.epsilon:g}, T = 2^{last} (2^{single} where eps or N vary)"
    return [
        f"{section.problem}: {sizes}, {ranges.replicas} replicas; steady losses: {section.steady}",
        f"  the paper states: earlier {previous}, its own {paper}, non-private {best}",
        *columns.lines_under(header, [_cells(row) for row in section.rows if not row.reason]),
        *(f"{row.method:<{_NAME}s} not run: {row.reason}" for row in section.rows if row.reason),
    ]


def _cells(row: Row) -> list[str]:
    epsilon = "-" if row.epsilon is None else f"{row.epsilon:.2g}"
    return [row.method, epsilon, *(_number(regret) for regret in row.regrets), *(_cell(cell) for cell in row.cells)]


def _number(regret: float) -> str:
    return f"{regret:.0f}" if abs(regret) < 1e5 else f"{regret:.0e}"


def _cell(cell: Cell) -> str:
    fitted = cell.reason if cell.exponent is None else _exponent(cell.exponent)
    return f"{fitted} {cell.theory}"


def _exponent(exponent: Exponent) -> str:
    return f"{_short(exponent.value)} [{_short(exponent.lower)},{_short(exponent.upper)}]"


def _short(value: float) -> str:
    """Two decimals, without the zero before the point."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
