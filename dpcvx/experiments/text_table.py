"""Tables of text: cells set in columns. Whatever the package prints as a table comes from here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TextTable:
    """The columns of a table. A cell that is longer than its column moves the rest of its own line to the right.

    Attributes:
        sides: one character a column, "<" where cells are aligned to the left, ">" to the right.
        widths: the least width of every column.
        between: what separates two columns.
        indent: what every line begins with.
    """

    sides: str
    widths: tuple[int, ...]
    between: str = "  "
    indent: str = ""

    @classmethod
    def fitting(cls, rows: Iterable[Sequence[str]], sides: str) -> "TextTable":
        """A table whose columns are as wide as the widest of their cells in these rows."""
        return cls(sides, tuple(max(map(len, column)) for column in zip(*rows, strict=True)))

    def line(self, cells: Sequence[str]) -> str:
        """One row, with a cell for every column."""
        columns = zip(cells, self.sides, self.widths, strict=True)
        return self.indent + self.between.join(f"{cell:{side}{width}}" for cell, side, width in columns)

    def lines(self, rows: Iterable[Sequence[str]]) -> list[str]:
        """One line for each row."""
        return [self.line(cells) for cells in rows]

    def rule(self) -> str:
        """A line of dashes as wide as the columns, to stand below a header."""
        return self.line(["-" * width for width in self.widths])
