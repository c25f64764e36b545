"""Checks of arguments: each returns the argument in its expected form or says which one is wrong, and why.

As in `dpcvx.arguments` the value comes first and its name second.
"""

import numpy as np
from numpy.typing import ArrayLike

from dpcvx.arguments import as_whole
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError


def whole(value: object, name: str, at_least: int, at_most: int | None = None) -> int:
    """Return ``value`` as an int between ``at_least`` and ``at_most``, both included."""
    number = as_whole(value)
    if number is None or number < at_least or (at_most is not None and number > at_most):
        accepted = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        raise ArgumentError(f"{name} must be a whole number {accepted}, but {value!r} came.")
    return number


def positive(value: object, name: str) -> float:
    """Return ``value`` as a finite float greater than zero."""
    number = _as_array(value, name, "a positive finite number")
    if number.ndim != 0 or not np.isfinite(number) or number <= 0:
        raise ArgumentError(f"{name} must be a positive finite number, but {value!r} came.")
    return float(number)


def real_array(value: ArrayLike, name: str) -> Array:
    """Return ``value`` as an array of floats of any shape; infinities are allowed, NaN is not."""
    array = _as_array(value, name, "an array of numbers")
    if np.any(np.isnan(array)):
        position = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise ArgumentError(f"{name} must hold numbers, but its entry {position} is NaN.")
    return array


def finite_array(value: ArrayLike, name: str, ndim: int) -> Array:
    """Return ``value`` as an array of finite floats with ``ndim`` axes, none of them empty."""
    array = _as_array(value, name, "an array of numbers")
    if array.ndim != ndim or array.size == 0:
        kind = {1: "a vector", 2: "a matrix"}[ndim]
        raise ArgumentError(f"{name} must be {kind} with at least one entry, but an array of shape {array.shape} came.")
    require_finite(array, name)
    return array


def center_of(n: int, center: ArrayLike | None) -> Array:
    """Return ``center`` as a vector of length ``n``, the origin if it is None."""
    if center is None:
        return np.zeros(n)
    vector = finite_array(center, "center", ndim=1)
    if vector.shape != (n,):
        raise ArgumentError(f"center must have length {n}, but a vector of length {vector.size} came.")
    return vector


def require_finite(array: Array, name: str) -> None:
    """Raise if ``array`` holds a NaN or an infinity, and say where."""
    if not np.all(np.isfinite(array)):
        position = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ArgumentError(f"{name} must be finite, but its entry {position} is {array[position]}.")


def _as_array(value: object, name: str, accepted: str) -> Array:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"{name} must be {accepted}, but numpy cannot read it: {error}.") from error
    if array.dtype.kind not in "biuf":
        raise ArgumentError(f"{name} must be {accepted}, but {value!r} came.")
    return array.astype(np.float64)
