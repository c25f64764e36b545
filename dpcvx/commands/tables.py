"""``dpcvx tables``: measure the two tables of the paper, with fitted exponents beside those of the theory.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

import argparse
import tempfile
from pathlib import Path

from dpcvx.commands.options import add_output, add_workers, checked_workers
from dpcvx.commands.outcomes import InputError
from dpcvx.commands.places import check_place, writing
from dpcvx.experiments.exported import to_csv, to_markdown
from dpcvx.experiments.sweep.folder import SweepError
from dpcvx.storage.atomic_file import write_atomically
from dpcvx.studies.paper_tables import FULL, QUICK, paper_tables, render, table_cells

HELP = "measure the two tables of the paper, with fitted exponents beside those of the theory"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="shorter horizons: minutes instead of about an hour")
    add_output(parser, "tables.csv, tables.md and all runs; the same command goes on after an interruption")
    add_workers(parser)


def run(arguments: argparse.Namespace) -> str:
    workers = checked_workers(arguments)
    scale = QUICK if arguments.quick else FULL
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.output or Path(temporary)
        with writing("runs", folder):
            folder.mkdir(parents=True, exist_ok=True)
            check_place(folder / "sweep.json")
        try:
            tables = paper_tables(scale, folder, workers=workers, progress=True)
        except SweepError as error:
            raise InputError(str(error)) from error
        if arguments.output is None:
            return render(tables)
        cells = table_cells(tables)
        with writing("tables", folder):
            to_csv(cells, folder / "tables.csv")
            write_atomically(folder / "tables.md", f"{to_markdown(cells)}\n".encode())
        return f"{render(tables)}\n\nTables: {folder / 'tables.csv'}, {folder / 'tables.md'}"


def kept(arguments: argparse.Namespace) -> Path | None:
    """The folder from which the same command goes on after an interruption."""
    folder: Path | None = arguments.output
    return folder
