"""The command line: ``dpcvx demo`` shows what is derived from declarations, ``dpcvx inspect`` does it for a file."""

import argparse
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcvx import DecisionSet

REFUTED = 1  # exit code when the audit finds what must not be
FAILURE = 2  # exit code when the user's input is at fault


class InputError(Exception):
    """What the user asked for cannot be done; the message is the one sentence to print."""


class Refutation(Exception):
    """A claim of the package did not hold; the message is the report to print."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with the arguments ``argv`` (default: those of the process) and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        print(arguments.command(arguments))
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
    demo = commands.add_parser("demo", help="declare five sets, draw the flat ones, print what was derived")
    demo.add_argument(
        "--output", type=Path, default=Path(), metavar="FOLDER", help="where gallery.png goes (default: here)"
    )
    demo.set_defaults(command=_demo)
    look = commands.add_parser(
        "inspect", help="print what was derived of a set in a Python file, or what is wrong with it"
    )
    look.add_argument(
        "target", metavar="FILE.py:NAME", help="a DecisionSet in the file, or a function that returns one"
    )
    look.set_defaults(command=_inspect)
    counters = commands.add_parser("counters", help="print how much noise each private counter puts on one prefix")
    counters.add_argument("--horizon", type=int, required=True, metavar="T", help="number of rounds")
    counters.set_defaults(command=_counters)
    check = commands.add_parser("audit", help="attack every private mechanism, and broken ones, and print the findings")
    check.add_argument("--quick", action="store_true", help="fewer runs, under a minute")
    check.set_defaults(command=_audit)
    return parser


def _demo(arguments: argparse.Namespace) -> str:
    from dpcvx.experiments import gallery

    picture = arguments.output / "gallery.png"
    try:
        arguments.output.mkdir(parents=True, exist_ok=True)
        exhibits = gallery.declare_all()
        gallery.draw(exhibits, picture)
    except OSError as error:
        raise InputError(f"The picture cannot be written to {picture}: {error.strerror}.") from error
    return f"{gallery.table(exhibits)}\n\nThe two-dimensional sets with their Dikin ellipsoids: {picture}"


def _inspect(arguments: argparse.Namespace) -> str:
    path, name = _split(arguments.target)
    from dpcvx import DpcvxError

    try:
        return _find(_load(path), path, name).summary()
    except InputError:
        raise
    except DpcvxError as error:
        raise InputError(_one_line(error)) from error
    except (Exception, SystemExit) as error:  # whatever the user's file does, the answer is one sentence
        raise InputError(f"{path} raised {type(error).__name__}{_line_in(path, error)}: {_one_line(error)}") from error


def _counters(arguments: argparse.Namespace) -> str:
    from dpcvx.experiments import counter_table

    if not 1 <= arguments.horizon <= 2**40:
        raise InputError(f"--horizon must be between 1 and 2^40, not {arguments.horizon}.")
    return counter_table.table(arguments.horizon)


def _audit(arguments: argparse.Namespace) -> str:
    from dpcvx.privacy.audit.table import audit_rows, render

    rows = audit_rows(quick=arguments.quick)
    if not all(row.as_expected for row in rows):
        raise Refutation(render(rows))
    return render(rows)


def _split(target: str) -> tuple[Path, str]:
    file, colon, name = target.rpartition(":")
    if not colon or not file or not name:
        raise InputError(f"The set must be given as FILE.py:NAME, but {target!r} came.")
    path = Path(file)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    return path, name


def _load(path: Path) -> ModuleType:
    """Run the file as a module, with its folder on the import path as if it were run as a script."""
    spec = importlib.util.spec_from_file_location(f"dpcvx_inspected_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file: its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.resolve().parent))
        del sys.modules[spec.name]
    return module


def _find(module: ModuleType, path: Path, name: str) -> "DecisionSet":
    from dpcvx import DecisionSet

    if not hasattr(module, name):
        sets = [key for key, value in vars(module).items() if isinstance(value, DecisionSet)]
        hint = f"; its sets are {', '.join(sets)}" if sets else ""
        raise InputError(f"{path} does not define {name}{hint}.")
    found: Any = getattr(module, name)
    if isinstance(found, DecisionSet):
        return found
    if callable(found):
        needed = _required_parameters(found)
        if needed:
            raise InputError(f"{name} in {path} must work without arguments, but it needs {', '.join(needed)}.")
        made = found()
        if isinstance(made, DecisionSet):
            return made
        kind = type(made).__name__
        raise InputError(f"{name} in {path} must return a DecisionSet, but it returned a value of type {kind}.")
    kind = type(found).__name__
    raise InputError(f"{name} in {path} must be a DecisionSet or a function that returns one, but it has type {kind}.")


def _required_parameters(function: Any) -> list[str]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variadic]


def _line_in(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f" at line {error.lineno}"
    own = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == path.resolve()]
    return f" at line {own[-1]}" if own else ""


def _one_line(error: BaseException) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return " ".join(message.split()) or "no message."
