"""``dpcvx inspect``: what was derived of a set in a file, or what is wrong with it."""

import argparse

from dpcvx.commands.declared import find
from dpcvx.sets import DecisionSet

HELP = "print what was derived of a set in a Python file, or what is wrong with it"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="FILE.py:NAME", help="a DecisionSet in the file, or a function that returns one"
    )


def run(arguments: argparse.Namespace) -> str:
    return find(arguments.target, DecisionSet).summary()
