"""Linear minimisation and Euclidean projection over a declared set, several routes behind one interface.

The solvers work in the coordinates of the conic form, moved to the analytic center and scaled by the widths of the
Dikin ellipsoid there. What a solver returns is pulled toward the center until every cone holds, so no oracle answers
with a point outside the set.
"""

from functools import cached_property
from typing import Protocol

import cvxpy as cp
import daqp
import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.errors import DeclarationError, OracleError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.declaration import Declaration
from dpcvx.sets.geometry.charts import Chart
from dpcvx.sets.geometry.nearest import nearest
from dpcvx.sets.geometry.newton import minimise
from dpcvx.sets.solvers.cone_program import ConeProgram
from dpcvx.sets.solvers.linear_program import LinearProgram

_INSIDE = 1e-11  # slack, relative to the slack at the center, that a returned point may lack
_TOLERANCE = 1e-8  # asked of the interior-point method, relative
_ACCURACY = 1e-9  # of our own path-following method, relative to the size of the set
_POOR = 1e-7  # share of the way to the center above which a solver's answer is poor
_ACTIVE_SET_LIMIT = 200  # dimension up to which projections run on the dense active-set method


class Oracles(Protocol):
    """The two oracles, on vectors."""

    @property
    def name(self) -> str: ...

    def argmin(self, c: Array) -> Array:
        """A minimiser of <c, x>."""

    def project(self, p: Array) -> Array:
        """The nearest point to p."""


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
        self.size = float(np.sqrt(self.P.multiply(self.P).sum(axis=0).max()))  # of the set, in the units of x

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
        if self.E.shape[0]:
            w = w - self._normals @ (self._normals.T @ w)
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


class ConicOracles:
    """Clarabel, set up once for each kind of objective; where its answer is poor, the central path of our barrier."""

    name = "interior-point method (Clarabel)"

    def __init__(self, form: CenteredForm, chart: Chart) -> None:
        self._form = form
        self._chart = chart

    @cached_property
    def _linear(self) -> ConeProgram:
        f = self._form
        return ConeProgram(f.A, f.s0, f.cones, f.E, np.zeros(f.E.shape[0]), tolerance=_TOLERANCE)

    @cached_property
    def _quadratic(self) -> ConeProgram:
        f = self._form
        Q = sparse.csc_array(f.P.T @ f.P) / f.size**2
        return ConeProgram(f.A, f.s0, f.cones, f.E, np.zeros(f.E.shape[0]), quadratic=Q, tolerance=_TOLERANCE)

    def argmin(self, c: Array) -> Array:
        q = self._form.P.T @ c
        x, good = self._solve(self._linear, q / (np.abs(q).max() or 1.0))
        if good:
            return x
        chart = self._chart
        covector = chart.pull(c)
        size = float(np.linalg.norm(covector))
        return chart.point(minimise(chart, covector * (chart.cones.nu / (_ACCURACY * size)), tolerance=0.1).z)

    def project(self, p: Array) -> Array:
        f = self._form
        x, good = self._solve(self._quadratic, f.P.T @ (f.x0 - p) / f.size**2)
        if good or self._chart.width > _ACTIVE_SET_LIMIT:
            return x
        return self._chart.point(nearest(self._chart, p, _ACCURACY * f.size**2))

    def _solve(self, program: ConeProgram, q: Array) -> tuple[Array, bool]:
        """The answer pulled into the set, and whether it was close to it."""
        answer = program.minimise(q)
        if not answer.usable:
            return self._form.x0, False
        x, share = self._form.pulled(answer.point)
        return x, share < _POOR and answer.status in ("Solved", "AlmostSolved")


