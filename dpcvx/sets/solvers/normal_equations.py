"""Systems E W E' y = r with sparse rows E and a diagonal W that changes: analysed once, factorised again for every W.

The entries of the upper triangle of E W E' are linear in W, so they come from one product with a fixed sparse matrix.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import qdldl
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.solvers.spares import Spares
from dpcvx.sets.sparse_rows import row_norms, row_sizes

MOST_PRODUCTS = 20_000_000  # of two entries of one column of E, summed over the columns
_SHIFT = 1e-13  # added to the diagonal where rows may depend on each other
_PIVOT = 1e-7  # below which a row of length 1 is taken to depend on others, and then looked at
_DEPENDENT = 1e-9  # part of a combination of dependent rows that the others may fail to express


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
        self._solver = qdldl.Solver(upper, upper=True)

    def refactor(self, upper: sparse.csc_array) -> None:
        self._solver.update(upper, upper=True)

    def solve(self, right: Array) -> Array:
        return np.asarray(self._solver.solve(right))

    def pivots(self) -> tuple[Array, Array]:
        """The pivots, and the row that each belongs to."""
        _, pivots, rows = self._solver.factors()
        return np.asarray(pivots), np.asarray(rows)


class NormalEquations:
    """The matrices E W E' for one E of independent rows.

    Args:
        E: the rows.
        factorisation: who factorises; see `Factorised`.
    """

    def __init__(self, E: sparse.csr_array, factorisation: Factorisation | None = None) -> None:
        self.E = sparse.csr_array(E)
        self.transposed = sparse.csr_array(self.E.T)
        self._factorisation: Factorisation = factorisation or Qdldl
        self._pattern, self._fill = _products(self.E)
        self._idle: Spares[Factorised] | None = None

    def upper(self, weights: Array) -> sparse.csc_array:
        """The upper triangle of E W E'."""
        at = self._pattern
        matrix = sparse.csc_array(at)  # shares the pattern
        matrix.data = self._fill @ weights
        return matrix

    def factorise(self, weights: Array) -> "Lease":
        """E W E' factorised for positive weights."""
        upper = self.upper(weights)
        if not np.isfinite(upper.data).all():
            raise np.linalg.LinAlgError("the weights of the normal equations are not finite")
        if self._idle is None:
            self._idle = Spares(self._factorisation(upper))
        solver = self._idle.take(lambda: self._factorisation(upper))
        solver.refactor(upper)
        return Lease(solver, self._idle)

    def __getstate__(self) -> dict[str, Any]:
        """Without the solvers, which are set up again where they are needed."""
        return {**self.__dict__, "_idle": None}


class Lease:
    """A factorised matrix that is its holder's alone; what holds its numbers serves another matrix once it is gone."""

    def __init__(self, solver: Factorised, idle: Spares[Factorised]) -> None:
        self._solver, self._idle = solver, idle
        self.solve = solver.solve

    def __del__(self) -> None:
        self._idle.put_back(self._solver)


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
        dropped: the others.
        unit: the kept rows, each of length 1.
    """

    def __init__(self, E: sparse.csr_array) -> None:
        norm = row_norms(E)
        rows = sparse.csr_array(sparse.diags_array(1 / np.where(norm > 0, norm, 1.0)) @ E)
        self.kept, self.dropped = _independent(rows, norm > 0)
        self.unit = sparse.csr_array(rows[self.kept])
        self.scale = 1 / norm[self.kept]
        self._system = NormalEquations(self.unit)
        self._solver: Lease | None = None

    def tangential(self, d: Array) -> Array:
        """The part of a vector along which no row changes."""
        for _ in range(2):
            d = d - self._normal(self.unit @ d)
        return d

    def nearest(self, v: Array, e: Array) -> Array:
        """The solution that is nearest to v, for the right-hand sides e of all rows."""
        right = e[self.kept] * self.scale
        for _ in range(2):
            v = v - self._normal(self.unit @ v - right)
        return v

    def _normal(self, missing: Array) -> Array:
        """The shortest vector along which the rows change so much."""
        if not len(self.kept):
            return np.zeros(self.unit.shape[1])
        if self._solver is None:
            self._solver = self._system.factorise(np.ones(self.unit.shape[1]))
        return np.asarray(self._system.transposed @ self._solver.solve(missing))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solver": None}


def _independent(rows: sparse.csr_array, moving: Array) -> tuple[Array, Array]:
    """Rows that span all of them, of length 1 or empty, and the others.

    In L D L' of their products, shifted a little, a row that others express has hardly any pivot.

    Raises:
        np.linalg.LinAlgError: where rounding does not tell.
    """
    present = np.flatnonzero(moving)
    if not len(present):
        return present, np.arange(rows.shape[0])
    some = sparse.csr_array(rows[present])
    system = NormalEquations(some)
    shifted = sparse.csc_array(system.upper(np.ones(rows.shape[1])) + _SHIFT * sparse.eye_array(len(present)))
    pivots, order = Qdldl(shifted).pivots()
    small = np.sort(order[pivots < _PIVOT])
    kept = np.delete(np.arange(len(present)), small)
    if len(small) and len(kept):
        _check_dependent(sparse.csr_array(some[kept]), sparse.csr_array(some[small]))
    numbers = present[kept]
    return numbers, np.delete(np.arange(rows.shape[0]), numbers)


def _check_dependent(kept: sparse.csr_array, others: sparse.csr_array) -> None:
    """Raise where the kept rows do not express a random combination of the others."""
    system = NormalEquations(kept)
    solver = system.factorise(np.ones(kept.shape[1]))
    combined = np.random.default_rng(0).standard_normal(others.shape[0]) @ others
    left = combined
    for _ in range(3):
        left = left - system.transposed @ solver.solve(kept @ left)
    if not np.linalg.norm(left) <= _DEPENDENT * max(np.linalg.norm(combined), float(row_sizes(others).max())):
        raise np.linalg.LinAlgError("rounding does not tell which equalities depend on each other")
