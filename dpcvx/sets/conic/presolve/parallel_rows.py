"""Parallel rows: the tightest inequality on each side stays, and pairs that leave no room are equalities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.errors import EmptySetError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.rows import describe, keep_equalities, keep_rows, tighten_rows
from dpcvx.sets.sparse_rows import EXACT, parallel_groups, row_norms


@dataclass(frozen=True)
class _Bounds:
    """Rows sign <d, v> <= value, the equalities among them last, sorted into groups of one unit direction d each."""

    group: Array
    sign: Array
    value: Array
    source: Array
    inequalities: int  # rows before the first equality

    @property
    def equalities(self) -> Array:
        return np.arange(self.inequalities, len(self.value))


def fold_parallel_rows(conic: ConicSet, names: Sequence[str]) -> ConicSet:
    """Of parallel inequalities keep the tightest on each side; a pair that leaves no room becomes an equality.

    Inequalities parallel to an equality, and repeated equalities, are constant: they hold and go, or the set is empty.
    """
    rows = np.flatnonzero(conic.polyhedral)
    if len(rows) + conic.E.shape[0] < 2:
        return conic
    bounds = _bounds(conic, rows)
    first = _first_equalities(bounds, names)
    tightest = _tightest(bounds, first)
    upper, lower = _flat_pairs(bounds, tightest, names)
    keep = np.ones(len(conic.b), dtype=bool)
    keep[rows] = False
    keep[rows[tightest[tightest >= 0]]] = True
    keep[rows[lower]] = False
    position = np.cumsum(keep) - 1
    kept = keep_rows(keep_equalities(conic, first[bounds.group[bounds.equalities]] == bounds.equalities), keep)
    return tighten_rows(kept, position[rows[upper]]) if len(upper) else kept


def _bounds(conic: ConicSet, rows: Array) -> _Bounds:
    stacked = sparse.csr_array(sparse.vstack([conic.A[rows], conic.E]))
    norm = row_norms(stacked)
    group, sign = parallel_groups(sparse.csr_array(sparse.diags_array(1 / norm) @ stacked))
    value = np.concatenate([conic.b[rows], conic.e]) / norm
    return _Bounds(group, sign, value, np.concatenate([conic.source[rows], conic.equality_source]), len(rows))


def _first_equalities(bounds: _Bounds, names: Sequence[str]) -> Array:
    """For each direction the first equality, which fixes it, or -1; raise where another row contradicts it."""
    group, sign, value, equal = bounds.group, bounds.sign, bounds.value, bounds.equalities
    first = np.full(group.max() + 1, -1)
    first[group[equal[::-1]]] = equal[::-1]
    fixed = np.where(first >= 0, (sign * value)[first], np.nan)[group]
    gap = value - sign * fixed
    gap[equal] = -np.abs(gap[equal])
    beyond = gap < -EXACT * np.maximum(np.abs(value), np.abs(fixed))
    if beyond.any():
        worst = int(np.flatnonzero(beyond)[0])
        raise _contradiction(bounds.source[[worst, first[group[worst]]]], -gap[worst], names)
    return first


def _tightest(bounds: _Bounds, first: Array) -> Array:
    """The tightest inequality on both sides (2, directions) of every direction that no equality fixes, else -1."""
    free = np.flatnonzero(first[bounds.group[: bounds.inequalities]] < 0)
    tightest = np.full((2, len(first)), -1)
    for side, direction in enumerate((1.0, -1.0)):
        mine = free[bounds.sign[free] == direction]
        mine = mine[np.lexsort((-mine, -bounds.value[mine]))]  # the tightest, and of equals the first, last
        tightest[side, bounds.group[mine]] = mine
    return tightest


def _flat_pairs(bounds: _Bounds, tightest: Array, names: Sequence[str]) -> tuple[Array, Array]:
    """The pairs of opposite inequalities between which there is no room; raise where there is less than none."""
    upper, lower = tightest[:, (tightest >= 0).all(axis=0)]
    room = bounds.value[upper] + bounds.value[lower]
    blur = EXACT * np.maximum(np.abs(bounds.value[upper]), np.abs(bounds.value[lower]))
    if np.any(room < -blur):
        worst = int(np.argmin(room + blur))
        raise _contradiction(bounds.source[[upper[worst], lower[worst]]], -room[worst], names)
    flat = room <= blur
    return upper[flat], lower[flat]


def _contradiction(pair: Array, amount: float, names: Sequence[str]) -> EmptySetError:
    return EmptySetError(f"The set is empty: {describe(pair, names)} contradict each other by {amount:.3g}.")
