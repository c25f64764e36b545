"""``dpcvx tables``: measure the two tables of the paper, with fitted exponents beside those of the theory.

The paper is Agarwal and Singh, The Price of Differential Privacy for Online Learning, ICML 2017.
"""

import argparse
import tempfile
from pathlib import Path

from dpcvx.commands.outcomes import InputError
from dpcvx.commands.places import check_place, writing
from dpcvx.experiments.sweep.folder import SweepError
from dpcvx.studies.paper_tables import FULL, QUICK, paper_tables, render

HELP = "measure the two tables of the paper, with fitted exponents beside those of the theory"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="shorter horizons: minutes instead of about an hour")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="keep the runs here; the same command goes on after an interruption",
    )
    parser.add_argument("--workers", type=int, metavar="COUNT", help="processes (default: one for each core)")


def run(arguments: argparse.Namespace) -> str:
    if arguments.workers is not None and arguments.workers < 1:
        raise InputError(f"--workers must be at least 1, not {arguments.workers}.")
    scale = QUICK if arguments.quick else FULL
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.output or Path(temporary)
        with writing("runs", folder):
            folder.mkdir(parents=True, exist_ok=True)
            check_place(folder / "sweep.json")
        try:
            return render(paper_tables(scale, folder, workers=arguments.workers))
        except SweepError as error:
            raise InputError(str(error)) from error
