"""The barrier of a declared set as a function of the user's variable."""

from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.errors import UnsupportedConeError
from dpcvx.sets.conic.canonical import DENSE_LIMIT
from dpcvx.sets.geometry.fibre import fibre
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.geometry.newton import minimise
from dpcvx.sets.layout import Layout


class SetBarrier:
    """The barrier R of a set, with auxiliary variables eliminated: R(center) = 0, and infinite outside the interior."""

    def __init__(self, geometry: Geometry, layout: Layout) -> None:
        self._geometry, self._layout = geometry, layout

    def _coordinates(self, point: Any) -> Array:
        return self._geometry.interior_coordinates(self._layout.flatten(point))

    def value(self, point: Any) -> Array | float:
        """R at interior points."""
        values = self._geometry.chart.value(self._coordinates(point))
        return float(values) if np.ndim(values) == 0 else values

    def gradient(self, point: Any) -> Array:
        """R' at interior points, in the tangent space, in the shape of the variable."""
        chart, z = self._geometry.chart, self._coordinates(point)
        return self._layout.unflatten(chart.spread(chart.gradient(z)[..., chart.auxiliaries :]))

    def hessian(self, point: Any) -> Array:
        """R'' at interior points as (size, size) matrices that act on the tangent space."""
        size, chart = self._layout.size, self._geometry.chart
        if size > DENSE_LIMIT:
            raise UnsupportedConeError(f"A Hessian of order {size} is not made; use dikin(point).apply and .solve.")
        z = self._coordinates(point)
        units = np.eye(chart.width).reshape(chart.width, *(1,) * (z.ndim - 1), chart.width)
        columns = chart.factor(z).apply(np.broadcast_to(units, (chart.width, *z.shape[:-1], chart.width)))
        S = np.moveaxis(columns, 0, -1)
        left = np.swapaxes(chart.spread(np.swapaxes(S, -1, -2)), -1, -2)
        return np.asarray(chart.spread(left))

    def argmin(self, covector: Any, start: Any = None) -> Array:
        """argmin <covector, x> + R(x), warm from the point `start` if one is given."""
        chart = self._geometry.chart
        c = chart.pull(self._layout.vector(covector, "covector"))
        z = None if start is None else fibre(chart, chart.coordinates(self._layout.flatten(start)))
        return self._layout.unflatten(chart.point(minimise(chart, c, z).z))
