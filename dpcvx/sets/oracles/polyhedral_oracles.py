"""Linear minimisation, projection and certified bounds over polytopes: the simplex and an active-set method."""

from functools import cached_property

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.bounds import bound_by_multipliers, coarse_bound
from dpcvx.sets.geometry.charts import DENSE_LIMIT, SparseChart
from dpcvx.sets.oracles.active_sets import ActiveSetProjection
from dpcvx.sets.oracles.conic_oracles import ConicOracles
from dpcvx.sets.oracles.optimal_bases import OptimalBases
from dpcvx.sets.solvers.linear_program import LinearProgram, inequality_duals


class PolyhedralOracles(ConicOracles):
    """The simplex method for vertices; projections by a dense active-set method on small sets."""

    argmin_name = "simplex method (HiGHS)"

    @property
    def project_name(self) -> str:  # type: ignore[override]  # which method it is depends on the set
        return ConicOracles.project_name if self._nearest is None else "active-set method (DAQP)"

    @cached_property
    def _vertices(self) -> LinearProgram:
        return LinearProgram.over(self._form.A, self._form.s0, self._form.E)

    @cached_property
    def _nearest(self) -> ActiveSetProjection | None:
        return ActiveSetProjection.of(self._chart)

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
        return np.asarray(self.projections(p[None])[0])

    def projections(self, points: Array) -> Array:
        if self._nearest is None:
            return super().projections(points)
        found, finished = self._nearest.project(points)
        for i in np.flatnonzero(~finished):
            found[i] = super().project(points[i])
        return found

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
