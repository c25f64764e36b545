"""``dpcvx inspect``: what was derived of a set, a loss set or a change, or what is wrong with it."""

import argparse
from pathlib import Path

from dpcvx.commands.declared import find_all, find_any
from dpcvx.commands.named_sets import decision_set
from dpcvx.privacy.change import Change
from dpcvx.sets import DecisionSet, LossSet

HELP = "print what was derived of a set, a loss set or a change in a Python file, or what is wrong with it"

_KINDS = (DecisionSet, LossSet, Change)


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        metavar="FILE.py[:NAME]",
        help="a DecisionSet, LossSet or Change in the file, or a function that returns one; without a name all; "
        "or a set of the catalogue, as simplex:10",
    )


def run(arguments: argparse.Namespace) -> str:
    if ".py" not in arguments.target and not Path(arguments.target.partition(":")[0]).exists():
        return decision_set(arguments.target).summary()
    if arguments.target.endswith(".py"):
        return "\n\n".join(declared.summary() for declared in find_all(arguments.target, _KINDS))
    declared: DecisionSet | LossSet | Change = find_any(arguments.target, _KINDS)
    return declared.summary()
