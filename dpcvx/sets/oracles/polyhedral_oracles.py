"""Linear minimisation, projection and certified bounds over polytopes: the simplex and an active-set method."""

from functools import cached_property

import daqp
import numpy as np
from scipy.linalg import lapack

from dpcvx.arrays import Array
from dpcvx.sets.geometry.bounds import bound_by_multipliers, coarse_bound
from dpcvx.sets.geometry.charts import DENSE_LIMIT, Chart, SparseChart
from dpcvx.sets.oracles.conic_oracles import DENSE_PROJECTION, ConicOracles
from dpcvx.sets.oracles.optimal_bases import OptimalBases
from dpcvx.sets.solvers.linear_program import LinearProgram, inequality_duals

_THIN = 1e-9  # share of the room of a row by which an answer may be outside


class PolyhedralOracles(ConicOracles):
    """The simplex method for vertices; projections by a dense active-set method on small sets without auxiliaries."""

    argmin_name = "simplex method (HiGHS)"

    @property
    def project_name(self) -> str:  # type: ignore[override]  # which method it is depends on the set
        return ConicOracles.project_name if self._nearest is None else "active-set method (DAQP)"

    @cached_property
    def _vertices(self) -> LinearProgram:
        return LinearProgram.over(self._form.A, self._form.s0, self._form.E)

    @cached_property
    def _nearest(self) -> "ActiveSetProjection | None":
        chart = self._chart
        if chart.auxiliaries or chart.dim > DENSE_PROJECTION:
            return None
        return ActiveSetProjection(chart)

    @cached_property
    def _bases(self) -> OptimalBases | None:
        return OptimalBases.over(self._form)

    def argmin(self, c: Array) -> Array:
        answer = self._from_scratch(c) if self._bases is None else self._bases.argmin(c)
        return super().argmin(c) if answer is None else answer

    def _from_scratch(self, c: Array) -> Array | None:
        q = self._form.P.T @ c
        answer = self._vertices.minimise(q / (np.abs(q).max() or 1.0))
        return None if answer is None else self._form.inside(answer)

    def _multipliers(self, c: Array) -> Array | None:
        """Multipliers of the inequality rows that bound max <c, x>, for the slacks of the chart."""
        q = self._form.P.T @ c
        size = np.abs(q).max() or 1.0
        best = self._vertices.optimum(-q / size)
        if best is None:
            return None
        scale = self._form.s0 / self._chart.s0  # rows of the form over rows of the chart
        return np.asarray(size * scale * inequality_duals(best, self._form.A))

    def project(self, p: Array) -> Array:
        found = None if self._nearest is None else self._nearest.project(p)
        return super().project(p) if found is None else found

    def support_bound(self, c: Array) -> float:
        if isinstance(self._chart, SparseChart) and self._chart.width > DENSE_LIMIT:
            return coarse_bound(self._chart, self._geometry.nu, c)
        multipliers = self._multipliers(c)
        if multipliers is not None:
            proved = bound_by_multipliers(self._chart, self._geometry.nu, c, multipliers)
            slip = 1e-9 * self._geometry.extent * float(np.abs(c).max())
            if proved <= float(c @ self.argmin(-c)) + slip:
                return proved
        return super().support_bound(c)


class ActiveSetProjection:
    """min |x - p| over { x0 + V y : G y <= s0 } with V orthonormal, by DAQP in units of the set's size."""

    def __init__(self, chart: Chart) -> None:
        tangents = chart.tangent_basis().T
        axes = chart.push(tangents)
        self._size = float(np.linalg.norm(axes, axis=1).max())
        self.V, R = np.linalg.qr(axes.T)
        rows = -chart.slack_step(tangents).T
        self._axes, self._R, self._rows, self._room = axes, R, rows, chart.s0
        G = np.linalg.solve(R.T, rows.T).T * self._size
        norm = np.linalg.norm(G, axis=1)
        keep = norm > 0
        self._G = np.ascontiguousarray(G[keep] / norm[keep, None])
        self._s0 = chart.s0[keep] / norm[keep]
        self._x0 = chart.x0
        self._identity = np.eye(chart.dim)

    def project(self, p: Array) -> Array | None:
        """The projection, or None where the method did not finish.

        The method runs for points inside as well, for which it has little to do: who clips losses must not tell by the
        time which of them were outside. Inside a set of full dimension a point is its own projection, to the bit.
        """
        own = self.V.T @ (p - self._x0) / self._size
        y, _, flag, _ = daqp.solve(self._identity, -own, self._G, self._s0, primal_tol=1e-11)
        if np.all(self._G @ own <= self._s0):
            return p.copy() if len(own) == len(p) else np.asarray(self._x0 + self.V @ (self._size * own))
        if flag != 1:
            return None
        along = lapack.dtrtrs(self._R, self._size * y)[0]  # of the axes, by which every entry keeps its digits
        worst = float((self._rows.dot(along) / self._room).max())
        if not worst <= 1 + _THIN:  # some rows are so near that the method's tolerance is a share of their room
            return None
        return np.asarray(self._x0 + (along / max(worst, 1.0)).dot(self._axes))
