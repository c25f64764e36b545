"""Tables of text: cells set in columns, and prose beside them. All tables that are printed come from here."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from textwrap import fill, wrap

_WIDEST = 120  # characters of a line of prose
_SHORTEST = 10  # characters to which the names of rows are broken, at least
_width: ContextVar[int | None] = ContextVar("width", default=None)


@contextmanager
def window(width: int | None) -> Iterator[None]:
    """Within this, tables are made for a window of so many columns; None is for one that is wide enough."""
    token = _width.set(width)
    try:
        yield
    finally:
        _width.reset(token)


def paragraph(text: str) -> str:
    """A sentence or more in lines of at most 120 characters, or as many as the window has."""
    width = _width.get()
    return _broken(text, _WIDEST if width is None else min(width, _WIDEST))


def folded(text: str) -> str:
    """A text whose lines fit the window: longer ones are broken between words, and go on further to the right."""
    width = _width.get()
    return text if width is None else "\n".join(_broken(line, width) for line in text.split("\n"))


def _broken(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    further = " " * (len(line) - len(line.lstrip()) + 2)
    return fill(line, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True)
class TextTable:
    """The columns of a table. A cell that is longer than its column moves the rest of its own line to the right.

    Attributes:
        sides: one character a column, "<" where cells are aligned to the left, ">" to the right.
        widths: the least width of every column.
        between: what separates two columns.
        indent: what every line begins with.
        keys: how many columns name a row; they are repeated where columns stand below others.
    """

    sides: str
    widths: tuple[int, ...]
    between: str = "  "
    indent: str = ""
    keys: int = 1

    @classmethod
    def fitting(cls, rows: Iterable[Sequence[str]], sides: str) -> "TextTable":
        """A table whose columns are as wide as the widest of their cells in these rows."""
        return cls(sides, tuple(max(map(len, column)) for column in zip(*rows, strict=True)))

    def line(self, cells: Sequence[str]) -> str:
        """One row, with a cell for every column."""
        columns = zip(cells, self.sides, self.widths, strict=True)
        return self.indent + self.between.join(f"{cell:{side}{width}}" for cell, side, width in columns)

    def lines(self, rows: Iterable[Sequence[str]]) -> list[str]:
        """One line for each row; in a window that is too narrow, some columns below others, each with the first.

        Where not even the first and one other have room beside each other, the first is broken between words.
        """
        listed = [tuple(cells) for cells in rows]
        width = _width.get()
        whole = [self.line(cells) for cells in listed]
        if width is None or max(map(len, (line.rstrip() for line in whole)), default=0) <= width:
            return whole
        found: list[str] = []
        for columns in self._blocks(listed, width):
            part = [tuple(cells[k] for k in columns) for cells in listed]
            sides = "".join(self.sides[k] for k in columns)
            part = _wrapped_names(part, width - len(self.indent))
            block = replace(TextTable.fitting(part, sides), indent=self.indent).lines_as_they_are(part)
            found += [*([""] if found else []), *(line.rstrip() for line in block)]
        return found

    def lines_under(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
        """The lines of rows whose header stands above already; it is repeated where columns stand below others."""
        lines = self.lines([header, *rows])
        return lines[1:] if len(lines) == len(rows) + 1 else lines

    def lines_as_they_are(self, rows: Iterable[Sequence[str]]) -> list[str]:
        """One line for each row, however wide."""
        return [self.line(cells) for cells in rows]

    def _blocks(self, rows: list[tuple[str, ...]], width: int) -> list[list[int]]:
        """Which columns stand beside each other: those that name rows, and as many others as there is room for."""
        needed = [max(len(cells[k]) for cells in rows) + 2 for k in range(len(self.sides))]
        names = list(range(self.keys))
        start = len(self.indent) + sum(needed[: self.keys])
        blocks, used = [list(names)], start
        for k in range(self.keys, len(needed)):
            if len(blocks[-1]) > self.keys and used + needed[k] - 2 > width:
                blocks.append(list(names))
                used = start
            blocks[-1].append(k)
            used += needed[k]
        return blocks

    def rule(self) -> str:
        """A line of dashes as wide as the columns, to stand below a header."""
        return self.line(["-" * width for width in self.widths])


def _wrapped_names(rows: list[tuple[str, ...]], width: int) -> list[tuple[str, ...]]:
    """Rows whose first cells are broken over several lines, the others beside the first, so that they fit."""
    others = sum(max(map(len, column)) + 2 for column in list(zip(*rows, strict=True))[1:])
    room = max(width - others, _SHORTEST)
    found: list[tuple[str, ...]] = []
    for name, *cells in rows:
        first, *rest = wrap(name, room, subsequent_indent="  ") or [""]
        found += [(first, *cells), *((line, *("" for _ in cells)) for line in rest)]
    return found
