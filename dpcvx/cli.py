"""The command line; every command is a module of `dpcvx.commands`."""

import argparse
import sys
from collections.abc import Sequence

from dpcvx.commands import audit, bandits, counters, demo, gallery, inspect, price, sweep, tables
from dpcvx.commands.outcomes import InputError, Refutation

COMMANDS = {
    "demo": demo,
    "gallery": gallery,
    "inspect": inspect,
    "counters": counters,
    "audit": audit,
    "price": price,
    "bandits": bandits,
    "sweep": sweep,
    "tables": tables,
}
REFUTED = 1  # exit code when a claim of the package does not hold
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
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dpcvx", description="Private online learning over convex sets declared in cvxpy."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        own = commands.add_parser(name, help=command.HELP, description=command.__doc__)
        command.describe(own)
        own.set_defaults(run=command.run)
    return parser
