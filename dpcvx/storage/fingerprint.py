"""One short text that tells contents apart."""

import hashlib
from collections.abc import Iterable

import numpy as np

from dpcvx.arrays import Array

Part = str | bytes | Array


def fingerprint(*parts: Part | Iterable[Part]) -> str:
    """The SHA-256 of contents, one after the other, as 64 hexadecimal digits.

    Args:
        *parts: texts, bytes and arrays, or iterables of them, which are read once and not kept. An array counts by its
            bytes in C order. Nothing is put between two parts, and nothing says which shape or type an array has: where
            these can vary, they are to be parts themselves.
    """
    digest = hashlib.sha256()
    for part in parts:
        for piece in [part] if isinstance(part, str | bytes | np.ndarray) else part:
            digest.update(_bytes(piece))
    return digest.hexdigest()


def _bytes(piece: Part) -> bytes:
    if isinstance(piece, bytes):
        return piece
    return piece.encode() if isinstance(piece, str) else piece.tobytes()
