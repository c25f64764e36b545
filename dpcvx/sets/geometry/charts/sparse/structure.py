"""Which conic sets have a diagonal Hessian and sparse equalities, and what about them does not depend on the point."""

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.charts.diagonal.structure import FEW
from dpcvx.sets.solvers.factorisations import Factorisation
from dpcvx.sets.solvers.normal_equations import MOST_PRODUCTS, Equalities, count_products

WORTH = 80  # coordinates from which on the chart is faster than the dense one


class SparseStructure:
    """The single entries and the independent equalities of a conic set.

    Attributes:
        column, coefficient: the one entry of each inequality.
        weights: of the inequalities in the barrier.
        layers: inequalities for each coordinate where they come in order, 0 where they do not.
        idle: 1 for coordinates without an inequality, which must be fixed by the equalities, and 0 for the others.
        equalities: the equalities with those that depend on others told apart.
    """

    def __init__(self, conic: ConicSet, equalities: Equalities) -> None:
        self.column, self.coefficient = conic.A.indices.copy(), conic.A.data.copy()
        self.weights = row_weights(conic)
        layers, rest = divmod(len(self.column), conic.columns)
        in_order = not rest and np.array_equal(self.column, np.tile(np.arange(conic.columns), layers))
        self.layers = layers if in_order else 0
        self.idle = np.ones(conic.columns)
        self.idle[self.column] = 0.0
        self.equalities = equalities

    @staticmethod
    def of(conic: ConicSet, factorisation: Factorisation | None = None) -> "SparseStructure | None":
        """The structure of a conic set, or None where it has another one."""
        equalities = sparse_equalities(conic, factorisation)
        return None if equalities is None else SparseStructure(conic, equalities)


def sparse_equalities(conic: ConicSet, factorisation: Factorisation | None) -> Equalities | None:
    """The equalities of a set whose inequalities have one entry each and that is large enough; None for other sets."""
    if conic.columns < WORTH or conic.E.shape[0] <= FEW or not conic.is_polyhedral:
        return None
    if np.any(np.diff(conic.A.indptr) != 1) or np.any(np.diff(conic.P.indptr) > 1) or conic.auxiliary.any():
        return None
    E = sparse.csr_array(conic.E)
    E.eliminate_zeros()
    if count_products(E) > MOST_PRODUCTS:
        return None
    try:
        return Equalities(E, factorisation)
    except np.linalg.LinAlgError:
        return None


def row_weights(conic: ConicSet) -> Array:
    """The weight of each inequality in the barrier."""
    weights = np.ones(len(conic.b))
    for cone, rows in conic.cones:
        if isinstance(cone, Nonnegative) and cone.weights is not None:
            weights[rows] = cone.weights
    return weights
