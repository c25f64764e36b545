"""Systems E W E' y = r with sparse rows E and a diagonal W that changes: analysed once, factorised again for every W.

The entries of the upper triangle of E W E' are linear in W, so they come from one product with a fixed sparse matrix.
"""

from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from dpcvx.arrays import Array
from dpcvx.sets.solvers.factorisations import Banded, Factorisation, Factorised, Qdldl, suits_band
from dpcvx.sets.solvers.spares import Spares
from dpcvx.sets.sparse_rows import Times, row_norms

MOST_PRODUCTS = 20_000_000  # of two entries of one column of E, summed over the columns
_SHIFT = 1e-13  # added to the diagonal where rows may depend on each other
_PIVOT = 1e-7  # below which a row of length 1 is taken to depend on others, and then looked at
_CHEAPER = 0.97  # of the work, for which another order of the rows is taken
_TRIED = 3  # random orders of the rows
_PATIENCE = 2e9  # multiplications after which no further order is tried
_SHARE = 0.1  # of the largest coefficient, from which on a row can be left out in place of the one that it expresses
_DEPENDENT = 1e-9  # part of a combination of dependent rows that the others may fail to express


class NormalEquations:
    """The matrices E W E' for one E of independent rows.

    Args:
        E: the rows.
        factorisation: who factorises; see `Factorised`.
    """

    def __init__(self, E: sparse.csr_array, factorisation: Factorisation | None = None) -> None:
        self._factorisation: Factorisation = factorisation or Qdldl
        self._pattern, fill = _products(E)
        self._idle: Spares[_Matrix] = Spares()
        self._set_rows(sparse.csr_array(E), fill)

    def _set_rows(self, E: sparse.csr_array, fill: sparse.csr_array) -> None:
        self.E, self.transposed, self.count = E, sparse.csr_array(E.T), int(E.shape[0])
        self.rows, self.columns, self._fill = Times(E), Times(self.transposed), Times(fill)  # of one vector

    def scaled(self, unit: Array) -> "NormalEquations":
        """The same for E with its columns multiplied by units; what was analysed is shared."""
        other = copy(self)
        by = sparse.diags_array(unit)
        other._set_rows(sparse.csr_array(self.E @ by), sparse.csr_array(self._fill.M @ by @ by))
        return other

    def upper(self, weights: Array) -> sparse.csc_array:
        """The upper triangle of E W E'."""
        matrix = sparse.csc_array(self._pattern)  # shares the pattern
        matrix.data = self._fill(weights)
        return matrix

    def factorise(self, weights: Array) -> "Lease":
        """E W E' factorised for positive weights.

        Raises:
            np.linalg.LinAlgError: where they are not, or too far apart.
        """
        values = self._fill(weights)
        matrix = self._idle.take(lambda: self._set_up(values))
        if matrix.upper.data is not values:  # one that was not set up for them
            matrix.upper.data = values
            matrix.factorised.refactor(matrix.upper)
        return Lease(matrix, self._idle)

    def _set_up(self, values: Array) -> "_Matrix":
        upper = sparse.csc_array(self._pattern)
        upper.data = values
        return _Matrix(upper, self._factorisation(upper))

    def __getstate__(self) -> dict[str, Any]:
        """Without the solvers, which are set up again where they are needed."""
        return {**self.__dict__, "_idle": Spares()}


class _Matrix(NamedTuple):
    """The upper triangle of a matrix, whose numbers change, and what factorises it."""

    upper: sparse.csc_array
    factorised: Factorised


class Lease:
    """A factorised matrix that is its holder's alone; what holds its numbers serves another matrix once it is gone."""

    def __init__(self, matrix: _Matrix, idle: Spares[_Matrix]) -> None:
        self._matrix, self._idle = matrix, idle
        self.solve = matrix.factorised.solve

    def __del__(self) -> None:
        self._idle.put_back(self._matrix)


