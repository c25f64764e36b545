"""Uniform integers below given bounds, by rejection."""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.samplers.entropy import words


def uniform_below(bounds: Array) -> Array:
    """Independent integers, each uniform on 0, ..., bound - 1, as 64-bit integers in the shape of the bounds.

    A word w below the largest multiple of n under 2^64 gives w mod n, and another one is drawn again; only words of at
    least 2^64 - n can be others.

    Args:
        bounds: integers from 1 to 2^63, of any shape.
    """
    given = np.asarray(bounds)
    if given.dtype.kind not in "iu":
        raise ValueError(f"The bounds of uniform draws must be integers, not {given.dtype}.")
    if given.size and (int(given.min()) < 1 or int(given.max()) > 2**63):
        raise ValueError("The bounds of uniform draws must be from 1 to 2^63.")
    n = given.astype(np.uint64).ravel()
    word = words(n.size)
    drawn = word % n
    again = _rejected(word, n)
    while again.size:
        word, some = words(again.size), n[again]
        drawn[again] = word % some
        again = again[_rejected(word, some)]
    return drawn.astype(np.int64).reshape(given.shape)


def _rejected(word: Array, n: Array) -> Array:
    """Indices of the words that are not below the largest multiple of n under 2^64."""
    near = np.flatnonzero(word >= np.negative(n))  # 2^64 - n
    some = n[near]
    past = np.negative(some) % some  # 2^64 mod n: so many words at the top are too many
    return near[word[near] > np.uint64(2**64 - 1) - past]
