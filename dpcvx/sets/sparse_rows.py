"""Arithmetic on sparse matrices row by row: products, norms, bounds of single coordinates, parallel rows."""

import numpy as np
from scipy import sparse
from scipy.sparse._sparsetools import csr_matvec  # what M @ vector ends in: on 1,000 entries the way there takes longer

from dpcvx.arrays import Array

EXACT = 1e-12  # relative difference below which two numbers of a declaration are the same


def rows_times(rows: Array, M: sparse.csr_array) -> Array:
    """rows @ M for dense rows on leading batch axes and sparse M."""
    if rows.ndim == 1:
        return np.asarray(rows @ M)
    return np.asarray((rows.reshape(-1, rows.shape[-1]) @ M).reshape(*rows.shape[:-1], M.shape[1]))


class Times:
    """A sparse matrix that is multiplied by one vector after the other."""

    def __init__(self, M: sparse.csr_array) -> None:
        self.M = sparse.csr_array(M, dtype=float)
        self._length = int(self.M.shape[0])
        self._parts = (*self.M.shape, self.M.indptr, self.M.indices, self.M.data)

    def __call__(self, vector: Array) -> Array:
        """M vector."""
        product = np.zeros(self._length)
        csr_matvec(*self._parts, vector, product)
        return product


def entry_bounds(A: sparse.csr_array, b: Array, lower: Array, upper: Array) -> None:
    """Tighten the ends of single coordinates, in place, by rows A v <= b of one entry each."""
    ends, up = b / A.data, A.data > 0
    np.minimum.at(upper, A.indices[up], ends[up])
    np.maximum.at(lower, A.indices[~up], ends[~up])


def tighten_by_equalities(E: sparse.csr_array, e: Array, lower: Array, upper: Array) -> None:
    """Tighten finite ends of single coordinates, in place, by what each equality E v = e leaves to them; outward."""
    entries = sparse.coo_array(E)
    row, column, value = entries.row, entries.col, entries.data
    at_lower, at_upper = value * lower[column], value * upper[column]
    rounding = 1e-14 * np.bincount(row, np.maximum(np.abs(at_lower), np.abs(at_upper)), len(e))
    least, most = (
        np.bincount(row, ends(at_lower, at_upper), len(e)) for ends in (np.minimum, np.maximum)
    )  # of the whole row
    top = (e - least + rounding)[row] + np.minimum(at_lower, at_upper)  # which one term is at most
    bottom = (e - most - rounding)[row] + np.maximum(at_lower, at_upper)
    up = value > 0
    np.minimum.at(upper, column, np.where(up, top, bottom) / value)
    np.maximum.at(lower, column, np.where(up, bottom, top) / value)


def row_sizes(M: sparse.csr_array) -> Array:
    """The largest magnitude in each row, 0 where the row is empty."""
    return _largest(M, 1)


def column_sizes(M: sparse.csr_array) -> Array:
    """The largest magnitude in each column, 0 where the column is empty."""
    return _largest(M, 0)


def _largest(M: sparse.csr_array, axis: int) -> Array:
    if 0 in M.shape:
        return np.zeros(M.shape[1 - axis])
    return np.asarray(abs(M).max(axis=axis).todense()).ravel()


def row_norms(M: sparse.csr_array) -> Array:
    """The Euclidean norm of each row."""
    return np.asarray(np.sqrt(np.asarray(M.power(2).sum(axis=1)).ravel()))


def column_squares(M: sparse.csr_array) -> Array:
    """The squared Euclidean norm of each column."""
    return np.asarray(M.multiply(M).sum(axis=0)).ravel()


def block_sums(block: Array) -> sparse.csr_array:
    """The matrix that adds up the rows of each block; `block` numbers the block of every row, from 0 on."""
    blocks = int(block.max(initial=-1)) + 1
    return sparse.csr_array((np.ones(len(block)), (block, np.arange(len(block)))), shape=(blocks, len(block)))


def parallel_groups(unit: sparse.csr_array) -> tuple[Array, Array]:
    """For each unit row the number of its direction, and the sign with which it points along it.

    Rows are sorted by one random projection, and neighbours compared in full.
    """
    key = unit @ np.random.default_rng(0).standard_normal(unit.shape[1])
    sign = np.where(key < 0, -1.0, 1.0)
    order = np.argsort(np.abs(key), kind="stable")
    turned = sparse.csr_array(sparse.diags_array(sign) @ unit)[order]
    change = row_sizes(sparse.csr_array(turned[1:] - turned[:-1]))
    group = np.empty(len(key), dtype=int)
    group[order] = np.concatenate([[0], np.cumsum(change > EXACT)])
    return group, sign
