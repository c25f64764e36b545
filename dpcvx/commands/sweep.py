"""``dpcvx sweep``: run a sweep that a file declares, here or on a Dask cluster, and go on where it was interrupted."""

import argparse
from pathlib import Path

from dpcvx.commands.declared import find
from dpcvx.commands.outcomes import InputError
from dpcvx.errors import DpcvxError
from dpcvx.experiments.sweep.task import Sweep

HELP = "run a task over a grid of settings and seeds, resumably, here or on a cluster"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="FILE.py[:NAME]", help="a dpcvx.Sweep(task, settings, seeds) in the file (default: sweep)"
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="one CSV file for each setting; finished ones stay"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="N", help="processes of this machine (default: all its cores)")
    where.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="a Dask scheduler instead of this machine")


def run(arguments: argparse.Namespace) -> str:
    if arguments.workers is not None and arguments.workers < 1:
        raise InputError(f"--workers must be at least 1, not {arguments.workers}.")
    target = arguments.target if ":" in arguments.target else f"{arguments.target}:sweep"
    declared = find(target, Sweep)
    try:
        return str(declared.run(arguments.output, workers=arguments.workers, scheduler=arguments.scheduler))
    except (DpcvxError, ValueError) as error:
        raise InputError(" ".join(str(error).split())) from error
    except OSError as error:
        raise InputError(f"The sweep cannot be written to {arguments.output}: {error.strerror or error}.") from error
