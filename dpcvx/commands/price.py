"""``dpcvx price``: what privacy costs on a set of yours, over epsilon and the number of rounds."""

import argparse
import shlex
import textwrap
from dataclasses import replace
from pathlib import Path

from dpcvx.arguments import positive, whole
from dpcvx.commands.named_sets import change, decision_set, explanation, loss_set
from dpcvx.commands.outcomes import InputError
from dpcvx.commands.places import check_place, writing
from dpcvx.errors import DpcvxError
from dpcvx.studies.price import HARD, price_of_privacy
from dpcvx.studies.price.budget import affordable_horizons
from dpcvx.studies.price.comparison import Comparison
from dpcvx.studies.settings import SETTINGS

HELP = "measure what privacy costs on a set of yours, over epsilon and the number of rounds"
_SETTINGS = {setting.replace(" ", "-"): setting for setting in SETTINGS}  # by the words of the command line


def describe(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = f"{__doc__}\n\n{textwrap.fill(explanation(), 120)}\n"
    parser.add_argument("set", metavar="SET", help="where decisions lie")
    parser.add_argument("losses", metavar="LOSSES", nargs="?", help="what a loss may be")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 0.3, 1.0, 3.0], metavar="E")
    parser.add_argument("--horizon", type=int, nargs="+", metavar="T", help="numbers of rounds; see --seconds")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="without --horizon: about how long it may take on one core (60)"
    )
    parser.add_argument("--setting", choices=_SETTINGS, nargs="+", default=list(_SETTINGS), help="both by default")
    parser.add_argument("--delta", type=float, default=0.0, help="for Gaussian noise with full information")
    parser.add_argument(
        "--change", metavar="CHANGE", help="what one person can change in a round; by default all of a loss"
    )
    parser.add_argument("--replicas", type=int, default=16, help="runs of every learner (16)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--folder", type=Path, help="keep finished rows there, to go on after an interruption")
    parser.add_argument("--output", type=Path, metavar="FILE.html", help="write a report as well")


def run(arguments: argparse.Namespace) -> str:
    try:
        settings = [_SETTINGS[name] for name in arguments.setting]
        wanted = (arguments.epsilon, arguments.horizon or (1,), settings, HARD)
        comparison = Comparison.checked(*wanted, arguments.replicas, arguments.seed, arguments.delta)
        whole(arguments.workers, "workers")
        positive(arguments.seconds, "--seconds")
    except ValueError as error:
        raise InputError(str(error)) from error
    if arguments.output is not None:
        with writing("report", arguments.output):
            check_place(arguments.output)
    X = decision_set(arguments.set)
    Y = loss_set(arguments.losses, arguments.set, X)
    if X.shape != Y.shape:
        raise InputError(f"The decisions have shape {X.shape}, but the losses have shape {Y.shape}.")
    if arguments.change is not None:
        comparison = replace(comparison, neighbours=change(arguments.change, Y))
    try:
        if not arguments.horizon:
            comparison = replace(comparison, horizons=affordable_horizons(X, Y, comparison, arguments.seconds))
        found = price_of_privacy(X, Y, workers=arguments.workers, folder=arguments.folder, **comparison.arguments())
    except (DpcvxError, OverflowError) as error:
        raise InputError(" ".join(str(error).split())) from error
    except OSError as error:
        raise InputError(f"The rows cannot be kept in {arguments.folder}: {error.strerror or error}.") from error
    if arguments.output is None:
        return str(found)
    from dpcvx.report.price_page import price_page  # matplotlib is loaded only for a report

    with writing("report", arguments.output):
        price_page(found, X, Y, comparison, _command(arguments, comparison)).write(arguments.output)
    return f"{found}\n\nReport: {arguments.output}"


def _command(arguments: argparse.Namespace, comparison: Comparison) -> str:
    """The call that measures the same again, whatever the speed of the machine."""
    words = ["dpcvx", "price", arguments.set, *([arguments.losses] if arguments.losses else [])]
    words += ["--epsilon", *map(str, comparison.epsilons)]
    words += ["--horizon", *map(str, comparison.horizons), "--setting", *arguments.setting]
    words += ["--delta", str(comparison.delta)] if comparison.delta else []
    words += ["--change", arguments.change] if arguments.change else []
    words += ["--replicas", str(comparison.replicas), "--seed", str(comparison.seed), "--output", str(arguments.output)]
    return shlex.join(words)
