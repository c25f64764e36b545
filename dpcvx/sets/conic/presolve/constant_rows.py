"""Rows without a variable: they hold and go, or the set is empty."""

from collections.abc import Sequence

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import EmptySetError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.rows import describe, keep_equalities, keep_rows
from dpcvx.sets.sparse_rows import EXACT


def drop_constant_rows(conic: ConicSet, names: Sequence[str]) -> ConicSet:
    """Remove rows and whole cones without a variable, infinite bounds among them; raise where one cannot hold."""
    empty = np.diff(conic.A.indptr) == 0
    infinite = ~np.isfinite(conic.b) & conic.polyhedral
    if np.any(conic.b[infinite] < 0):
        row = int(np.flatnonzero(infinite & (conic.b < 0))[0])
        raise EmptySetError(f"The set is empty: {describe(conic.source[[row]], names)} asks for an infinite value.")
    plain = empty & conic.polyhedral & ~infinite
    broken = plain & (conic.b < -EXACT)
    if broken.any():
        raise _never(conic.source[broken][:1], names)
    curved = conic.cones.whole_blocks(empty & ~conic.polyhedral)
    outside = conic.cones.first_outside(conic.b, curved)
    if outside is not None:
        raise _never(conic.source[outside], names)
    idle = np.diff(conic.E.indptr) == 0
    broken = idle & (np.abs(conic.e) > EXACT)
    if broken.any():
        raise _never(conic.equality_source[broken][:1], names)
    return keep_rows(keep_equalities(conic, ~idle), ~(infinite | plain | curved))


def _never(sources: Array, names: Sequence[str]) -> EmptySetError:
    return EmptySetError(f"The set is empty: {describe(sources, names)} can never hold.")
