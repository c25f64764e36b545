"""The independent factors of a conic set: it is the product of sets in disjoint coordinates."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.sparse_rows import block_sums


def factors(conic: ConicSet) -> tuple[int, Array]:
    """The number of independent factors, and the factor of each inequality row."""
    block = conic.cones.block_of_row()
    gather = block_sums(block)
    blocks = gather.shape[0]
    rows = sparse.vstack([gather @ abs(conic.A), abs(conic.E), abs(conic.P)])
    graph = sparse.block_array([[None, rows], [rows.T, None]])
    _, label = connected_components(graph, directed=False)
    present = np.unique(label[rows.shape[0] :])  # the labels of columns
    return len(present), np.searchsorted(present, label[:blocks][block])
