"""The conic form in coordinates around the analytic center, in which outside solvers are asked."""

from functools import cached_property

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.charts import Chart
from dpcvx.sets.geometry.phase_one import DENSE_ROWS
from dpcvx.sets.solvers.normal_equations import MOST_PRODUCTS, Equalities, count_products

_INSIDE = 1e-11  # slack, relative to the slack at the center, that a returned point may lack


class CenteredForm:
    """The conic form around its center: x = x0 + P w, s0 - A w in K, E w = 0, every cone's slack of size 1 at w = 0."""

    def __init__(self, conic: ConicSet, chart: Chart) -> None:
        columns = sparse.diags_array(chart.column_widths())
        slack = conic.slack(chart.v0)
        unit = conic.cones.unit_factors(slack)
        self.cones = conic.cones
        self.is_polyhedral = conic.is_polyhedral
        self.A = sparse.csr_array(sparse.diags_array(unit) @ conic.A @ columns)
        self.s0 = unit * slack
        E = sparse.csr_array(conic.E @ columns)
        norm = np.sqrt(np.asarray(E.multiply(E).sum(axis=1)).ravel())
        self.E = sparse.csr_array(sparse.diags_array(1 / np.where(norm > 0, norm, 1.0)) @ E)
        self.P = sparse.csr_array(conic.P @ columns)
        self.x0 = chart.x0
        self.size = float(np.sqrt((self.P.multiply(self.P).T @ chart.moving()).max()))  # of the set, in the units of x

    def along(self, w: Array) -> Array:
        """The part of a direction, or of a covector, along which no equality changes."""
        if not self.E.shape[0]:
            return w
        if self.E.shape[0] * self.E.shape[1] > DENSE_ROWS and count_products(self.E) <= MOST_PRODUCTS:
            return self._equalities.tangential(w)
        return np.asarray(w - self._normals @ (self._normals.T @ w))

    @cached_property
    def _equalities(self) -> Equalities:
        return Equalities(self.E)

    @cached_property
    def _normals(self) -> Array:
        """An orthonormal basis of the rows of E."""
        U, values, _ = np.linalg.svd(self.E.toarray().T, full_matrices=False)
        return np.asarray(U[:, values > 1e-11 * values[0]])

    def inside(self, w: Array) -> Array:
        """The point x of w, moved onto the equalities and toward the center until it is in the set."""
        return self.pulled(w)[0]

    def pulled(self, w: Array) -> tuple[Array, float]:
        """`inside`, and the share of the way to the center that it took."""
        w = self.along(w)
        step = -(self.A @ w)
        share = 0.0
        if not self.holds(step):
            share = next((s for s in np.logspace(-11, -1, 21) if self.holds((1 - s) * step)), 1.0)
        return np.asarray(self.x0 + self.P @ ((1 - share) * w)), share

    def holds(self, step: Array) -> bool:
        """Whether the slack s0 + step is in the cones, up to a tiny share of the way back to the center."""
        if self.is_polyhedral:
            return bool(np.all(self.s0 + step >= -_INSIDE))
        return bool(self.cones.interior(self.s0 + (1 - _INSIDE) * step))
