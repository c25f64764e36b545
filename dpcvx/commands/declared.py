"""What a user's file declares, or one sentence about what is wrong with it."""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from dpcvx.commands.outcomes import InputError
from dpcvx.errors import ArgumentError, DpcvxError

Kind = TypeVar("Kind")


def find(target: str, kind: type[Kind]) -> Kind:
    """The object of that kind which FILE.py:NAME names, or which the function of that name returns.

    Raises:
        InputError: where there is none, or the file fails.
    """
    found: Kind = find_any(target, (kind,))
    return found


def find_any(target: str, kinds: tuple[type[Any], ...]) -> Any:
    """`find` for an object of one of several kinds."""
    path, name = _split(target)
    with one_sentence(path):
        return _find(load(path), path, name, kinds)


def find_all(file: str, kinds: tuple[type[Any], ...]) -> list[Any]:
    """The objects of these kinds that a file defines, in their order.

    Raises:
        InputError: where there is none, or the file fails.
    """
    path = _existing(file)
    with one_sentence(path):
        found = {id(value): value for value in vars(load(path)).values() if isinstance(value, kinds)}
    if not found:
        raise InputError(f"{path} defines no {' and no '.join(kind.__name__ for kind in kinds)}.")
    return list(found.values())


@contextmanager
def one_sentence(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong in a user's file into one sentence.

    Raises:
        InputError: for every error inside.
    """
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, DpcvxError) and not isinstance(error, ArgumentError):
            raise InputError(_one_line(error)) from error
        raise InputError(f"{path} raised {type(error).__name__}{_line_in(path, error)}: {_one_line(error)}") from error


def _split(target: str) -> tuple[Path, str]:
    file, colon, name = target.rpartition(":")
    if not colon or not file or not name:
        raise InputError(f"What is wanted must be given as FILE.py:NAME, but {target!r} came.")
    return _existing(file), name


def _existing(file: str) -> Path:
    path = Path(file)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    return path


def load(path: Path) -> ModuleType:
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


def _find(module: ModuleType, path: Path, name: str, kind: tuple[type[Any], ...]) -> Any:
    *others, last = (f"a {one.__name__}" for one in kind)
    wanted = f"{', '.join(others)} or {last}" if others else last
    if not hasattr(module, name):
        known = [key for key, value in vars(module).items() if isinstance(value, kind)]
        hint = f"; it defines {', '.join(known)}" if known else ""
        raise InputError(f"{path} does not define {name}{hint}.")
    found: Any = getattr(module, name)
    if isinstance(found, kind):
        return found
    if not callable(found):
        came = type(found).__name__
        raise InputError(f"{name} in {path} must be {wanted} or a function that returns one, but it has type {came}.")
    needed = _required_parameters(found)
    if needed:
        raise InputError(f"{name} in {path} must work without arguments, but it needs {', '.join(needed)}.")
    made = found()
    if isinstance(made, kind):
        return made
    came = type(made).__name__
    raise InputError(f"{name} in {path} must return {wanted}, but it returned a value of type {came}.")


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
