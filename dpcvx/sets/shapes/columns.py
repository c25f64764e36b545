"""Sets whose entries depend on one lifted coordinate each: x = P v + offset, P with orthogonal columns."""

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.sparse_rows import entry_bounds, rows_times


class Columns:
    """x = P v + offset where every x depends on at most one v.

    Attributes:
        squares: the squared length of each column.
        is_identity: whether x = v.
        is_positive: whether P >= 0 without an offset, so that x >= 0 where v >= 0.
        scale: where x = scale v, entry by entry, with positive factors; otherwise None.
    """

    def __init__(self, conic: ConicSet) -> None:
        self.offset = conic.offset
        self.squares = np.asarray(conic.P.multiply(conic.P).sum(axis=0)).ravel()
        self._P = conic.P
        self._transposed = sparse.csr_array(conic.P.T)
        identity = conic.P.shape[0] == conic.P.shape[1] and (conic.P - sparse.eye_array(conic.columns)).nnz == 0
        self.is_identity = identity and not conic.offset.any()
        self.is_positive = bool(np.all(conic.P.data > 0)) and not conic.offset.any()
        square = conic.P.shape[0] == conic.P.shape[1] and self.is_positive
        diagonal = conic.P.diagonal()
        self.scale = diagonal if square and conic.P.nnz == len(diagonal) and bool(np.all(diagonal > 0)) else None

    @classmethod
    def of(cls, conic: ConicSet) -> "Columns | None":
        """The map of a conic set without auxiliary variables; None where an entry depends on several coordinates."""
        if conic.auxiliary.any() or np.any(np.diff(conic.P.indptr) > 1):
            return None
        return cls(conic)

    def to_x(self, v: Array) -> Array:
        return v if self.is_identity else self.offset + rows_times(v, self._transposed)

    def pull(self, c: Array) -> Array:
        """P'c."""
        return c if self.is_identity else rows_times(c, self._P)

    def row_shares(self) -> Array:
        """How far each x moves when the tangent space moves by 1 in its favour."""
        scaled = self._P @ sparse.diags_array(1 / np.sqrt(self.squares))
        return np.asarray(np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()))

    def nearest(self, p: Array) -> Array:
        """The v whose x is nearest to p."""
        return p if self.is_identity else rows_times(p - self.offset, self._P) / self.squares


def coordinate_bounds(conic: ConicSet) -> tuple[Array, Array] | None:
    """(lower, upper) of the coordinates where all inequalities bound one each; ends may be infinite; otherwise None."""
    if not conic.is_polyhedral or np.any(np.diff(conic.A.indptr) != 1):
        return None
    lower, upper = np.full(conic.columns, -np.inf), np.full(conic.columns, np.inf)
    entry_bounds(conic.A, conic.b, lower, upper)
    return lower, upper
