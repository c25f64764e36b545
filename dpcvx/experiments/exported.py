"""Tables for other programs: CSV and Markdown."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from dpcvx.storage.atomic_file import regular_place, write_atomically

Cells = tuple[Sequence[str], Sequence[Sequence[str]]]  # the header, and the rows


def csv_text(cells: Cells) -> str:
    """The table as CSV, with a header."""
    header, rows = cells
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def to_csv(cells: Cells, path: str | os.PathLike[str]) -> Path:
    """Write the table to a CSV file, in one step.

    Raises:
        OSError: where it cannot be written.
    """
    write_atomically(regular_place(path), csv_text(cells).encode())
    return Path(path)


def to_markdown(cells: Cells) -> str:
    """The table in Markdown, numbers aligned to the right."""
    header, rows = cells
    columns = range(len(header))
    sides = ["---:" if rows and all(_number(row[k]) for row in rows) else "---" for k in columns]
    lines = [header, sides, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _number(cell: str) -> bool:
    """Whether a cell is a number, or stands for one that is missing."""
    try:
        float(cell.replace("±", " ").split()[0])
    except (ValueError, IndexError):
        return cell in ("-", "")
    return True
