"""The folder of a sweep: a manifest, and for every setting one CSV file that appears when all its seeds are in.

A file comes into being in one step, so whatever interrupts the sweep leaves whole files only. Its bytes follow from the
setting and its results alone: names in order, seeds in order, numbers as Python's repr.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcvx.errors import DpcvxError
from dpcvx.storage.atomic_file import leftovers, write_atomically
from dpcvx.storage.fingerprint import fingerprint
from dpcvx.storage.lock import locked

Scalar = bool | int | float | str | None
Setting = Mapping[str, Scalar]
Row = Mapping[str, Scalar]

_MANIFEST = "sweep.json"
_FORMAT = 1
_WORDS: dict[str, Scalar] = {"": None, "True": True, "False": False}
_HASH = 16  # hexadecimal digits
_READABLE = 100  # characters of a file's name that show the setting


class SweepError(DpcvxError, RuntimeError):
    """Tasks failed, their workers were lost, or the folder belongs to something else; finished settings stay.

    Attributes:
        result: where tasks failed, the `SweepResult` of the others.
        failures: a sentence on each setting that failed.

    Example:
        >>> import dpcvx, tempfile
        >>> try:
        ...     dpcvx.read_sweep(tempfile.gettempdir() + "/no such sweep")
        ... except dpcvx.SweepError as error:
        ...     print("no such sweep" in str(error))
        True
    """

    result: Any = None
    failures: tuple[str, ...] = ()


def identity(setting: Setting) -> str:
    """What tells one setting from another: 1, 1.0, True and "1" are four values."""
    return repr(sorted(setting.items()))


def described(setting: Setting) -> str:
    """The setting in words of a sentence."""
    return ", ".join(f"{name}={value!r}" for name, value in setting.items()) or "the empty setting"


def file_name(setting: Setting) -> str:
    """Readable, and unique by a hash."""
    words = "_".join(f"{name}={value}" for name, value in setting.items())
    readable = re.sub(r"[^A-Za-z0-9.,=_+-]", "~", words)[:_READABLE].lstrip(".-")
    return f"{readable or 'setting'}-{fingerprint(identity(setting))[:_HASH]}.csv"


@dataclass(frozen=True)
class SweepFolder:
    """Reads and writes the files of one sweep."""

    path: Path

    @contextmanager
    def opened(self, task: Mapping[str, str]) -> Iterator[None]:
        """Hold the folder of this task for writing: made where it is missing, rid of what a killed sweep left.

        Raises:
            SweepError: where it belongs to another task, to no sweep, or to one that still runs.
            OSError: where it cannot be written.
        """
        self._check(task)
        self.path.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            try:
                held.enter_context(locked(self.path, wait=False))
            except BlockingIOError:
                raise SweepError(f"Another sweep is writing to {self.path}.") from None
            self._check(task)
            for part in leftovers(self.path):
                part.unlink()
            self._put(_MANIFEST, json.dumps({"format": _FORMAT, **task}, indent=1) + "\n")
            yield

    def _check(self, task: Mapping[str, str]) -> None:
        if not self.path.exists() or set(self.path.iterdir()) <= set(leftovers(self.path)):
            return
        manifest = self.manifest()
        if manifest["task"] != task["task"]:
            raise SweepError(f"{self.path} holds a sweep of {manifest['task']}, not of {task['task']}.")
        if manifest.get("source", task["source"]) != task["source"] and self.files():
            raise SweepError(
                f"{self.path} holds results of {task['task']} from before it was changed; give another folder, "
                f"or remove it, or, if its results still hold, the line source in its {_MANIFEST}."
            )

    def manifest(self) -> dict[str, Any]:
        """What the folder says of itself.

        Raises:
            SweepError: where it is not the folder of a sweep.
        """
        try:
            manifest = dict(json.loads((self.path / _MANIFEST).read_text("utf-8")))
        except FileNotFoundError:
            raise SweepError(f"{self.path} is not the folder of a sweep: it holds no {_MANIFEST}.") from None
        except (ValueError, TypeError):
            raise SweepError(f"{self.path / _MANIFEST} is damaged; it must be a JSON object.") from None
        if manifest.get("format") != _FORMAT or "task" not in manifest:
            raise SweepError(f"{self.path / _MANIFEST} has format {manifest.get('format')}; expected {_FORMAT}.")
        return manifest

    def files(self) -> list[Path]:
        """The files of all finished settings, in the order of their names."""
        return sorted(self.path.glob(f"*-{'[0-9a-f]' * _HASH}.csv"))

    def rows(self, setting: Setting) -> list[Row]:
        """What is known of a setting; nothing where it is not finished."""
        path = self.path / file_name(setting)
        return read_rows(path) if path.exists() else []

    def write(self, setting: Setting, rows: Iterable[Row]) -> None:
        """Put the rows of a setting, each with its seed, in its file.

        Raises:
            SweepError: where the rows differ in their names.
        """
        ordered = sorted(rows, key=lambda row: int(row["seed"]))  # type: ignore[arg-type]  # a seed is a number
        names = list(ordered[0])
        for row in ordered:
            if list(row) != names:
                raise SweepError(
                    f"The rows for {described(setting)} differ in their names: seed {ordered[0]['seed']} has {names}, "
                    f"seed {row['seed']} has {list(row)}."
                )
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")  # a text that holds one of these two is then quoted
        writer.writerow(names)
        writer.writerows([_written(value) for value in row.values()] for row in ordered)
        self._put(file_name(setting), text.getvalue())
        self._failure_of(setting).unlink(missing_ok=True)

    def write_failure(self, setting: Setting, words: str) -> None:
        """Record that a setting failed; its file goes once the setting is finished."""
        self._put(self._failure_of(setting).name, words)

    def _failure_of(self, setting: Setting) -> Path:
        return (self.path / file_name(setting)).with_suffix(".failed")

    def _put(self, name: str, text: str) -> None:
        write_atomically(self.path / name, text.encode())


def read_rows(path: Path) -> list[Row]:
    """The rows of one file; a text that looks like a number is read as one, and an empty one as None."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
        rows: list[Row] = [dict(zip(header, map(_read, line), strict=True)) for line in lines]
    except (csv.Error, ValueError) as error:
        raise SweepError(f"{path} is damaged and must be removed: {error}.") from error
    if not all(isinstance(row.get("seed"), int) for row in rows):
        raise SweepError(f"{path} is damaged and must be removed: a row has no seed.")
    return rows


def _written(value: Scalar) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value)


def _read(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if repr(number) == text:
            return number
    return text
