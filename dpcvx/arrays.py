"""The array types of the package, and how what a user gives becomes an array of floating-point numbers."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bools = NDArray[np.bool_]

_LARGEST = sys.float_info.max
_LARGEST_INTEGER = int(_LARGEST)


def reals(given: Any, what: str) -> Array:
    """Real numbers as an array of floats; finite numbers beyond their range become the largest there are.

    What is given may be a secret, so nothing of it is in the sentences about it but shapes and types.

    Raises:
        ValueError: where it is no array of real numbers; `what` is how the sentence calls it.
    """
    array, trouble = None, ""
    try:
        array = np.asarray(given)
    except Exception as error:  # of NumPy, or of the object's own methods: its words may show what it holds
        trouble = type(error).__name__
    if array is None:
        raise ValueError(f"The {what} cannot be read as an array of numbers ({trouble}).")
    if array.dtype == np.float64:
        return array
    if array.dtype.kind == "c":
        raise ValueError(f"The {what} is complex; the set is real.")
    if array.dtype.kind == "O" and all(
        isinstance(entry, int | float | np.integer | np.floating) for entry in array.flat
    ):
        return _within_range(array)  # integers beyond 64 bits are among them
    if array.dtype.kind not in "biuf":
        raise ValueError(f"The {what} must hold real numbers, not {array.dtype}.")
    return _within_range(array) if array.dtype.itemsize > 8 else array.astype(float)


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
