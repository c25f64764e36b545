"""Which conic sets have a diagonal Hessian but for a few rows, and which rows are which."""

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet

FEW = 8  # equalities, and dense rows and balls together, up to which the chart is worth its while
WORTH = 64  # coordinates below which dense rows and balls are better left to the dense chart, which is more accurate


class DiagonalStructure:
    """Which rows of a conic set are diagonal and which are the few others.

    Attributes:
        single: plain inequalities with one entry each, in `column` with `coefficient`.
        dense: the other plain inequalities.
        balls: the head row and the tail rows of each axis-parallel ball.
        layers: single rows for each coordinate where they come in order, 0 where they do not.
        E: the equalities.
    """

    def __init__(self, conic: ConicSet, single: Array, dense: Array, balls: list[tuple[int, slice]]) -> None:
        self.single, self.dense, self.balls = single, dense, balls
        A = conic.A[single]
        self.column, self.coefficient = A.indices.copy(), A.data.copy()
        layers, rest = divmod(len(self.column), conic.columns)
        in_order = not rest and np.array_equal(self.column, np.tile(np.arange(conic.columns), layers))
        self.layers = layers if in_order else 0
        self.E = conic.E.toarray()

    @staticmethod
    def of(conic: ConicSet) -> "DiagonalStructure | None":
        """The structure of a conic set, or None where it has another one."""
        if conic.auxiliary.any() or conic.E.shape[0] > FEW or np.any(np.diff(conic.P.indptr) > 1):
            return None
        entries = np.diff(conic.A.indptr)
        single = np.flatnonzero(conic.polyhedral & (entries == 1))
        dense = np.flatnonzero(conic.polyhedral & (entries > 1))
        covered = np.zeros(conic.columns, dtype=bool)
        covered[conic.A[single].indices] = True
        found = conic.cones.balls(most=FEW)
        if found is None:
            return None
        balls = [(rows.start, slice(rows.start + 1, rows.stop)) for rows in found]  # head and tail
        for head, tail in balls:
            block = sparse.csc_array(conic.A[tail])
            if entries[head] or entries[tail].max() > 1 or np.diff(block.indptr).max() > 1:
                return None
            covered |= np.diff(block.indptr) > 0
        few = len(dense) + len(balls)
        if few > FEW or not covered.all() or (few and conic.columns < WORTH):
            return None
        if conic.E.shape[0] and np.linalg.matrix_rank(conic.E.toarray()) < conic.E.shape[0]:
            return None
        return DiagonalStructure(conic, single, dense, balls)
