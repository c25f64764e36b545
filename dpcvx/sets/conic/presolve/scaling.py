"""Units in which rows, columns and the set itself have size 1, up to a factor of two."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.sparse_rows import column_sizes, row_sizes


def scale(conic: ConicSet) -> ConicSet:
    """Rows of unit size cone by cone, columns of unit size, and the whole set to the size of its right-hand side."""
    A, b, E, e, P = conic.A, conic.b, conic.E, conic.e, conic.P
    for _ in range(3):
        factor = _power_of_two(conic.cones.largest(row_sizes(A)))
        A, b = sparse.diags_array(factor) @ A, factor * b
        factor = _power_of_two(row_sizes(E))
        E, e = sparse.diags_array(factor) @ E, factor * e
        column = sparse.diags_array(_power_of_two(np.maximum(column_sizes(A), column_sizes(E))))
        A, E, P = A @ column, E @ column, P @ column
    size = np.abs(np.concatenate([b, e, [0.0]])).max()
    unit = float(_power_of_two(np.array([size]))[0])
    return replace(
        conic,
        A=sparse.csr_array(A),
        b=b * unit,
        E=sparse.csr_array(E),
        e=e * unit,
        P=sparse.csr_array(P / unit),
    )


def _power_of_two(size: Array) -> Array:
    """The power of two nearest to 1/size, 1 where the size is 0."""
    return np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))
