"""Equalities among auxiliary columns alone."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.rows import drop_columns, keep_equalities


def substitute_equalities(conic: ConicSet) -> ConicSet:
    """Solve equalities among auxiliary columns alone for one of them: heads behind them come to light."""
    while True:
        found = _solvable(conic)
        if found is None:
            return conic
        row, j, pivot = found
        used = sparse.csr_array(conic.A[:, [j]]) / pivot
        others = np.arange(conic.E.shape[0]) != row
        conic = replace(
            keep_equalities(conic, others),
            A=sparse.csr_array(conic.A - used @ conic.E[[row]]),
            b=conic.b - used @ conic.e[[row]],
        )
        conic = drop_columns(conic, np.array([j]))


def _solvable(conic: ConicSet) -> tuple[int, int, float] | None:
    """An equality among auxiliary columns, one of them that occurs in no other equality, and its coefficient."""
    E = conic.E
    if not E.shape[0]:
        return None
    reaching = E[:, ~conic.auxiliary]
    occurrences = np.diff(sparse.csc_array(E).indptr)
    for row in np.flatnonzero((np.diff(reaching.indptr) == 0) & (np.diff(E.indptr) > 0)):
        at = slice(E.indptr[row], E.indptr[row + 1])
        columns, values = E.indices[at], E.data[at]
        good = (occurrences[columns] == 1) & (np.abs(values) >= 0.1 * np.abs(values).max())
        if good.any():
            return int(row), int(columns[good][0]), float(values[good][0])
    return None
