"""Whether a point lies in a declared set, without the units of the declaration.

A point is in the set with tolerance tol when it lies in the set enlarged by 1 + tol about its center. So it is first
moved to the affine hull, then toward the center, and then judged by the conic form: by its slacks where there are no
auxiliary variables, otherwise by how far a cone program with free auxiliaries can go from the center toward it. Atoms
are not evaluated: outside its domain an atom may have any value, 1/x <= 5 holds at -1.
"""

from functools import cached_property

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.errors import OracleError
from dpcvx.sets.geometry.fibre import fibre
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.solvers.cone_program import Answer, ConeProgram

_ROUNDING = 1e-13
_NOTHING = 1e-12  # share of the largest entry below which a fixed one is 0 but for rounding
_PROVED = 1e-10  # share of the way to the center at which a point is looked at
_CLEAR = 1e-8  # share of the way that a solver must say is missing before its no counts


class Membership:
    """The judge of one set."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry, self._chart = geometry, geometry.chart

    @cached_property
    def _reach(self) -> Array:
        """The length of which `tol` is a share, for each entry: its width, or where it is fixed its position."""
        widths = self._chart.widths()
        position = np.abs(self._chart.x0)
        largest = float(position.max(initial=0.0))
        least = widths[widths > 0].min() if np.any(widths > 0) else largest or 1.0  # of entries that are fixed at 0
        fixed = np.where(position > _NOTHING * largest, position, least)
        return np.asarray(np.where(widths > 0, widths, fixed))

    @cached_property
    def _blur(self) -> float:
        """What rounding of the position is worth, relative to the size of the set."""
        position = float(np.abs(self._chart.x0).max(initial=0.0))
        return _ROUNDING + 4e-16 * position / max(self._geometry.extent, 1e-300)

    def contains(self, x: Array, tol: float) -> bool:
        """Whether one vector lies in the set enlarged by 1 + tol."""
        if not np.isfinite(x).all():
            return False
        chart = self._chart
        y = chart.coordinates(x)
        off = np.abs(chart.x0 + chart.push(y) - x)
        if np.any(off > tol * self._reach + 1e-14 * max(np.abs(x).max(initial=0.0), np.abs(chart.x0).max(initial=0.0))):
            return False
        y = y * (1 / (1 + tol) - 10 * self._blur)
        if not chart.auxiliaries:
            return bool(chart.interior(y))
        return self._fibre_meets(y)

    def pulled(self, x: Array) -> Array:
        """The point moved onto the affine hull and toward the center until it is in the set."""
        chart = self._chart
        step = chart.push(chart.coordinates(x))
        for pull in (0.0, *np.logspace(-11, 0, 45)):
            moved = chart.x0 + (1 - pull) * step
            if self.contains(moved, _ROUNDING):
                break
        return np.asarray(moved)

    def _fibre_meets(self, y: Array) -> bool:
        """Whether some auxiliary coordinates u give (u, y) a slack in the cones.

        Max r <= 2 with r y in the set, over (u, r). A yes is looked at before it is given. A no counts where the solver
        is sure of it by a clear margin; what it leaves open is for our own Newton's method, from the center to y.
        """
        chart = self._chart
        k = chart.auxiliaries
        if chart.interior(np.concatenate([np.zeros(k), y])):
            return True
        answer = self._farthest(y)
        if answer.usable and answer.point[-1] > 0:
            u = answer.point[:k] / answer.point[-1]
            if chart.interior((1 - _PROVED) * np.concatenate([u, y])):
                return True
        if answer.status == "Solved" and answer.point[-1] < 1 - _CLEAR:
            return False
        try:
            return fibre(chart, (1 - _PROVED) * y, tolerance=1e-2, exact=False) is not None
        except (OracleError, np.linalg.LinAlgError):
            return False

    def _farthest(self, y: Array) -> Answer:
        """The largest r <= 2 at which some u gives (u, r y) a slack in the cones; the answer's point is (u, r)."""
        chart = self._chart
        k = chart.auxiliaries
        toward = chart.slack_step(np.concatenate([np.zeros(k), y]))
        columns = np.column_stack([-chart.slack_step(np.eye(chart.size)[:k]).T, -toward])
        top = np.append(np.zeros(k), 1.0)
        cones = Product([Nonnegative(1), *chart.cones.cones])
        program = ConeProgram(
            sparse.csr_array(np.concatenate([top[None, :], columns])),
            np.append(2.0, chart.s0),
            cones,
            sparse.csr_array((0, k + 1)),
            np.zeros(0),
        )
        return program.minimise(-top)
