"""Random numbers from a seed and a purpose, so that no two parts of a simulation draw the same ones.

A seed alone says too little: a learner and the noise on its feedback that both start from `default_rng(0)` draw one
stream, and what looks like noise is then known to the learner. So every part of the package that takes a seed asks here
for its stream, and says what the stream is for.
"""

import zlib

import numpy as np

from dpcvx.arguments import as_whole, kind_of
from dpcvx.errors import ArgumentError

Seed = int | np.random.Generator | None


def stream(seed: Seed, purpose: str, *key: int) -> np.random.Generator:
    """The random numbers of one part of the package.

    They differ between purposes, and from those of `numpy.random.default_rng(seed)` and of what that spawns.

    Args:
        seed: an int gives the same numbers on every machine. A Generator gives those of a new child of it, so that each
            call gets others, and the numbers of the Generator itself stay what they were. None is for numbers that
            cannot be had again.
        purpose: what they are for, in words that no other part of the package uses.
        *key: numbers that tell many streams of one purpose apart.

    Raises:
        ArgumentError: where the seed is something else.
    """
    if seed is None:
        return np.random.default_rng()
    number = as_whole(seed)
    if number is not None and number < 0:
        raise ArgumentError(f"seed must be an int of at least 0 or a NumPy Generator, not {number}.")
    # a purpose by its checksum, which is the same in every process and every version of Python, unlike hash()
    path = (zlib.crc32(purpose.encode()), *key)
    if number is not None:
        return np.random.default_rng(np.random.SeedSequence(number, spawn_key=path))
    try:
        parent = np.random.default_rng(seed).spawn(1)[0].bit_generator.seed_seq
    except (TypeError, ValueError):
        raise ArgumentError(f"seed must be an int or a NumPy Generator, not {kind_of(seed)}.") from None
    assert isinstance(parent, np.random.SeedSequence)
    return np.random.default_rng(np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, *path)))
