"""A conic set seen from its analytic center: dimension, barrier parameter, extent, interior points."""

from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.geometry import bounds
from dpcvx.sets.geometry.centered_form import CenteredForm
from dpcvx.sets.geometry.charts import Chart
from dpcvx.sets.geometry.fibre import fibre
from dpcvx.sets.geometry.parameter import BarrierParameter, barrier_parameter

_BEYOND = 1 + 1e-12  # a point is inside if it is so from farther out, where rounding alone would not decide


class Geometry:
    """The conic form of a set, its chart, and what follows from the two; points are vectors.

    Attributes:
        conic: the conic form after presolve.
        chart: the coordinates around the analytic center in which learners compute.
        name: how sentences call the set.
    """

    def __init__(self, conic: ConicSet, chart: Chart, name: str) -> None:
        self.conic, self.chart, self.name = conic, chart, name

    @property
    def size(self) -> int:
        """Entries of a point."""
        return len(self.chart.x0)

    @property
    def dim(self) -> int:
        """Dimension of the affine hull."""
        return self.chart.dim

    @property
    def center(self) -> Array:
        """The analytic center."""
        return self.chart.x0

    @property
    def nu(self) -> float:
        """The barrier parameter, the smallest value that is proved."""
        return self.parameter.nu

    @cached_property
    def parameter(self) -> BarrierParameter:
        """The barrier parameter with its derivation."""
        return barrier_parameter(self.conic, self.chart)

    @property
    def is_polytope(self) -> bool:
        """Whether only linear constraints are left after presolve."""
        return self.conic.is_polyhedral

    @cached_property
    def centered_form(self) -> CenteredForm:
        """The conic form around the center, for solvers."""
        return CenteredForm(self.conic, self.chart)

    @cached_property
    def extent(self) -> float:
        """The size of the set in the units of x."""
        return float(self.chart.widths().max(initial=0.0))

    @cached_property
    def central_radius(self) -> float:
        """A bound of max |x - center|_2: the Dikin ellipsoid at the center, blown up; infinite on large sets."""
        radius = self.chart.radius() if self.dim else np.inf
        return bounds.blow_up(self.chart, self.nu) * radius if np.isfinite(radius) else np.inf

    @cached_property
    def basis(self) -> Array | LinearOperator:
        """An orthonormal basis of the tangent space, (size, dim); above size 2,000 the projector onto it, lazily."""
        chart = self.chart
        if self.size <= DENSE_LIMIT:
            directions = chart.push(chart.tangent_basis().T)
            extent = np.sqrt((directions * directions).sum(axis=1, keepdims=True))
            units = (directions / np.where(extent > 0, extent, 1.0)).T
            basis = np.linalg.qr(units)[0] if self.dim else np.zeros((self.size, 0))
            basis.flags.writeable = False
            return basis

        def onto(vector: Array) -> Array:
            return chart.spread(chart.pull(np.ravel(vector)))

        return LinearOperator((self.size, self.size), matvec=onto, rmatvec=onto, dtype=float)

    def interior_coordinates(self, x: Array) -> Array:
        """Joint coordinates of interior points, the auxiliaries centered.

        Raises:
            ValueError: where a point is off the affine hull, or not in the interior.
        """
        chart = self.chart
        y = chart.coordinates(x)
        off = np.abs(chart.x0 + chart.push(y) - x).max(initial=0.0)
        if not off <= 1e-6 * self.extent + 1e-12 * np.abs(chart.x0).max(initial=0.0):
            raise ArgumentError(f"The point is not on the affine hull of the {self.name}: it is off by {off:.2g}.")
        outside = f"The point is not in the interior of the {self.name}; the barrier is infinite there."
        if not chart.auxiliaries:
            if not np.all(chart.interior(_BEYOND * y)):
                raise ArgumentError(outside)
            return y
        lifted = []
        for one in y.reshape(-1, chart.width):
            z = None if fibre(chart, _BEYOND * one, exact=False) is None else fibre(chart, one)
            if z is None:
                raise ArgumentError(outside)
            lifted.append(z)
        return np.array(lifted).reshape(*y.shape[:-1], chart.size)
