"""``dpcvx gallery``: declare five sets, draw the flat ones, print what was derived."""

import argparse
from pathlib import Path

from dpcvx.commands.options import add_output
from dpcvx.commands.places import writing

HELP = "declare five sets, draw the flat ones, print what was derived"


def describe(parser: argparse.ArgumentParser) -> None:
    add_output(parser, "gallery.png", default=Path())


def run(arguments: argparse.Namespace) -> str:
    from dpcvx.studies import gallery  # matplotlib is loaded only here

    picture = arguments.output / "gallery.png"
    with writing("picture", picture):
        arguments.output.mkdir(parents=True, exist_ok=True)
        exhibits = gallery.declare_all()
        gallery.draw(exhibits, picture)
    return f"{gallery.table(exhibits)}\n\nThe two-dimensional sets with their Dikin ellipsoids: {picture}"
