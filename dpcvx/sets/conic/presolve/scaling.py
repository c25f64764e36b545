"""Units in which rows, columns and the independent parts of a set have size 1, up to a factor of two."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.sparse_rows import block_sums, column_sizes, row_sizes


def scale(conic: ConicSet) -> ConicSet:
    """Rows of unit size cone by cone, columns of unit size, and each part in units of its right-hand side."""
    A, b, E, e, P = conic.A, conic.b, conic.E, conic.e, conic.P
    for _ in range(3):
        factor = _power_of_two(conic.cones.largest(row_sizes(A)))
        A, b = sparse.diags_array(factor) @ A, factor * b
        factor = _power_of_two(row_sizes(E))
        E, e = sparse.diags_array(factor) @ E, factor * e
        column = sparse.diags_array(_power_of_two(np.maximum(column_sizes(A), column_sizes(E))))
        A, E, P = A @ column, E @ column, P @ column
    row, equality, column = _parts(conic)
    size = np.zeros(max((int(part.max(initial=-1)) for part in (row, equality, column)), default=-1) + 1)
    np.maximum.at(size, row, np.abs(b))
    np.maximum.at(size, equality, np.abs(e))
    unit = _power_of_two(size)
    return replace(
        conic,
        A=sparse.csr_array(A),
        b=b * unit[row],
        E=sparse.csr_array(E),
        e=e * unit[equality],
        P=sparse.csr_array(P @ sparse.diags_array(1 / unit[column])),
    )


def _parts(conic: ConicSet) -> tuple[Array, Array, Array]:
    """The part of each inequality, equality and column: parts have no row or cone in common, so each has its units."""
    block = conic.cones.block_of_row()
    gather = block_sums(block)
    blocks, equalities = gather.shape[0], conic.E.shape[0]
    rows = sparse.csr_array(sparse.vstack([gather @ abs(conic.A), abs(conic.E)]))
    graph = sparse.block_array([[None, rows], [rows.T, None]])
    _, label = connected_components(graph, directed=False)
    return label[:blocks][block], label[blocks : blocks + equalities], label[blocks + equalities :]


def _power_of_two(size: Array) -> Array:
    """The power of two nearest to 1/size, 1 where the size is 0."""
    return np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))
