"""``dpcvx counters``: how much noise each private counter puts on one prefix."""

import argparse

from dpcvx.commands.outcomes import InputError
from dpcvx.studies import counter_table

HELP = "print how much noise each private counter puts on one prefix"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--horizon", type=int, default=2**14, metavar="T", help="number of rounds (16384)")


def run(arguments: argparse.Namespace) -> str:
    if not 1 <= arguments.horizon <= 2**30:
        raise InputError(f"--horizon must be between 1 and 2^30, not {arguments.horizon}.")
    return counter_table.table(arguments.horizon)
