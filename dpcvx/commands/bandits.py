"""``dpcvx bandits``: what noise, batches and learners cost a private bandit, measured beside the theory."""

import argparse
import sys
from pathlib import Path

from dpcvx.commands.places import check_place, writing

HELP = "measure what noise, batches and learners cost a private bandit"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="minutes instead of about twenty")
    parser.add_argument(
        "--output", type=Path, default=Path(), metavar="FOLDER", help="where price_of_bandits.png goes (default: here)"
    )


def log(line: str) -> None:
    """Print a line on progress to stderr, where that is a terminal."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> str:
    from dpcvx.studies.bandit_prices import FULL, QUICK, measure, picture  # matplotlib is loaded only here

    path = arguments.output / "price_of_bandits.png"
    with writing("picture", path):
        arguments.output.mkdir(parents=True, exist_ok=True)
        check_place(path)
    report = measure(QUICK if arguments.quick else FULL, log)
    with writing("picture", path):
        picture.draw(report, path)
    return f"{report}\n\npicture: {path}"
