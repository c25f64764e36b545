"""The command line; every command is a module of `dpcvx.commands`."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from dpcvx.commands import audit, bandits, counters, demo, gallery, inspect, price, route, sweep, tables
from dpcvx.commands.outcomes import InputError, Refutation
from dpcvx.commands.terminal import speak_any_language
from dpcvx.experiments.progress import columns_of
from dpcvx.experiments.sweep.folder import SweepFolder
from dpcvx.experiments.text_table import folded, window
from dpcvx.version import __version__

COMMANDS = {
    "demo": demo,
    "gallery": gallery,
    "inspect": inspect,
    "counters": counters,
    "audit": audit,
    "price": price,
    "bandits": bandits,
    "route": route,
    "sweep": sweep,
    "tables": tables,
}
REFUTED = 1  # exit code when a claim of the package does not hold
INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it
FAILURE = 2  # exit code when the user's input is at fault


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with the arguments ``argv`` (default: those of the process) and return its exit code."""
    arguments = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        speak_any_language(stream)
    try:
        with window(_columns(sys.stdout)):
            print(folded(arguments.run(arguments)), flush=True)
    except InputError as error:
        with window(_columns(sys.stderr)):
            print(folded(str(error)), file=sys.stderr)
        return FAILURE
    except Refutation as report:
        with window(_columns(sys.stdout)):
            print(folded(str(report)))
        return REFUTED
    except KeyboardInterrupt:
        print(f"\n{_interrupted(arguments)}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  Python flushes it at the end
        return 0
    return 0


def _columns(stream: TextIO) -> int | None:
    """How wide a terminal is; None for a file or a pipe, whose lines are left as they are."""
    return columns_of(stream) if stream.isatty() else None


def _interrupted(arguments: argparse.Namespace) -> str:
    """What an interruption left behind: of finished work something is told only where there is any."""
    folder = arguments.kept(arguments) if arguments.kept is not None else None
    if folder is None or not folder.is_dir() or not SweepFolder(folder).files():
        return "Interrupted."
    return f"Interrupted; what was finished is kept in {folder}, and the same command goes on from there."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dpcvx", description="Private online learning over convex sets declared in cvxpy."
    )
    parser.add_argument("--version", action="version", version=f"dpcvx {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        own = commands.add_parser(name, help=command.HELP, description=(command.__doc__ or "").replace("``", ""))
        command.describe(own)
        own.set_defaults(run=command.run, kept=getattr(command, "kept", None))
    return parser
