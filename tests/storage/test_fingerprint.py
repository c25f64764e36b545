"""Fingerprints: the SHA-256 of all contents in their order, and of nothing else."""

import hashlib

import numpy as np
import pytest

from dpcvx.storage.fingerprint import fingerprint

BASE = np.linspace(-1, 1, 12).reshape(3, 4)


def test_it_is_the_sha_256_of_the_parts_one_after_the_other():
    whole = "ε = 1".encode() + b"\x00" + BASE.tobytes()
    assert fingerprint("ε = 1", b"\x00", BASE) == hashlib.sha256(whole).hexdigest()
    assert fingerprint() == hashlib.sha256(b"").hexdigest()


def test_an_iterable_counts_as_its_pieces_and_is_read_as_it_comes():
    kept = []

    def rows():
        for row in BASE:
            kept.append(row)
            yield row

    assert fingerprint("losses", rows()) == fingerprint("losses", BASE) and len(kept) == 3
    assert fingerprint(["a", b"b"], "c") == fingerprint("abc")


@pytest.mark.parametrize(
    "other",
    [
        np.nextafter(BASE, 2),
        BASE[::-1],
        BASE.T,
        np.where(np.arange(12).reshape(3, 4) == 5, np.nextafter(BASE, 2), BASE),
        BASE.astype(np.float32),
        BASE[:2],
    ],
)
def test_arrays_that_differ_in_one_bit_or_in_their_order_are_told_apart(other):
    assert fingerprint(BASE) != fingerprint(other)
    assert fingerprint(np.array([0.0])) != fingerprint(np.array([-0.0]))


def test_how_an_array_lies_in_memory_does_not_count():
    assert fingerprint(BASE) == fingerprint(np.asfortranarray(BASE)) == fingerprint(np.repeat(BASE, 2, axis=0)[::2])


def test_what_cannot_be_read_is_not_passed_over():
    for part in (1, None, [1.0]):
        with pytest.raises((TypeError, AttributeError)):
            fingerprint(part)
