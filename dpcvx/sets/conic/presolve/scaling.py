"""Units in which rows, columns and the independent parts of a set have size 1, up to a factor of two."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dpcvx.arrays import Array
from dpcvx.barriers.cone import nearest_power
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.sparse_rows import block_sums, column_sizes, row_sizes


def scale(conic: ConicSet) -> ConicSet:
    """Rows of unit size cone by cone, columns of unit size, and each part in units of its right-hand side."""
    A, b, E, e, P = conic.A, conic.b, conic.E, conic.e, conic.P
    measured = _measuring(conic)
    for _ in range(3):
        factor = conic.cones.balanced(row_sizes(A))
        A, b = sparse.diags_array(factor) @ A, factor * b
        factor = nearest_power(row_sizes(E))
        E, e = sparse.diags_array(factor) @ E, factor * e
        column = sparse.diags_array(nearest_power(_largest_in_columns(A, E, measured)))
        A, E, P = A @ column, E @ column, P @ column
    row, equality, column = _parts(conic)
    size = np.zeros(max((int(part.max(initial=-1)) for part in (row, equality, column)), default=-1) + 1)
    np.maximum.at(size, row, np.abs(b))
    np.maximum.at(size, equality, np.abs(e))
    unit = nearest_power(size)
    return replace(
        conic,
        A=sparse.csr_array(A),
        b=b * unit[row],
        E=sparse.csr_array(E),
        e=e * unit[equality],
        P=sparse.csr_array(P @ sparse.diags_array(1 / unit[column])),
    )


def _measuring(conic: ConicSet) -> Array:
    """The rows by which columns are measured: in curved sets not x_j <= 5 or X >> 0, which hold in any units."""
    if conic.is_polyhedral:
        return np.arange(len(conic.b))
    free = conic.polyhedral & (np.diff(conic.A.indptr) == 1)
    for cone, rows in conic.cones:
        free[rows] |= cone.is_spectral & (conic.b[rows] == 0)
    return np.flatnonzero(~conic.cones.whole_blocks(free))


def _largest_in_columns(A: sparse.csr_array, E: sparse.csr_array, measured: Array) -> Array:
    sizes = np.maximum(column_sizes(sparse.csr_array(A[measured])), column_sizes(E))
    return np.where(sizes > 0, sizes, column_sizes(A))


def _parts(conic: ConicSet) -> tuple[Array, Array, Array]:
    """The part of each inequality, equality and column: parts have no row or cone in common, so each has its units."""
    block = conic.cones.block_of_row()
    gather = block_sums(block)
    blocks, equalities = gather.shape[0], conic.E.shape[0]
    rows = sparse.csr_array(sparse.vstack([gather @ abs(conic.A), abs(conic.E)]))
    graph = sparse.block_array([[None, rows], [rows.T, None]])
    _, label = connected_components(graph, directed=False)
    return label[:blocks][block], label[blocks : blocks + equalities], label[blocks + equalities :]
