"""Attacks on the arithmetic: scores that find outputs which only one of two inputs can produce.

Textbook Laplace noise is scale ln(k 2^-52) with a whole number k, up to its sign: few of the floating-point numbers.
Added to 0 it stays what it is, added to 1 it is rounded; an output that is reachable from one input only gives the
input away, whatever the scale. Integer noise on integers has no such outputs.

The same happens to a Toeplitz counter that releases A x + B z with integer z: B is real, and the fractional part of the
second release fixes z_1, hence x_1 = (first release) - z_1.
"""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.audit.events import Score

STEP = 2.0**-52  # of the uniform numbers behind textbook noise
_WINDOW = 3  # whole numbers tried on either side of the best guess


def reachable(outputs: Array, value: float, scale: float) -> Array:
    """Which outputs textbook noise can produce from the input `value`."""
    noise = np.asarray(outputs, dtype=float) - value
    guess = np.rint(np.exp(-np.abs(noise) / scale) / STEP)
    found = np.zeros(noise.shape, dtype=bool)
    for offset in range(-_WINDOW, _WINDOW + 1):
        k = np.clip(guess + offset, 1, 2**52)
        size = scale * np.log(k * STEP)
        for sign in (-1.0, 1.0):
            found |= value + sign * size == outputs
    return found


def on_grid(outputs: Array, value: float, step: float) -> Array:
    """Which outputs integer noise on the grid can produce from the input `value`: those a multiple of the step away."""
    units = (np.asarray(outputs, dtype=float) - value) / step
    return np.asarray(units == np.rint(units))


def bits_score(first: float, second: float, scale: float) -> Score:
    """1 where textbook noise reaches the output from the first input only, -1 from the second only, otherwise 0."""

    def score(outputs: Array) -> Array:
        y = outputs[:, 0]
        return np.asarray(reachable(y, first, scale).astype(float) - reachable(y, second, scale))

    return score


def grid_score(first: float, second: float, step: float) -> Score:
    """The same attack on integer noise: always 0 for inputs and outputs on one grid."""

    def score(outputs: Array) -> Array:
        y = outputs[:, 0]
        return np.asarray(on_grid(y, first, step).astype(float) - on_grid(y, second, step))

    return score


def fraction_score(first: int, second: int, weight: float) -> Score:
    """1 where the fractional part of the second release fits the first value of item 1 only, -1 the second only.

    Args:
        first, second: the values of item 1 in units of the grid; the other items are 0.
        weight: of the first noise in the second release, B_1.
    """

    def fits(releases: Array, item: int) -> Array:
        rest = releases[:, 1] - weight * (releases[:, 0] - item)  # item + z_2, a whole number, if item 1 is right
        error = 1e-15 * (np.abs(releases).sum(axis=1) + abs(item) + 1) * 4
        return np.asarray(np.abs(rest - np.rint(rest)) <= error).astype(float)

    def score(releases: Array) -> Array:
        return fits(releases, first) - fits(releases, second)

    return score