class PolyhedralOracles(ConicOracles):
    """The simplex method for vertices; projections by a dense active-set method on small sets without auxiliaries."""

    name = "simplex method (HiGHS)"

    @property
    def project_name(self) -> str:
        return ConicOracles.name if self._nearest is None else "active-set method (DAQP)"

    @cached_property
    def _vertices(self) -> LinearProgram:
        return LinearProgram.over(self._form.A, self._form.s0, self._form.E)

    @cached_property
    def _nearest(self) -> "ActiveSetProjection | None":
        chart = self._chart
        if chart.auxiliaries or chart.dim > _ACTIVE_SET_LIMIT:
            return None
        return ActiveSetProjection(chart)

    def argmin(self, c: Array) -> Array:
        q = self._form.P.T @ c
        answer = self._vertices.minimise(q / (np.abs(q).max() or 1.0))
        return super().argmin(c) if answer is None else self._form.inside(answer)

    def multipliers(self, c: Array) -> Array | None:
        """Multipliers of the inequality rows that bound max <c, x>, for the slacks of the chart."""
        q = self._form.P.T @ c
        size = np.abs(q).max() or 1.0
        if self._vertices.minimise(-q / size) is None:
            return None
        scale = self._form.s0 / self._chart.s0  # rows of the form over rows of the chart
        return np.asarray(size * scale * self._vertices.inequality_duals(self._form.A))

    def project(self, p: Array) -> Array:
        found = None if self._nearest is None else self._nearest.project(p)
        return super().project(p) if found is None else found


class ActiveSetProjection:
    """min |x - p| over { x0 + V y : G y <= s0 } with V orthonormal, by DAQP in units of the set's size."""

    def __init__(self, chart: Chart) -> None:
        tangents = chart.tangent_basis().T
        axes = chart.push(tangents)
        self._size = float(np.linalg.norm(axes, axis=1).max())
        self.V, R = np.linalg.qr(axes.T)
        rows = -chart.slack_step(tangents).T
        G = np.linalg.solve(R.T, rows.T).T * self._size
        norm = np.linalg.norm(G, axis=1)
        keep = norm > 0
        self._G = np.ascontiguousarray(G[keep] / norm[keep, None])
        self._s0 = chart.s0[keep] / norm[keep]
        self._x0 = chart.x0
        self._identity = np.eye(chart.dim)

    def project(self, p: Array) -> Array | None:
        """The projection, or None where the method did not finish."""
        y = self.V.T @ (p - self._x0) / self._size
        if np.all(self._G @ y <= self._s0):
            return np.asarray(self._x0 + self.V @ (self._size * y))
        y, _, flag, _ = daqp.solve(self._identity, -y, self._G, self._s0, primal_tol=1e-11)
        if flag != 1:
            return None
        room = self._G @ y
        worst = float((room / self._s0).max())
        if worst > 1:
            y = y / worst
        return np.asarray(self._x0 + self.V @ (self._size * y))


class CvxpyOracles:
    """The slow independent route: the user's constraints, solved each time by a solver that cvxpy knows."""

    def __init__(self, declaration: Declaration, solver: str) -> None:
        if solver.upper() not in cp.installed_solvers():
            known = ", ".join(cp.installed_solvers())
            raise DeclarationError(f"solver={solver!r} is not among the installed cvxpy solvers: {known}.")
        self.name = f"cvxpy with {solver.upper()}"
        self._solver = solver.upper()
        self._x = declaration.variable
        self._target = cp.Parameter(self._x.size)
        flat = cp.vec(self._x, order="F")
        constraints = list(declaration.constraints)
        self._linear = cp.Problem(cp.Minimize(self._target @ flat), constraints)
        self._quadratic = cp.Problem(cp.Minimize(cp.sum_squares(flat - self._target)), constraints)

    def argmin(self, c: Array) -> Array:
        return self._solve(self._linear, c / (np.abs(c).max() or 1.0))

    def project(self, p: Array) -> Array:
        return self._solve(self._quadratic, p)

    def _solve(self, problem: cp.Problem, target: Array) -> Array:
        kept = [(v, v.value) for v in problem.variables()]
        self._target.value = target
        try:
            problem.solve(solver=self._solver)
            if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
                raise OracleError(f"{self._solver} stopped without an answer: {problem.status}.")
            return np.asarray(self._x.value, dtype=float).ravel(order="F")
        except cp.SolverError as error:
            raise OracleError(f"{self._solver} failed: {error}") from error
        finally:
            for variable, value in kept:
                variable.save_value(value)
