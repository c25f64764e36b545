"""The command line; every command is a module of `dpcvx.commands`."""

import argparse
import sys
from collections.abc import Sequence

from dpcvx.commands import audit, bandits, counters, demo, gallery, inspect, price, route, sweep, tables
from dpcvx.commands.outcomes import InputError, Refutation
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
    try:
        print(arguments.run(arguments))
    except InputError as error:
        print(error, file=sys.stderr)
        return FAILURE
    except Refutation as report:
        print(report)
        return REFUTED
    except KeyboardInterrupt:
        print(
            "\nInterrupted; what was kept in a folder stays, and the same command goes on from there.", file=sys.stderr
        )
        return INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dpcvx", description="Private online learning over convex sets declared in cvxpy."
    )
    parser.add_argument("--version", action="version", version=f"dpcvx {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        own = commands.add_parser(name, help=command.HELP, description=command.__doc__)
        command.describe(own)
        own.set_defaults(run=command.run)
    return parser
