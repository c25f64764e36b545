"""Random bits of the operating system, as 64-bit words; where it has none, an error and nothing else."""

import os

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import EntropyError

WORD = 64


def words(count: int) -> Array:
    """So many independent uniform 64-bit words.

    Raises:
        EntropyError: where the operating system gives no random bits; nothing takes their place.
    """
    return np.frombuffer(_random_bytes(8 * count), dtype=np.uint64)


def half_words(count: int) -> Array:
    """So many independent uniform 32-bit words."""
    return np.frombuffer(_random_bytes(4 * count), dtype=np.uint32)


def quarter_words(count: int) -> Array:
    """So many independent uniform 16-bit words."""
    return np.frombuffer(_random_bytes(2 * count), dtype=np.uint16)


def extended(head: int, bits: int) -> tuple[int, int]:
    """The first `bits` bits of a binary fraction with 64 more behind them, and how many these are."""
    return (head << WORD) | int.from_bytes(_random_bytes(8), "big"), bits + WORD


def _random_bytes(count: int) -> bytes:
    try:
        found = os.urandom(count)
    except (NotImplementedError, OSError) as error:
        raise EntropyError("The operating system gives no random bits, so no secure noise can be drawn.") from error
    if len(found) != count:
        raise EntropyError(f"The operating system gave {len(found)} random bytes where {count} were asked for.")
    return found
