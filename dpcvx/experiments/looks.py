"""Looks at a declared set: numbers by which two sets are told apart."""

from collections.abc import Iterator

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet, LossSet

_COUNT = 16  # linear functions


def looks(declared: DecisionSet | LossSet) -> Iterator[Array]:
    """The center of a set, and where some linear functions, always the same ones, are smallest on it."""
    covectors = np.random.default_rng(0).standard_normal((_COUNT, *declared.shape))
    yield declared.center
    yield declared.argmin(covectors)
