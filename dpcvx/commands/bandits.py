"""``dpcvx bandits``: what noise, batches and learners cost a private bandit, measured beside the theory."""

import argparse
import errno
import os
import sys
from pathlib import Path

from dpcvx.commands.outcomes import InputError

HELP = "measure what noise, batches and learners cost a private bandit"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="fewer rounds and replicas: a minute instead of ten")
    parser.add_argument(
        "--output", type=Path, default=Path(), metavar="FOLDER", help="where price_of_bandits.png goes (default: here)"
    )


def log(line: str) -> None:
    if sys.stderr.isatty():
        print(line, file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> str:
    from dpcvx.experiments.bandit_prices import FULL, QUICK, measure, picture

    path = arguments.output / "price_of_bandits.png"
    try:
        arguments.output.mkdir(parents=True, exist_ok=True)  # before measuring, which takes long
        if path.is_dir() or not os.access(path if path.exists() else arguments.output, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise InputError(f"The picture cannot be written to {path}: {error.strerror}.") from error
    report = measure(QUICK if arguments.quick else FULL, log)
    picture.draw(report, path)
    return f"{report}\n\npicture: {path}"
