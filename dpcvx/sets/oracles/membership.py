"""Whether a point lies in a declared set, without the units of the declaration.

A point is in the set with tolerance tol when it lies in the set enlarged by 1 + tol about its center. So it is first
moved to the affine hull, then toward the center, and then judged: by the slacks where there are no auxiliary
variables; by cvxpy's own evaluation of the atoms where cvxpy introduced them; otherwise by a small cone program over
the auxiliaries.
"""

import warnings
from functools import cached_property

import cvxpy as cp
import numpy as np
from cvxpy.constraints.zero import Equality, Zero
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.sets.conic.declaration import Declaration
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.solvers.cone_program import ConeProgram
from dpcvx.storage.thread_lock import ThreadLock

_ROUNDING = 1e-13
_variables = ThreadLock()  # the values of the user's variables are borrowed by one thread at a time


class Membership:
    """The judge of one set."""

    def __init__(self, geometry: Geometry, declaration: Declaration) -> None:
        self._geometry, self._chart, self._declaration = geometry, geometry.chart, declaration

    @cached_property
    def _reach(self) -> Array:
        """The length of which `tol` is a share, for each entry: its width, or where it is fixed its position."""
        conic, chart = self._geometry.conic, self._chart
        widths = np.sqrt(conic.P.multiply(conic.P) @ (chart.column_widths() ** 2)) * (chart.moving() > 0)
        least = widths[widths > 0].min() if np.any(widths > 0) else float(np.abs(chart.x0).max(initial=0.0)) or 1.0
        return np.asarray(np.where(widths > 0, widths, np.maximum(np.abs(chart.x0), least)))

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
        if self._declaration.is_evaluable:
            return self._atoms_hold(chart.x0 + chart.push(y))
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

    def _atoms_hold(self, x: Array) -> bool:
        with _variables: return self._quietly_hold(x)  # noqa: E701 # fmt: skip # see ThreadLock

    def _quietly_hold(self, x: Array) -> bool:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="(Reading|Writing) .* sparse CVXPY expression")
            return self._evaluated(self._declaration.variable, x)

    def _evaluated(self, variable: cp.Variable, x: Array) -> bool:
        declaration = self._declaration
        kept = variable.value
        try:
            variable.save_value(x.reshape(variable.shape, order="F"))
            size = max(1.0, float(np.abs(x).max(initial=0.0)))
            with np.errstate(all="ignore"):  # an atom outside its domain is NaN, which violates
                return all(
                    float(np.max(constraint.violation(), initial=0.0)) <= _ROUNDING * size
                    for constraint in (*declaration.constraints, *declaration.attribute_constraints)
                    if not isinstance(constraint, (Equality, Zero))
                )
        finally:
            variable.save_value(kept)

    def _fibre_meets(self, y: Array) -> bool:
        """Whether some auxiliary coordinates u give a slack in the cones: max t over (u, t)."""
        chart = self._chart
        k = chart.auxiliaries
        unit = chart.cones.unit_factors(chart.s0)
        G = -chart.slack_step(np.eye(chart.size)[:k]).T * unit[:, None]
        slack = chart.slack(np.concatenate([np.zeros(k), y])) * unit
        top = np.append(np.zeros(k), 1.0)[None, :]
        A = sparse.csr_array(np.concatenate([top, np.column_stack([G, chart.cones.identity()])]))
        cones = Product([Nonnegative(1), *chart.cones.cones])
        program = ConeProgram(A, np.append(1.0, slack), cones, sparse.csr_array((0, k + 1)), np.zeros(0))
        answer = program.minimise(np.append(np.zeros(k), -1.0))
        return answer.usable and float(answer.point[-1]) > -1e-9
