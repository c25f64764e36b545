"""``dpcvx sweep``: run a sweep that a file declares, here or on a Dask cluster, and go on where it was interrupted."""

import argparse
from pathlib import Path

from dpcvx.commands.declared import find
from dpcvx.commands.options import add_output, add_scheduler, add_workers, checked_workers
from dpcvx.commands.outcomes import InputError
from dpcvx.errors import DpcvxError
from dpcvx.experiments.sweep.folder import SweepError
from dpcvx.experiments.sweep.task import Sweep

HELP = "run a task over a grid of settings and seeds, resumably, here or on a cluster"


def describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", metavar="FILE.py[:NAME]", help="a dpcvx.Sweep(task, settings, seeds) in the file (default: sweep)"
    )
    add_output(parser, "one CSV file for each setting; finished ones stay", required=True)
    add_workers(parser)
    add_scheduler(parser)


def run(arguments: argparse.Namespace) -> str:
    workers = checked_workers(arguments)
    target = arguments.target if ":" in arguments.target else f"{arguments.target}:sweep"
    declared = find(target, Sweep)
    try:
        return str(declared.run(arguments.output, workers=workers, scheduler=arguments.scheduler, progress=True))
    except SweepError as error:
        if error.result is not None and error.result.rows:
            print(error.result)
        raise InputError("\n".join(error.failures) or " ".join(str(error).split())) from error
    except (DpcvxError, ValueError) as error:
        raise InputError(" ".join(str(error).split())) from error
    except OSError as error:
        raise InputError(f"The sweep cannot be written to {arguments.output}: {error.strerror or error}.") from error


def kept(arguments: argparse.Namespace) -> Path | None:
    """The folder from which the same command goes on after an interruption."""
    folder: Path = arguments.output
    return folder
