"""Sparse symmetric positive definite matrices, factorised again and again with other numbers in the same places.

QDLDL makes its multiplications one by one, in an order that leaves few of them. LAPACK makes all of a band, in blocks
and many times faster, so it is the better one where a band holds little more than the factor: on a layered graph.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import qdldl
from scipy import sparse
from scipy.linalg.lapack import dpbtrf, dpbtrs
from scipy.sparse.csgraph import breadth_first_order, reverse_cuthill_mckee

from dpcvx.arrays import Array

_BLOCK = 40  # width from which LAPACK works in blocks that are worth it
_AT_ONCE = 4.0  # multiplications in a wide band that take no longer than one of QDLDL
_LOOKS = 3  # for a row that is far from the others, from which a band is begun


class Factorised(Protocol):
    """A factorised symmetric positive definite matrix that can be factorised again with other numbers in its place."""

    def refactor(self, upper: sparse.csc_array) -> None:
        """Factorise the matrix with this upper triangle, whose entries stand where those of the first one stood."""

    def solve(self, right: Array) -> Array:
        """The solution for one right-hand side."""


Factorisation = Callable[[sparse.csc_array], Factorised]  # from the upper triangle of the first matrix


class Qdldl:
    """L D L' by QDLDL, ordered by AMD."""

    def __init__(self, upper: sparse.csc_array) -> None:
        try:
            self._solver = qdldl.Solver(upper, upper=True)
        except RuntimeError as error:
            raise np.linalg.LinAlgError(f"QDLDL: {error}") from error

    def refactor(self, upper: sparse.csc_array) -> None:
        try:
            self._solver.update(upper, upper=True)
        except RuntimeError as error:
            raise np.linalg.LinAlgError(f"QDLDL: {error}") from error

    def solve(self, right: Array) -> Array:
        return np.asarray(self._solver.solve(right))

    @property
    def work(self) -> float:
        """Multiplications of a factorisation, about."""
        return float((np.diff(self._solver.factors()[0].indptr).astype(float) ** 2).sum())

    def pivots(self) -> tuple[Array, Array]:
        """The pivots, and the row that each belongs to."""
        _, pivots, rows = self._solver.factors()
        return np.asarray(pivots), np.asarray(rows)


class Banded:
    """L L' in a band around the diagonal by LAPACK, for rows in an order that keeps it narrow."""

    def __init__(self, upper: sparse.csc_array) -> None:
        order, width = band_order(upper)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        row, column = place[upper.indices], place[np.repeat(np.arange(len(order)), np.diff(upper.indptr))]
        self._order, self._place = order, place
        self._band = np.empty((width + 1, len(order)), order="F")
        self._flat = self._band.reshape(-1, order="F")  # the same numbers, the diagonal of each column first
        self._where = np.abs(row - column) + np.minimum(row, column) * (width + 1)
        self.refactor(upper)

    def refactor(self, upper: sparse.csc_array) -> None:
        self._flat[:] = 0.0
        self._flat[self._where] = upper.data
        _, failed = dpbtrf(self._band, lower=1, overwrite_ab=1)
        if failed:
            raise np.linalg.LinAlgError(f"LAPACK: pivot {failed} of {len(self._order)} is not positive.")

    def solve(self, right: Array) -> Array:
        solution, _ = dpbtrs(self._band, right[self._order], lower=1, overwrite_b=1)
        return np.asarray(solution[self._place])


def band_order(upper: sparse.csc_array) -> tuple[Array, int]:
    """An order of the rows of a matrix with this upper triangle for which its band is narrow, and the width of that.

    Rows are taken as they come, as by Cuthill and McKee, or by their distance from one that is far from the others.
    """
    pattern = sparse.csr_array(upper)
    count = int(pattern.shape[0])
    joined = sparse.csr_array(pattern + pattern.T)
    orders = [np.arange(count), reverse_cuthill_mckee(joined, symmetric_mode=True)]
    far = 0
    for _ in range(_LOOKS if count else 0):
        reached = breadth_first_order(joined, far, return_predecessors=False)
        orders.append(np.concatenate([reached, np.setdiff1d(np.arange(count), reached)]))
        far = int(reached[-1])
    widths = [_width(pattern, order) for order in orders]
    best = int(np.argmin(widths))
    return np.asarray(orders[best]), widths[best]


def suits_band(matrix: sparse.csr_array, work: float) -> bool:
    """Whether a matrix is factorised faster in a band, where QDLDL has so much work."""
    width = band_order(sparse.csc_array(matrix))[1]
    return width >= _BLOCK and matrix.shape[0] * float(width) ** 2 <= _AT_ONCE * work


def _width(pattern: sparse.csr_array, order: Array) -> int:
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    row = place[np.repeat(np.arange(len(order)), np.diff(pattern.indptr))]
    return int(np.abs(row - place[pattern.indices]).max(initial=0))