def count_products(E: sparse.csr_array) -> int:
    """How many products of two entries of one column there are."""
    counts = np.diff(sparse.csc_array(E).indptr).astype(np.int64)
    return int((counts * (counts + 1) // 2).sum())


def _products(E: sparse.csr_array) -> tuple[sparse.csc_array, sparse.csr_array]:
    """The pattern of the upper triangle of E W E', and the matrix that takes the diagonal of W to its entries."""
    columns = sparse.csc_array(E)
    columns.sort_indices()
    counts = np.diff(columns.indptr)
    n, width = E.shape
    row, column, value, source = [], [], [], []
    for count in np.unique(counts[counts > 0]):
        mine = np.flatnonzero(counts == count)
        places = columns.indptr[mine][:, None] + np.arange(count)
        first, second = np.triu_indices(count)
        row.append(columns.indices[places[:, first]].ravel())
        column.append(columns.indices[places[:, second]].ravel())
        value.append((columns.data[places[:, first]] * columns.data[places[:, second]]).ravel())
        source.append(np.repeat(mine, len(first)))
    keys = np.concatenate(column).astype(np.int64) * n + np.concatenate(row)
    entries, place = np.unique(keys, return_inverse=True)
    start = np.searchsorted(entries, np.arange(n + 1, dtype=np.int64) * n)
    pattern = sparse.csc_array((np.ones(len(entries)), (entries % n).astype(np.int32), start.astype(np.int32)), (n, n))
    fill = sparse.csr_array((np.concatenate(value), (place, np.concatenate(source))), (len(entries), width))
    return pattern, fill


class Equalities:
    """The solutions of E v = e for sparse rows E, of which some may depend on the others.

    Attributes:
        kept: the numbers of independent rows that say as much as all of them.
        system: the normal equations of these, each of length 1.

    Raises:
        np.linalg.LinAlgError: where rounding does not tell which rows depend on each other.
    """

    def __init__(self, E: sparse.csr_array, factorisation: Factorisation | None = None) -> None:
        norm = row_norms(E)
        rows = sparse.csr_array(sparse.diags_array(1 / np.where(norm > 0, norm, 1.0)) @ E)
        present = np.flatnonzero(norm > 0)
        small, work = _without_pivots(sparse.csr_array(rows[present]))
        kept = np.delete(present, small)
        if work <= _PATIENCE and len(small) == 1:
            kept = _without_fullest(rows, kept, int(present[small[0]]))
        if factorisation is None and suits_band(_products_of(rows, kept), work):
            factorisation = Banded
        elif work <= _PATIENCE:
            kept = kept[_cheap_order(_products_of(rows, kept))]
        self.kept = kept
        self._scale = 1 / norm[self.kept]
        self.system = NormalEquations(sparse.csr_array(rows[self.kept]), factorisation)
        if len(small):
            combined = np.random.default_rng(0).standard_normal(len(small)) @ rows[present[small]]
            if not np.linalg.norm(self.tangential(combined)) <= _DEPENDENT * max(float(np.linalg.norm(combined)), 1.0):
                raise np.linalg.LinAlgError("rounding does not tell which equalities depend on each other")

    def tangential(self, d: Array) -> Array:
        """The part of a vector along which no row changes."""
        for _ in range(2):
            d = d - self._normal(self.system.rows(d))
        return d

    def nearest(self, v: Array, e: Array) -> Array:
        """The solution that is nearest to v, for the right-hand sides e of all rows."""
        right = e[self.kept] * self._scale
        for _ in range(2):
            v = v - self._normal(self.system.rows(v) - right)
        return v

    def _normal(self, missing: Array) -> Array:
        """The shortest vector along which the rows change so much."""
        return self.system.columns(self._plain.solve(missing))

    @cached_property
    def _plain(self) -> Lease:
        return self.system.factorise(np.ones(self.system.E.shape[1]))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_plain"}


def _without_pivots(rows: sparse.csr_array) -> tuple[Array, float]:
    """Which of the rows, all of length 1, hardly have a pivot in L D L' of their products, and the work of that.

    The others express them.
    """
    system = NormalEquations(rows)
    shift = _SHIFT * sparse.eye_array(rows.shape[0])
    factorised = Qdldl(sparse.csc_array(system.upper(np.ones(rows.shape[1])) + shift))
    pivots, order = factorised.pivots()
    return np.sort(order[pivots < _PIVOT]), factorised.work


def _without_fullest(rows: sparse.csr_array, kept: Array, left_out: int) -> Array:
    """The numbers of rows that say the same as the kept ones, where these express one more: the fullest is left out.

    With y the coefficients by which the kept rows express the one that was left out, any of those with a large one can
    be left out in its place, and one with many entries makes the products of all others fuller.
    """
    mine = sparse.csr_array(rows[kept])
    system = NormalEquations(mine)
    y = system.factorise(np.ones(mine.shape[1])).solve(system.rows(rows[[left_out]].toarray()[0]))
    full = np.where(np.abs(y) >= _SHARE * np.abs(y).max(initial=1.0), np.diff(mine.indptr), 0)
    fullest = int(np.argmax(full))
    if full[fullest] <= rows.indptr[left_out + 1] - rows.indptr[left_out]:
        return kept
    return np.asarray(np.append(np.delete(kept, fullest), left_out))


def _products_of(rows: sparse.csr_array, kept: Array) -> sparse.csr_array:
    """Those of the kept rows with each other."""
    mine = sparse.csr_array(rows[kept])
    return sparse.csr_array(mine @ mine.T)


def _cheap_order(products: sparse.csr_array) -> Array:
    """An order of independent rows, given by their products with each other, for which QDLDL has little to do.

    AMD orders them for itself, but among equals it goes by the order in which they come. So some are tried: as they
    were declared, by Cuthill and McKee, and by chance. On a layered graph of 10,000 edges that saves a fifth.
    """
    count = int(products.shape[0])
    rng = np.random.default_rng(0)
    orders = [np.arange(count), reverse_cuthill_mckee(products, symmetric_mode=True)]
    orders += [rng.permutation(count) for _ in range(_TRIED)]
    work: list[float] = []
    for order in orders:
        work.append(Qdldl(sparse.csc_array(sparse.triu(products[order][:, order]))).work)
        if sum(work) > _PATIENCE:
            break
    best = int(np.argmin(work))
    return np.asarray(orders[best if work[best] < _CHEAPER * work[0] else 0])
