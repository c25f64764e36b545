"""Linear minimisation, projection and certified bounds over any conic set.

The solver works in the coordinates of the conic form, moved to the analytic center and scaled by the widths of the
Dikin ellipsoid there. What it returns is pulled toward the center until every cone holds, so no oracle answers with a
point outside the set.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.geometry.bounds import blow_up, bound_by_dual, coarse_bound, upper_bound
from dpcvx.sets.geometry.centered_form import CenteredForm
from dpcvx.sets.geometry.charts import SparseChart
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.geometry.nearest import nearest
from dpcvx.sets.geometry.newton import minimise
from dpcvx.sets.oracles.polishing import Polishing
from dpcvx.sets.oracles.tangent_programs import TangentPrograms
from dpcvx.sets.solvers.cone_program import Answer, ConeProgram

DENSE_PROJECTION = 200  # dimension up to which projections run on dense matrices
_ROUGH = 1e-3  # asked of it where active constraints are all that it must show
_TOLERANCE = 1e-8  # asked of the interior-point method, relative
_SQUARED = 1e-11  # asked of it for squared distances: a distance of zero is then off by the root of that
_NEAREST = 1e-10  # gap of a squared distance, in units of the set's size, that is small enough
_ACCURACY = 1e-9  # of our own path-following method, relative to the size of the set
_PROOF = 1e-10  # asked of the interior-point method where its dual point is to prove a bound
_PROVED = 1e-7  # gap between a proved bound and a point, relative to the width of the set, that is small enough
_POOR = 1e-7  # share of the way to the center above which a solver's answer is poor


class _Quick:
    """A few digits by a rough method, and all others by Newton's method on what is active there."""

    def __init__(self, form: CenteredForm, quadratic: sparse.csc_array | None, polishing: Polishing) -> None:
        self._polishing, self._equalities = polishing, form.E.shape[0]
        self._tangents = TangentPrograms.of(polishing)
        self._program = ConeProgram(
            form.A,
            form.s0,
            form.cones,
            form.E,
            np.zeros(form.E.shape[0]),
            quadratic=quadratic,
            tolerance=_ROUGH,
            refined=False,
        )

    @classmethod
    def of(cls, form: CenteredForm, quadratic: sparse.csc_array | None = None) -> "_Quick | None":
        polishing = Polishing.of(form, quadratic)
        return None if polishing is None else cls(form, quadratic, polishing)

    def minimise(self, q: Array) -> Array | None:
        """The minimiser for the linear part q, where it is proved."""
        rough = None if self._tangents is None else self._tangents.minimise(q)
        found = None if rough is None else self._polishing.polished(q, *rough)
        return self.minimise_steadily(q) if found is None else found

    def minimise_steadily(self, q: Array) -> Array | None:
        """The same by the interior-point method alone, whose time tells little about q."""
        answer = self._program.minimise(q)
        if not answer.usable:
            return None
        return self._polishing.polished(q, answer.point, answer.dual[self._equalities :])


