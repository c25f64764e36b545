"""The array types of the package, and how what a user gives becomes an array of floating-point numbers."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcvx.errors import ArgumentError

Array = NDArray[Any]
Bools = NDArray[np.bool_]

_KINDS = {"U": "text", "S": "text", "O": "objects of other kinds", "M": "dates", "m": "spans of time"}
_LARGEST = sys.float_info.max
_LARGEST_INTEGER = int(_LARGEST)


def reals(given: Any, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """Real numbers as an array of floats; finite numbers beyond their range become the largest there are.

    Taken is whatever NumPy makes an array of, an object with `__array__` included. A pandas Series is put in the order
    of its labels where these are the numbers of the entries; labels that are names say nothing about an order here.

    What is given may be a secret, so nothing of it is in the sentences about it but shapes and types.

    Args:
        given: the numbers.
        what: how sentences call them.
        shape: what was expected, where a sentence is to tell.

    Raises:
        ArgumentError: where it is no array of real numbers.
    """
    kind = type(given)
    wanted = (
        f"an array of real numbers{'' if shape is None else f' of shape {shape}'}" if shape != () else "a real number"
    )
    if kind.__module__.partition(".")[0] == "cvxpy":
        raise ArgumentError(
            f"The {what} must be {wanted}, not {_article(kind.__name__)} of cvxpy: give numbers, such as its value or "
            "gradient."
        )
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise ArgumentError(f"The {what} has masked entries, which are no numbers; give numbers for all, by .filled().")
    array, trouble = None, ""
    try:
        array = _in_order(given) if _is_series(given) else np.asarray(given)
    except Exception as error:  # of NumPy, or of the object's own methods: its words may show what it holds
        trouble = type(error).__name__
    if array is None and not trouble:
        raise ArgumentError(
            f"The {what} is a pandas Series whose labels are not the numbers 0 to {len(given) - 1} of its entries: put "
            "it in the order of the variable, and give its numbers by .to_numpy()."
        )
    if array is None:
        raise ArgumentError(f"The {what} cannot be read as an array of numbers ({trouble}).")
    if array.dtype == np.float64:
        return array
    if array.dtype.kind == "c":
        raise ArgumentError(f"The {what} is complex; the set is real.")
    if array.dtype.kind == "O" and all(
        isinstance(entry, int | float | np.integer | np.floating) for entry in array.flat
    ):
        return _within_range(array)  # integers beyond 64 bits are among them
    if array.dtype.kind == "O" and array.ndim == 0:
        raise ArgumentError(f"The {what} must be {wanted}, not {_article(kind.__name__)}.")
    if array.dtype.kind not in "biuf":
        raise ArgumentError(f"The {what} must hold real numbers, not {_KINDS.get(array.dtype.kind, array.dtype)}.")
    return _within_range(array) if array.dtype.itemsize > 8 else array.astype(float)


def _is_series(given: Any) -> bool:
    return type(given).__module__.partition(".")[0] == "pandas" and type(given).__name__ == "Series"


def _in_order(series: Any) -> Array | None:
    """The values of a pandas Series by its labels 0 to n - 1; None where it has others."""
    labels = np.asarray(series.index)
    if labels.dtype.kind not in "iu" or not np.array_equal(np.sort(labels), np.arange(len(labels))):
        return None
    return np.asarray(series)[np.argsort(labels)]


def _article(name: str) -> str:
    if name == "NoneType":
        return "None"
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def _within_range(array: Array) -> Array:
    """Numbers of any size as floats, one by one: few arrays have such entries."""
    return np.array([_as_float(entry) for entry in array.flat], dtype=float).reshape(array.shape)


def _as_float(number: Any) -> float:
    """The number as a float, or the largest of its sign where it is finite and none is as large."""
    if isinstance(number, int | np.integer):
        return float(max(-_LARGEST_INTEGER, min(_LARGEST_INTEGER, int(number))))
    with np.errstate(over="ignore"):
        value = float(number)
    return math.copysign(_LARGEST, value) if math.isinf(value) and np.isfinite(number) else value


def sums_by_column(values: Array, column: Array, width: int) -> Array:
    """Sums of values by column, on leading batch axes."""
    if values.ndim == 1:
        return np.bincount(column, weights=values, minlength=width)
    out = np.zeros((width, *values.shape[:-1]))
    np.add.at(out, column, np.moveaxis(values, -1, 0))
    return np.moveaxis(out, 0, -1)
