"""What a mechanism shows, bit by bit: values, texts and exceptions in a form in which two runs can be compared."""

import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

_LONGEST = 120  # characters of a value in a sentence
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object, in the text that Python gives it
_TEXTS = ("summary", "_repr_html_")  # methods that show an object


@dataclass(frozen=True)
class Shown:
    """One observable: all its bits, and words for a sentence."""

    bits: Any
    text: str


def shown(value: Any) -> Shown | None:
    """A value as whoever sees it sees it; None where it is of no plain type."""
    bits = _bits(value)
    return None if bits is None else Shown(bits, _short(str(value)))


def _bits(value: Any) -> Any:
    """Something that is equal for the same bits alone; None for what is not numbers, texts or rows of them."""
    if isinstance(value, str):
        return "str", _ADDRESS.sub("", value)
    if value is None or isinstance(value, bool | int | bytes):
        return type(value).__name__, value
    if isinstance(value, float | complex):
        return type(value).__name__, np.asarray(value).tobytes()
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return None if array.dtype.hasobject else ("array", array.dtype.str, array.shape, array.tobytes())
    if isinstance(value, BaseException):
        return "exception", type(value).__name__, str(value), _bits(value.__cause__), _bits(value.__context__)
    if isinstance(value, dict):
        return _row("dict", [part for item in value.items() for part in item])
    if isinstance(value, tuple | list):
        return _row("row", value)
    if is_dataclass(value) and not isinstance(value, type):
        return _row(type(value).__name__, [getattr(value, field.name) for field in fields(value)])
    return None


def _row(kind: str, values: Any) -> Any:
    parts = [_bits(value) for value in values]
    return None if None in parts else (kind, *parts)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def outcome(call: Callable[[], Any]) -> tuple[Any, dict[str, Shown]]:
    """What a call returns, and all that it shows: value or exception, warnings, printed text and log records.

    The value is the exception where it raised one.
    """
    said: dict[str, Shown] = {}
    with _listening(said):
        value, said[""] = _tried(call)
    return value, said


def _tried(call: Callable[[], Any]) -> tuple[Any, Shown]:
    """What a call returns or raises, and how that looks; of what is no plain value, its type alone."""
    try:
        value = call()
    except Exception as error:
        return error, Shown(_bits(error), f"{type(error).__name__}: {_short(str(error))}")
    return value, shown(value) or Shown(type(value).__name__, type(value).__name__)


@contextmanager
def _listening(said: dict[str, Shown]) -> Iterator[None]:
    """Keep the warnings, the printed text and the log records of what happens inside, where there are any.

    Records of all levels are kept, and only here: somebody who runs the mechanism may ask for any of them.
    """
    records = _Records()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    with (
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        warnings.simplefilter("always")
        root.handlers[:] = [records]
        root.setLevel(1)
        try:
            yield
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)
    heard = {
        "warnings": "; ".join(f"{w.category.__name__}: {w.message}" for w in warned),
        "printed text": out.getvalue() + err.getvalue(),
        "log": "; ".join(records.lines),
    }
    said |= {f" ({kind})": Shown(text, _short(text)) for kind, text in heard.items() if text}


class _Records(logging.Handler):
    """Keeps log records as lines."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname}: {record.getMessage()}")


def looks(mechanism: Any) -> dict[str, Shown]:
    """All that an object shows of itself: texts, summary, and public attributes that hold numbers or texts."""
    found: dict[str, Shown] = {}
    texts = {"repr": lambda: repr(mechanism), "str": lambda: str(mechanism)}
    texts |= {name: getattr(mechanism, name) for name in _TEXTS if callable(getattr(mechanism, name, None))}
    kind = type(mechanism)
    names = [name for name in dir(mechanism) if not name.startswith("_") and not callable(getattr(kind, name, None))]
    with _listening(found):
        for name, call in texts.items():
            found[name] = _tried(call)[1]
        for name in names:
            found[name] = _tried(partial(_attribute, mechanism, name))[1]
    return found


def _attribute(mechanism: Any, name: str) -> Any:
    """An attribute, with the text of one that has fields."""
    value = getattr(mechanism, name)
    return (value, str(value)) if is_dataclass(value) else value
