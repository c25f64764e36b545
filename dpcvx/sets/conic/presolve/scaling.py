"""Units in which rows, columns and the independent parts of a set have size 1, up to a factor of two."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dpcvx.arrays import Array, Bools
from dpcvx.barriers.cone import nearest_power
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.sparse_rows import block_sums

_FAR = 2.0**12


def scale(conic: ConicSet) -> ConicSet:
    """Rows of unit size cone by cone, columns of unit size, and each part in units of its right-hand side."""
    inequalities, equalities = _Entries(conic.A), _Entries(conic.E)
    measured = _measuring(conic)[inequalities.rows]
    columns = np.ones(conic.columns)
    for _ in range(3):
        inequalities.scale_rows(conic.cones.balanced(inequalities.largest_in_rows()))
        equalities.scale_rows(nearest_power(equalities.largest_in_rows()))
        sizes = np.maximum(inequalities.largest_in_columns(measured), equalities.largest_in_columns())
        sizes = np.where(sizes > 0, sizes, inequalities.largest_in_columns())
        factor = nearest_power(sizes)
        inequalities.scale_columns(factor)
        equalities.scale_columns(factor)
        columns *= factor
    row, equality, column = _parts(conic)
    size = np.zeros(max((int(part.max(initial=-1)) for part in (row, equality, column)), default=-1) + 1)
    b, e = conic.b * inequalities.factor, conic.e * equalities.factor
    np.maximum.at(size, row, np.abs(b))
    np.maximum.at(size, equality, np.abs(e))
    unit = nearest_power(size)
    P = conic.P
    return replace(
        conic,
        A=inequalities.scaled(conic.A, columns),
        b=b * unit[row],
        E=equalities.scaled(conic.E, columns),
        e=e * unit[equality],
        P=sparse.csr_array((P.data * (columns / unit[column])[P.indices], P.indices, P.indptr), shape=P.shape),
    )


class _Entries:
    """The magnitudes of the entries of a matrix, and the factors by which its rows were multiplied."""

    def __init__(self, M: sparse.csr_array) -> None:
        self.rows, self._columns = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr)), M.indices
        self._sizes, self._shape = np.abs(M.data), M.shape
        self.factor = np.ones(M.shape[0])

    def largest_in_rows(self) -> Array:
        return _largest(self.rows, self._sizes, self._shape[0])

    def largest_in_columns(self, marked: Bools | None = None) -> Array:
        """The largest entry of each column, among those that are marked."""
        if marked is None:
            return _largest(self._columns, self._sizes, self._shape[1])
        return _largest(self._columns[marked], self._sizes[marked], self._shape[1])

    def scale_rows(self, factor: Array) -> None:
        self._sizes = self._sizes * factor[self.rows]
        self.factor = self.factor * factor

    def scale_columns(self, factor: Array) -> None:
        self._sizes = self._sizes * factor[self._columns]

    def scaled(self, M: sparse.csr_array, columns: Array) -> sparse.csr_array:
        data = M.data * (self.factor[self.rows] * columns[self._columns])
        return sparse.csr_array((data, M.indices, M.indptr), shape=M.shape)


def _largest(at: Array, sizes: Array, count: int) -> Array:
    found = np.zeros(count)
    np.maximum.at(found, at, sizes)
    return found


def _measuring(conic: ConicSet) -> Bools:
    """The rows by which columns are measured: not x_j <= 5 or X >> 0, which hold in any units.

    In polyhedral sets x_j <= 5 counts as well, unless the other rows see columns of sizes far apart.
    """
    free = conic.polyhedral & (np.diff(conic.A.indptr) == 1)
    if conic.is_polyhedral and not _far_apart(conic, ~free):
        return np.ones(len(conic.b), dtype=bool)
    for cone, rows in conic.cones:
        free[rows] |= cone.is_spectral & (conic.b[rows] == 0)
    return np.asarray(~conic.cones.whole_blocks(free))


def _far_apart(conic: ConicSet, others: Bools) -> bool:
    """Whether the other rows and the equalities, each of size 1, have columns of sizes far apart."""
    sizes = np.zeros(conic.columns)
    for entries, kept in ((_Entries(conic.A), others), (_Entries(conic.E), np.ones(len(conic.e), dtype=bool))):
        entries.scale_rows(nearest_power(entries.largest_in_rows()))
        sizes = np.maximum(sizes, entries.largest_in_columns(kept[entries.rows]))
    seen = sizes[sizes > 0]
    return len(seen) > 0 and float(seen.max()) > _FAR * float(seen.min())


def _parts(conic: ConicSet) -> tuple[Array, Array, Array]:
    """The part of each inequality, equality and column: parts have no row or cone in common, so each has its units."""
    block = conic.cones.block_of_row()
    gather = block_sums(block)
    blocks, equalities = gather.shape[0], conic.E.shape[0]
    rows = sparse.csr_array(sparse.vstack([gather @ abs(conic.A), abs(conic.E)]))
    graph = sparse.block_array([[None, rows], [rows.T, None]])
    _, label = connected_components(graph, directed=False)
    return label[:blocks][block], label[blocks : blocks + equalities], label[blocks + equalities :]
