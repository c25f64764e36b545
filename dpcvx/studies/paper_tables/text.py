"""The tables as text of at most 120 columns.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

from dpcvx.experiments.exponents import Exponent
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


def _table(table: Table) -> str:
    heads = [_HEADS.get(losses, losses) for losses in table.losses]
    header = _line("", "eps", heads, list(table.columns))
    lines = [table.title, "=" * len(table.title), header]
    for section in table.sections:
        lines += ["", *_section(section)]
    return "\n".join(line.rstrip() for line in lines)


def _section(section: Section) -> list[str]:
    ranges, (previous, paper, best) = section.ranges, section.stated
    last, single = (T.bit_length() - 1 for T in (ranges.horizons[-1], ranges.single))
    sizes = f"N = {ranges.size}, eps = {ranges.epsilon:g}, T = 2^{last} (2^{single} where eps or N vary)"
    return [
        f"{section.problem}: {sizes}, {ranges.replicas} replicas; steady losses: {section.steady}",
        f"  the paper states: earlier {previous}, its own {paper}, non-private {best}",
        *(_row(row) for row in section.rows),
    ]


def _row(row: Row) -> str:
    if row.reason:
        return f"{row.method:<{_NAME}s} not run: {row.reason}"
    epsilon = "-" if row.epsilon is None else f"{row.epsilon:.2g}"
    return _line(row.method, epsilon, [_number(regret) for regret in row.regrets], [_cell(cell) for cell in row.cells])


def _line(name: str, epsilon: str, regrets: list[str], cells: list[str]) -> str:
    sides = "<>" + ">" * len(regrets) + "<" * len(cells)
    widths = (_NAME, _EPSILON, *[_NUMBER] * len(regrets), *[_CELL] * len(cells))
    return TextTable(sides, widths, between=" ").line([name, epsilon, *regrets, *cells])


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
