"""Options that several commands have, and what they mean in all of them."""

import argparse
from pathlib import Path

from dpcvx.commands.outcomes import InputError


def add_output(
    parser: argparse.ArgumentParser, what: str, *, default: Path | None = None, required: bool = False
) -> None:
    """--output FOLDER: where everything goes that a command leaves behind; it is made where it is missing."""
    usual = " (default: here)" if default is not None else ""
    parser.add_argument(
        "--output",
        type=Path,
        default=default,
        required=required,
        metavar="FOLDER",
        help=f"the folder for {what}{usual}",
    )


def add_workers(parser: argparse.ArgumentParser, where: str = "") -> None:
    """--workers N: how many processes of this machine compute; the results are the same."""
    parser.add_argument(
        "--workers", type=int, metavar="N", help=f"{where}processes of this machine (default: one for each core)"
    )


def add_scheduler(parser: argparse.ArgumentParser, where: str = "") -> None:
    """--scheduler URL, which excludes --workers: no group of argparse, whose usage would not wrap."""
    words = f"{where}a Dask scheduler instead of this machine, as tcp://HOST:PORT"
    parser.add_argument("--scheduler", metavar="URL", help=words)


def checked_workers(arguments: argparse.Namespace) -> int | None:
    """What --workers says.

    Raises:
        InputError: where it is less than 1, or a scheduler is named beside it.
    """
    if arguments.workers is not None and getattr(arguments, "scheduler", None) is not None:
        raise InputError("--workers are of this machine and --scheduler is instead of it; leave one of them out.")
    if arguments.workers is not None and arguments.workers < 1:
        raise InputError(f"--workers must be at least 1, not {arguments.workers}.")
    workers: int | None = arguments.workers
    return workers
