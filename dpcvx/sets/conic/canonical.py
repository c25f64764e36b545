"""The conic form in which every declared set is held:

    { x = P v + offset : b - A v in K, E v = e },    K a product of cones.

Columns of P that are zero belong to auxiliary variables. Whatever presolve does to v it does to P and offset as well,
so the map back to the user's variable is always at hand.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array, Bools
from dpcvx.barriers import Product
from dpcvx.sets.sparse_rows import rows_times

DENSE_LIMIT = 2000  # lifted coordinates up to which dense matrices are made


@dataclass(frozen=True)
class ConicSet:
    """A conic set with the origin of each of its rows: `source` numbers the user's constraints, -1 is an attribute."""

    A: sparse.csr_array
    b: Array
    cones: Product
    source: Array
    E: sparse.csr_array
    e: Array
    equality_source: Array
    P: sparse.csr_array
    offset: Array

    @property
    def columns(self) -> int:
        """The number of lifted coordinates v."""
        return int(self.A.shape[1])

    @cached_property
    def auxiliary(self) -> Bools:
        """Which columns do not reach the user's variable."""
        return np.asarray(abs(self.P).sum(axis=0) == 0).ravel()

    @cached_property
    def polyhedral(self) -> Bools:
        """Which rows are plain inequalities."""
        return self.cones.polyhedral_rows()

    @property
    def is_polyhedral(self) -> bool:
        return bool(self.polyhedral.all())

    def slack(self, v: Array) -> Array:
        """b - A v for points on a leading batch axis."""
        return self.b - rows_times(v, sparse.csr_array(self.A.T))

    def point(self, v: Array) -> Array:
        """The user's variable, as a vector, for points on a leading batch axis."""
        return self.offset + rows_times(v, sparse.csr_array(self.P.T))