class ConicOracles:
    """Clarabel, set up once for each kind of objective; where its answer is poor, the central path of our barrier."""

    argmin_name = project_name = "interior-point method (Clarabel)"

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._form, self._chart = geometry.centered_form, geometry.chart

    @cached_property
    def _linear(self) -> ConeProgram:
        f = self._form
        return ConeProgram(f.A, f.s0, f.cones, f.E, np.zeros(f.E.shape[0]), tolerance=_TOLERANCE)

    @cached_property
    def _quick_linear(self) -> "_Quick | None":
        return _Quick.of(self._form)

    @cached_property
    def _quick_quadratic(self) -> "_Quick | None":
        f = self._form
        return _Quick.of(f, sparse.csc_array(f.P.T @ f.P) / f.size**2)

    @cached_property
    def _proofs(self) -> ConeProgram:
        f = self._form
        return ConeProgram(f.A, f.s0, f.cones, f.E, np.zeros(f.E.shape[0]), tolerance=_PROOF)

    @cached_property
    def _quadratic(self) -> ConeProgram:
        f = self._form
        Q = sparse.csc_array(f.P.T @ f.P) / f.size**2
        return ConeProgram(f.A, f.s0, f.cones, f.E, np.zeros(f.E.shape[0]), quadratic=Q, tolerance=_SQUARED)

    def argmin(self, c: Array) -> Array:
        q = self._form.along(self._form.P.T @ c)  # what is constant on the set would hide the rest from the solver
        q /= np.abs(q).max() or 1.0
        quick = None if self._quick_linear is None else self._quick_linear.minimise(q)
        if quick is not None:
            return self._form.inside(quick)
        x, good = self._solve(self._linear, q)
        if good:
            return x
        chart = self._chart
        covector = chart.pull(c)
        size = float(np.linalg.norm(covector))
        return chart.point(minimise(chart, covector * (chart.cones.nu / (_ACCURACY * size)), tolerance=0.1).z)

    def project(self, p: Array) -> Array:
        """The nearest point; a solver is asked for points inside too, so that the time does not tell which they are."""
        q = self._toward(p)
        quick = None if self._quick_quadratic is None else self._quick_quadratic.minimise_steadily(q)
        return p.copy() if self._is_inside(p) else self._nearest_point(p, q, quick)

    def projections(self, points: Array) -> Array:
        """The nearest points to points (m, size), in times that may tell where these are."""
        return np.array([self._projection(p) for p in points]).reshape(points.shape)

    def _projection(self, p: Array) -> Array:
        if self._is_inside(p):
            return p.copy()
        q = self._toward(p)
        return self._nearest_point(p, q, None if self._quick_quadratic is None else self._quick_quadratic.minimise(q))

    def _toward(self, p: Array) -> Array:
        """The linear part of half the squared distance to p, in units of the set's size."""
        return np.asarray(self._form.P.T @ (self._form.x0 - p) / self._form.size**2)

    def _nearest_point(self, p: Array, q: Array, quick: Array | None) -> Array:
        """The nearest point to p, by the quick answer where there is one."""
        f = self._form
        if quick is not None:
            return f.inside(quick)
        answer = self._quadratic.minimise(q)
        x, good = self._judged(answer)
        if self._chart.width > DENSE_PROJECTION:
            return x
        far = float(np.linalg.norm(x - p)) / f.size
        if good and (answer.status == "Solved" or min(far**2, self._gap(answer, q)) <= _NEAREST * max(1.0, far)):
            return x
        own = self._chart.point(nearest(self._chart, p, _SQUARED * f.size**2))
        return x if good and np.linalg.norm(x - p) <= np.linalg.norm(own - p) else own

    def _gap(self, answer: Answer, q: Array) -> float:
        """How far the squared distance, halved and in units of the set's size, is above its least value, at most.

        f(w) - f(w*) <= <f'(w), w - w*> = <r, w - w*> + <z, s> - <z, s*> for r = f'(w) + A'z + E'mu and z in the dual
        cone, and no coordinate of the set is farther from the center than the blown-up Dikin ellipsoid.
        """
        f, w = self._form, answer.point
        mu, z = answer.dual[: f.E.shape[0]], answer.dual[f.E.shape[0] :]
        if not f.cones.dual_interior(z):
            return np.inf
        left = f.P.T @ (f.P @ w) / f.size**2 + q + f.A.T @ z + f.E.T @ mu
        reach = blow_up(self._chart, self._geometry.nu) + float(np.abs(w).max())
        return float(z @ (f.s0 - f.A @ w)) + reach * float(np.abs(left).sum())

    def _is_inside(self, p: Array) -> bool:
        """Whether a point is in the interior of a set of full dimension without auxiliary variables."""
        chart = self._chart
        return not chart.auxiliaries and chart.dim == len(p) and bool(chart.interior(chart.coordinates(p)))

    def _solve(self, program: ConeProgram, q: Array) -> tuple[Array, bool]:
        """The answer to a program, as `_judged` tells it."""
        return self._judged(program.minimise(q))

    def _judged(self, answer: Answer) -> tuple[Array, bool]:
        """An answer pulled into the set, and whether it was close to it."""
        if not answer.usable:
            return self._form.x0, False
        x, share = self._form.pulled(answer.point)
        return x, share < _POOR and answer.status in ("Solved", "AlmostSolved")

    def support_bound(self, c: Array) -> float:
        """A certified upper bound of max <c, x>, above it by 1e-9 to 1e-7 of the width; more on bad scales.

        A cone program proposes a dual point, which proves a bound; where the gap to its own point is too wide, the
        central path of our barrier is followed instead, on sparse charts as far as a bound within 1e-4 of the width.
        """
        f, chart, nu = self._form, self._chart, self._geometry.nu
        q = f.along(f.P.T @ c)
        size = float(np.abs(q).max(initial=0.0))
        if size > 0 and chart.dim:
            answer = self._proofs.minimise(-q / size)
            if answer.usable:
                scale = f.cones.largest(f.s0) / f.cones.largest(chart.s0)  # rows of the form over rows of the chart
                proved = bound_by_dual(chart, nu, c, size * scale * answer.dual[f.E.shape[0] :])
                reached = float(c @ f.pulled(answer.point)[0])
                width = float(np.linalg.norm(chart.tangential(chart.joint(chart.pull(c)))))
                if proved is not None and proved - reached <= _PROVED * width:
                    return proved
        return coarse_bound(chart, nu, c) if isinstance(chart, SparseChart) else upper_bound(chart, nu, c)

    def __getstate__(self) -> dict[str, Any]:
        """Without the solvers, which are set up again where they are needed."""
        return {key: self.__dict__[key] for key in ("_geometry", "_form", "_chart")}
