"""``dpcvx price``: what privacy costs on a set of yours, over epsilon and the number of rounds."""

import argparse
import os
import shlex
import shutil
import textwrap
from dataclasses import replace
from pathlib import Path

from dpcvx.arguments import positive
from dpcvx.commands.named_sets import change, decision_set, explanation, loss_set
from dpcvx.commands.options import add_output, add_workers, checked_workers
from dpcvx.commands.outcomes import InputError
from dpcvx.commands.places import check_place, writing
from dpcvx.errors import DpcvxError
from dpcvx.sets.pairing import Pairing
from dpcvx.studies.price import HARD, price_of_privacy
from dpcvx.studies.price.budget import affordable_horizons
from dpcvx.studies.price.comparison import Comparison
from dpcvx.studies.settings import SETTINGS

HELP = "measure what privacy costs on a set of yours, over epsilon and the number of rounds"
_FILE = "price.html"
_SETTINGS = {setting.replace(" ", "-"): setting for setting in SETTINGS}  # by the words of the command line


def describe(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    width = min(120, max(20, shutil.get_terminal_size().columns - 2))
    texts = (parser.description or "", explanation())
    parser.description = "\n\n".join(textwrap.fill(text, width, break_on_hyphens=False) for text in texts)
    parser.add_argument("set", metavar="SET", help="where decisions lie")
    parser.add_argument("losses", metavar="LOSSES", nargs="?", help="what a loss may be")
    parser.add_argument(
        "--epsilon", type=float, nargs="+", default=[0.1, 0.3, 1.0, 3.0], metavar="E", help="which ones (0.1 0.3 1 3)"
    )
    parser.add_argument("--horizon", type=int, nargs="+", metavar="T", help="numbers of rounds; see --seconds")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="without --horizon: about how long it may take on one core (60)"
    )
    words = f"{' or '.join(_SETTINGS)}; both by default"
    parser.add_argument("--setting", choices=_SETTINGS, nargs="+", default=list(_SETTINGS), metavar="S", help=words)
    parser.add_argument("--delta", type=float, default=0.0, help="for Gaussian noise with full information")
    parser.add_argument(
        "--change", metavar="CHANGE", help="what one person can change in a round; by default all of a loss"
    )
    parser.add_argument("--replicas", type=int, default=16, help="runs of every learner (16)")
    parser.add_argument("--seed", type=int, default=0, help="of losses and simulated noise (0)")
    add_workers(parser)
    add_output(parser, f"{_FILE}, a report, and the finished rows; the same command goes on after an interruption")


def run(arguments: argparse.Namespace) -> str:
    try:
        settings = [_SETTINGS[name] for name in arguments.setting]
        wanted = (arguments.epsilon, arguments.horizon or (1,), settings, HARD)
        comparison = Comparison.checked(*wanted, arguments.replicas, arguments.seed, arguments.delta)
        workers = checked_workers(arguments) or os.cpu_count() or 1
        positive(arguments.seconds, "--seconds")
    except ValueError as error:
        raise InputError(str(error)) from error
    X = decision_set(arguments.set)
    Y = loss_set(arguments.losses, arguments.set, X)
    try:
        Pairing(X, Y.shape)
    except ValueError as error:
        raise InputError(str(error)) from error
    if arguments.change is not None:
        comparison = replace(comparison, neighbours=change(arguments.change, Y))
    report = None if arguments.output is None else arguments.output / _FILE
    if report is not None:
        with writing("report", report):
            report.parent.mkdir(parents=True, exist_ok=True)
            check_place(report)
    try:
        if not arguments.horizon:
            horizons = affordable_horizons(X, Y, comparison, arguments.seconds, progress=True)
            comparison = replace(comparison, horizons=horizons)
        found = price_of_privacy(X, Y, workers=workers, folder=kept(arguments), progress=True, **comparison.arguments())
    except (DpcvxError, OverflowError) as error:
        raise InputError(" ".join(str(error).split())) from error
    except OSError as error:
        raise InputError(f"The rows cannot be kept in {kept(arguments)}: {error.strerror or error}.") from error
    if report is None:
        return str(found)
    from dpcvx.report.price_page import price_page  # matplotlib is loaded only for a report

    with writing("report", report):
        price_page(found, X, Y, comparison, _command(arguments, comparison)).write(report)
    return f"{found}\n\nReport: {report}"


def kept(arguments: argparse.Namespace) -> Path | None:
    """The folder from which the same command goes on after an interruption."""
    return None if arguments.output is None else arguments.output / "rows"


def _command(arguments: argparse.Namespace, comparison: Comparison) -> str:
    """The call that measures the same again, whatever the speed of the machine."""
    words = ["dpcvx", "price", arguments.set, *([arguments.losses] if arguments.losses else [])]
    words += ["--epsilon", *map(str, comparison.epsilons)]
    words += ["--horizon", *map(str, comparison.horizons), "--setting", *arguments.setting]
    words += ["--delta", str(comparison.delta)] if comparison.delta else []
    words += ["--change", arguments.change] if arguments.change else []
    words += ["--replicas", str(comparison.replicas), "--seed", str(comparison.seed), "--output", str(arguments.output)]
    return shlex.join(words)
