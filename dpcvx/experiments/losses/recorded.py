"""Losses of your own: from an array, or from a file with one loss a row."""

import math
import zipfile
from array import array as numbers
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, LossOutOfSetError
from dpcvx.experiments.losses.sequence import Losses, stretch_length
from dpcvx.sets import LossSet


class Recorded(Losses):
    """The rows of an array, which may be a file mapped into memory."""

    def __init__(self, name: str, rows: Array) -> None:
        super().__init__(name, len(rows), rows.shape[1:])
        self._array = rows

    def _rows(self, start: int, stop: int) -> Array:
        return np.asarray(self._array[start:stop], dtype=float)[:]


def from_array(array: Any, Y: LossSet | None = None) -> Losses:
    """The rows of an array as losses.

    Args:
        array: (T, *shape), or (T, N) with the N entries of a loss column by column, where Y gives the shape.
        Y: the loss set, in which all rows must lie; without it they may be anything finite.

    Raises:
        ValueError: on a wrong shape, on NaN and infinities.
        LossOutOfSetError: which is a ValueError, where a row is not in Y.
    """
    rows = np.array(array)
    if rows.dtype.kind not in "biuf":
        raise ArgumentError(f"The array holds {rows.dtype}; losses are real numbers.")
    return _recorded("array", "The array", rows.astype(float), Y)


def from_file(path: str | Path, Y: LossSet | None = None) -> Losses:
    """The rows of a file as losses: .npy, .npz with one array, or text (.csv, .txt) with one loss a line.

    Fields of a text file are separated by commas, semicolons, tabs or blanks. Blank lines, lines that start with # and
    a first line without any number are skipped. A .npy file stays on disk and is read block by block.

    Args:
        path: the file.
        Y: as in `from_array`.

    Raises:
        ValueError: on what is no number, NaN, infinities and wrong shapes, with file, row and number.
        LossOutOfSetError: which is a ValueError, where a row is not in Y.
    """
    path = Path(path)
    if path.suffix in (".npy", ".npz"):
        rows = _read_numpy(path)
        if rows.dtype.kind not in "biuf":
            raise ArgumentError(f"{path} holds {rows.dtype}; losses are real numbers.")
        return _recorded(path.name, str(path), rows, Y)
    if path.suffix in (".csv", ".txt"):
        return _recorded(path.name, str(path), _read_text(path), Y)
    raise ArgumentError(f"{path} must end in .npy, .npz, .csv or .txt.")


def _read_numpy(path: Path) -> Array:
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ArgumentError(f"{path} could not be read: {error}") from error
    if isinstance(loaded, np.ndarray):
        return loaded
    with loaded:
        if len(loaded.files) != 1:
            raise ArgumentError(
                f"{path} must hold one array, but it holds {len(loaded.files)}: {', '.join(loaded.files)}."
            )
        return np.asarray(loaded[loaded.files[0]])


def _read_text(path: Path) -> Array:
    width, values = 0, numbers("d")
    for row, (line, fields) in enumerate(_lines(path)):
        read = [_number(field) for field in fields]
        if row == 0 and all(value is None for value in read):
            continue  # a header
        width = width or len(read)
        if len(read) != width:
            raise ArgumentError(f"{path}, line {line}: {len(read)} numbers, but the lines before have {width}.")
        for field, value in zip(fields, read, strict=True):
            if value is None or not math.isfinite(value):
                raise ArgumentError(f"{path}, line {line}: {field!r} is not a finite number.")
            values.append(value)
    return np.frombuffer(values, dtype=float).reshape(-1, max(width, 1))


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of every line that has some."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for line, text in enumerate(file, start=1):
            if text.strip() and not text.lstrip().startswith("#"):
                separator = next((mark for mark in ";," if mark in text), None)
                yield line, [field.strip() for field in text.split(separator)]


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _recorded(name: str, source: str, rows: Array, Y: LossSet | None) -> Losses:
    if rows.ndim == 0 or rows.size == 0:
        raise ArgumentError(f"{source} has shape {rows.shape}: it holds no losses.")
    if Y is not None and rows.shape[1:] != Y.shape:
        if rows.shape[1:] != (Y.size,):
            raise ArgumentError(
                f"{source} holds losses of shape {rows.shape[1:]}, but those of the {Y.name} have {Y.shape}."
            )
        rows = Y.unflatten(rows)
    losses = Recorded(name, rows)
    for start in range(0, losses.horizon, stretch_length(losses.shape)):
        block = losses.block(start, min(start + stretch_length(losses.shape), losses.horizon))
        _require_finite(source, start, block)
        if Y is not None:
            _require_members(source, start, block, Y)
    return losses


def _require_finite(source: str, start: int, block: Array) -> None:
    if not np.isfinite(block).all():
        row, *entry = np.argwhere(~np.isfinite(block))[0].tolist()
        value = block[(row, *entry)]
        raise ArgumentError(
            f"{source}, row {start + row} (counted from 0), entry {entry}: {value} is not a finite number."
        )


def _require_members(source: str, start: int, block: Array, Y: LossSet) -> None:
    for row in np.flatnonzero(~Y.surely_holds(block)).tolist():
        if not Y.contains(block[row]):
            raise LossOutOfSetError(
                f"{source}, row {start + row} (counted from 0): the loss is outside the {Y.name}. "
                f"{Y.check(block).suggestion} Or give Y.clip(losses)."
            )
