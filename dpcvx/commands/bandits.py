"""``dpcvx bandits``: what noise, batches and learners cost a private bandit, measured beside the theory."""

import argparse
import itertools
from pathlib import Path

from dpcvx.commands.options import add_output
from dpcvx.commands.places import check_place, writing
from dpcvx.experiments.progress import progress_bar

HELP = "measure what noise, batches and learners cost a private bandit"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="minutes instead of about twenty")
    add_output(parser, "price_of_bandits.png", default=Path())


def run(arguments: argparse.Namespace) -> str:
    from dpcvx.studies.bandit_prices import FULL, QUICK, STAGES, measure, picture  # matplotlib is loaded only here

    path = arguments.output / "price_of_bandits.png"
    with writing("picture", path):
        arguments.output.mkdir(parents=True, exist_ok=True)
        check_place(path)
    with progress_bar(STAGES, wanted=True) as bar:
        stages = itertools.count()
        report = measure(QUICK if arguments.quick else FULL, lambda stage: bar.tell(stage, next(stages)))
    with writing("picture", path):
        picture.draw(report, path)
    return f"{report}\n\npicture: {path}"
