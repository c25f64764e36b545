"""The public face of a declared convex set: cvxpy constraints in, geometry out."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse.linalg import LinearOperator

from dpcvx import markup
from dpcvx.arrays import Array
from dpcvx.errors import DeclarationError, OracleError, UnsupportedConeError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.conic.presolve import presolve
from dpcvx.sets.conic.pruning import prune_rows
from dpcvx.sets.geometry import bounds
from dpcvx.sets.geometry.centering import find_center
from dpcvx.sets.geometry.charts import DENSE_LIMIT, Chart, DenseChart
from dpcvx.sets.geometry.dikin import DikinEllipsoid
from dpcvx.sets.geometry.fibre import fibre
from dpcvx.sets.geometry.newton import minimise
from dpcvx.sets.geometry.parameter import BarrierParameter, barrier_parameter
from dpcvx.sets.oracles.membership import Membership
from dpcvx.sets.oracles.oracles import CenteredForm, ConicOracles, CvxpyOracles, Oracles, PolyhedralOracles
from dpcvx.sets.oracles.vertices import VertexPeeling, VertexWalk
from dpcvx.sets.shapes.closed_forms import Ball, ClosedForm, Point, recognise
from dpcvx.sets.shapes.named_shapes import hull_points, matrix_norm_ball, norm_ball

Oracle = Callable[[Array], Any]
VertexSampler = Callable[[Array, np.random.Generator], Any]


class DecisionSet:
    """A compact convex set declared by a cvxpy variable and constraints.

    Points have the shape of the variable; oracles also take points on leading batch axes. Vectors such as the rows of
    `basis` list the entries of a matrix variable column by column, as cvxpy does.

    Args:
        variable: any real cvxpy variable, of any shape and with any attributes.
        constraints: cvxpy constraints on it; other variables in them are auxiliary. Parameters keep their values.
        oracle: an own linear minimiser c -> argmin <c, x>, used by `argmin` and `support`; its answers are not checked.
        vertex_sampler: an own (point, rng) -> random vertex with mean point, used by `sample_vertex`.
        solver: an installed cvxpy solver, through which `argmin` and `project` then run: slow and independent.
        prune: whether to remove redundant inequalities by linear programs.
        name: how `summary` calls the set.

    Raises:
        DeclarationError, EmptySetError, UnboundedSetError, DegenerateSetError, UnsupportedConeError: sentences that
            name the constraint, the direction or the number at fault.
    """

    def __init__(
        self,
        variable: cp.Variable,
        constraints: Iterable[cp.Constraint],
        *,
        oracle: Oracle | None = None,
        vertex_sampler: VertexSampler | None = None,
        solver: str | None = None,
        prune: bool = False,
        name: str | None = None,
    ) -> None:
        for key, given in (("oracle", oracle), ("vertex_sampler", vertex_sampler)):
            if given is not None and not callable(given):
                raise DeclarationError(f"{key} must be a function, not {given!r}.")
        declaration = declare(variable, constraints)
        names = (*declaration.names, declaration.attribute_name)
        lifted = lift(declaration)
        conic = presolve(lifted, names)
        found = find_center(conic, names, variable.name(), variable.shape)
        if prune:
            found = find_center(prune_rows(found.conic), names, variable.name(), variable.shape)
        self.name = name or "set"
        self.variable = variable
        self.shape: tuple[int, ...] = variable.shape
        self.size: int = variable.size
        self._declaration = declaration
        self._rows = (lifted.A.shape[0], lifted.E.shape[0])
        self._conic, self._chart = found.conic, found.chart
        self._form: ClosedForm | None = recognise(found.conic) if found.chart.dim else Point(found.chart.x0)
        self._own_oracle, self._own_sampler = oracle, vertex_sampler
        self._slow = CvxpyOracles(declaration, solver) if solver is not None else None
        self.barrier = SetBarrier(self)

    # what was derived

    @property
    def dim(self) -> int:
        """Dimension of the affine hull."""
        return self._chart.dim

    @property
    def nu(self) -> float:
        """The barrier parameter, the smallest value that is proved."""
        return self.parameter.nu

    @cached_property
    def parameter(self) -> BarrierParameter:
        """The barrier parameter with its derivation."""
        return barrier_parameter(self._conic, self._chart)

    @property
    def chart(self) -> Chart:
        """The coordinates around the analytic center in which learners compute."""
        return self._chart

    @property
    def conic(self) -> ConicSet:
        """The conic form after presolve."""
        return self._conic

    @property
    def constraints(self) -> list[cp.Constraint]:
        """The user's constraints, parameters at the values they had."""
        return list(self._declaration.constraints)

    @property
    def declared(self) -> tuple[str, ...]:
        """The constraints as cvxpy prints them, long ones cut, and the attributes of the variable."""
        return (*self._declaration.names, *self._declaration.attribute_names)

    @property
    def is_polytope(self) -> bool:
        """Whether only linear constraints are left after presolve."""
        return self._conic.is_polyhedral

    @property
    def center(self) -> Array:
        """The analytic center."""
        return self.unflatten(self._chart.x0.copy())

    @cached_property
    def basis(self) -> Array | LinearOperator:
        """An orthonormal basis of the tangent space, (size, dim); above size 2,000 the projector onto it, lazily."""
        chart = self._chart
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

    def contains(self, point: Any, tol: float = 1e-9) -> bool:
        """Whether the point lies in the set enlarged about its center by the factor 1 + tol.

        Points of the wrong shape raise; NaN and infinities are in no set.
        """
        x = self.flatten(point)
        if x.ndim != 1:
            raise ValueError(f"contains takes one point of shape {self.shape}, not {np.shape(point)}.")
        return self._membership.contains(x, tol)

    @cached_property
    def _membership(self) -> Membership:
        return Membership(self._conic, self._chart, self._declaration, self._extent)

    # oracles

    @cached_property
    def _generic(self) -> Oracles:
        if self._slow is not None:
            return self._slow
        if self._form is not None:
            return self._form
        form = self.centered_form
        return PolyhedralOracles(form, self._chart) if form.is_polyhedral else ConicOracles(form, self._chart)

    @property
    def closed_form(self) -> ClosedForm | None:
        """The formulas of a recognised set: box, simplex, capped simplex or ball."""
        return self._form

    @cached_property
    def norm_ball(self) -> tuple[Array, float, float] | None:
        """(center, radius, q) where the set was declared as a ball of a q-norm, otherwise None."""
        return norm_ball(self._declaration)

    @cached_property
    def matrix_norm_ball(self) -> tuple[Array, float, float] | None:
        """(center, radius, q) where the set was declared as a ball of a q-norm of singular values, otherwise None."""
        return matrix_norm_ball(self._declaration)

    @cached_property
    def hull_points(self) -> Array | None:
        """The points, one a row, where the set was declared as the hull of points by weights, otherwise None."""
        return hull_points(self._conic)

    @cached_property
    def centered_form(self) -> CenteredForm:
        """The conic form around the center, for solvers."""
        return CenteredForm(self._conic, self._chart)

    def argmin(self, c: Any) -> Array:
        """A minimiser of <c, x> over the set; a vertex where the set is a polytope."""
        flat = self.flatten(c, "c")
        if self._own_oracle is None:
            return self._each(self._generic.argmin, flat, pull=self._slow is not None)
        return self._each(self._asked_oracle, flat)

    def _asked_oracle(self, c: Array) -> Array:
        assert self._own_oracle is not None
        answer = np.array(self._own_oracle(self.unflatten(c)), dtype=float)  # a copy: it may be the oracle's own
        if answer.shape != self.shape or not np.isfinite(answer).all():
            raise OracleError(
                f"The set's own oracle returned an array of shape {answer.shape}; "
                f"a finite one of shape {self.shape} is expected."
            )
        return answer.ravel(order="F")

    def support(self, c: Any) -> Array | float:
        """The support function max <c, x> over the set."""
        flat = self.flatten(c, "c")
        best = self.flatten(self.argmin(-np.asarray(c, dtype=float)))
        values = (flat * best).sum(axis=-1)
        return float(values) if values.ndim == 0 else values

    def support_bound(self, c: Any) -> float:
        """A certified upper bound of max <c, x>, above it by about 1e-9 of the set's width."""
        flat = self._one(c, "c")
        if self._form is not None and self._slow is None:
            best = self._form.argmin(-flat)
            return float(flat @ best + 1e-14 * (np.abs(flat) @ np.abs(best)))
        if isinstance(self._generic, PolyhedralOracles):
            multipliers = self._generic.multipliers(flat)
            if multipliers is not None:
                proved = bounds.bound_by_multipliers(self._chart, self.nu, flat, multipliers)
                if proved <= float(flat @ self._generic.argmin(-flat)) + 1e-9 * self._extent * float(
                    np.abs(flat).max()
                ):
                    return proved
        return bounds.upper_bound(self._chart, self.nu, flat)

    def project(self, point: Any) -> Array:
        """The nearest point of the set in the Euclidean norm."""
        return self._each(self._generic.project, self.flatten(point), pull=self._slow is not None)

    def barrier_argmin(self, covector: Any, start: Any = None) -> Array:
        """argmin <covector, x> + R(x) for the set's barrier R, warm from the point `start` if one is given."""
        c = self._chart.pull(self._one(covector, "covector"))
        z = None if start is None else fibre(self._chart, self._chart.coordinates(self.flatten(start)))
        return self.unflatten(self._chart.point(minimise(self._chart, c, z).z))

    def bounding_box(self) -> tuple[Array, Array]:
        """The least and largest value of each entry, certified from outside: (lower, upper).

        Above 2,000 entries, and where no closed form is known, it is loose: the declared bounds of single entries and a
        blown-up Dikin ellipsoid.
        """
        lower, upper = self._box
        return self.unflatten(lower.copy()), self.unflatten(upper.copy())

    @cached_property
    def _box(self) -> tuple[Array, Array]:
        if self._form is not None:
            return self._form.box()
        if self.size > DENSE_LIMIT:
            return bounds.loose_box(self._conic, self._chart, self.nu)
        units = np.eye(self.size)
        upper = np.array([self.support_bound(self.unflatten(unit)) for unit in units])
        lower = np.array([-self.support_bound(self.unflatten(-unit)) for unit in units])
        return lower, upper

    def norm_bound(self, p: float) -> float:
        """A certified upper bound of max |x|_p over the set, for p >= 1 (matrices entry by entry)."""
        if not p >= 1:
            raise ValueError(f"p must be at least 1, not {p}.")
        if isinstance(self._form, Ball) and p == 2:
            return float(np.linalg.norm(self._form.center) + self._form.radius) * (1 + 1e-14)
        lower, upper = self._box
        signs = np.where(lower >= -1e-7 * (upper - lower), 1.0, np.where(upper <= 1e-7 * (upper - lower), -1.0, 0.0))
        mixed = np.maximum(np.abs(lower), np.abs(upper))[signs == 0].sum()
        slips = (np.maximum(0.0, -lower)[signs > 0].sum() + np.maximum(0.0, upper)[signs < 0].sum()) * 2
        one_norm = float(mixed + slips + (self.support_bound(self.unflatten(signs)) if signs.any() else 0.0))
        return bounds.norm_bound(p, lower, upper, one_norm, self._outer_radius())

    def _outer_radius(self) -> float:
        """Radius around the origin of a ball that holds the set."""
        return float(np.linalg.norm(self._chart.x0)) + self.central_radius

    @cached_property
    def central_radius(self) -> float:
        """A bound of max |x - center|_2: the Dikin ellipsoid at the center, blown up; infinite on large sets."""
        if not isinstance(self._chart, DenseChart) or not self.dim:
            return np.inf
        return bounds.blow_up(self._chart, self.nu) * float(np.linalg.norm(self._chart.B, 2))

    def dikin(self, point: Any) -> DikinEllipsoid:
        """The Dikin ellipsoid at an interior point, or at a batch of them."""
        z = self.interior_coordinates(self.flatten(point))
        return DikinEllipsoid(self._chart, self._chart.factor(z), self.unflatten, self.flatten)

    def sample_vertex(self, point: Any, rng: np.random.Generator) -> Array:
        """A random vertex whose mean is the point; for polytopes and for sets with an own sampler."""
        x = self.flatten(point)
        if self._own_sampler is not None:
            vertex = np.asarray(self._own_sampler(self.unflatten(x), rng), dtype=float)
            if vertex.shape != self.shape or not np.isfinite(vertex).all():
                raise OracleError(f"The set's own vertex sampler returned shape {vertex.shape}, not {self.shape}.")
            return vertex
        if not self.is_polytope:
            raise UnsupportedConeError(
                f"The {self.name} is not a polytope after presolve; it has no finite set of vertices."
            )
        if not self.contains(point, 1e-7):
            raise ValueError("sample_vertex takes a point of the set; project it first.")
        return self.unflatten(self._vertices.sample(x, rng))

    @cached_property
    def _vertices(self) -> VertexWalk | VertexPeeling:
        if self._chart.width > DENSE_LIMIT:
            raise UnsupportedConeError(f"Vertices of sets of {self.size} entries need an own vertex_sampler.")
        if self._chart.auxiliaries:
            return VertexPeeling(self.centered_form, self.dim)
        return VertexWalk(self._chart)

    # shapes

    def flatten(self, point: Any, what: str = "point") -> Array:
        """Points in the shape of the variable, on any leading axes, as vectors column by column."""
        array = np.asarray(point)
        if array.dtype != np.float64:
            array = _real(array, what)
        k = len(self.shape)
        if array.ndim < k or array.shape[array.ndim - k :] != self.shape:
            raise ValueError(
                f"The {what} has shape {array.shape}; expected {self.shape}, or a batch of these on leading axes."
            )
        if k < 2:
            return array if k else array[..., None]
        batch = array.shape[: array.ndim - k]
        return np.moveaxis(array, range(-k, 0), range(-1, -k - 1, -1)).reshape(*batch, self.size)

    def _one(self, point: Any, what: str) -> Array:
        """One finite vector."""
        flat = self.flatten(point, what)
        if flat.ndim != 1 or not np.isfinite(flat).all():
            raise ValueError(f"{what} must be one array of shape {self.shape} without NaN or infinities.")
        return flat

    def unflatten(self, vectors: Array) -> Array:
        """The inverse of `flatten`."""
        k = len(self.shape)
        if k < 2:
            return vectors if k else vectors[..., 0]
        array = vectors.reshape(*vectors.shape[:-1], *self.shape[::-1])
        return np.moveaxis(array, range(-k, 0), range(-1, -k - 1, -1))

    def _each(self, oracle: Callable[[Array], Array], vectors: Array, *, pull: bool = False) -> Array:
        """An oracle on every vector of a batch; `pull` moves answers toward the center until they are in the set."""
        if not np.isfinite(vectors).all():
            raise ValueError("The oracle was given NaN or an infinity.")
        if vectors.ndim == 1 or getattr(oracle, "__self__", None) is self._form:
            answers = oracle(vectors)
        else:
            answers = np.array([oracle(v) for v in vectors.reshape(-1, self.size)]).reshape(vectors.shape)
        if pull:
            flat = answers.reshape(-1, self.size)
            answers = np.array([self._membership.pulled(x) for x in flat]).reshape(answers.shape)
        return self.unflatten(answers)

    def interior_coordinates(self, x: Array) -> Array:
        """Joint coordinates of interior points, the auxiliaries centered."""
        chart = self._chart
        y = chart.coordinates(x)
        off = np.abs(chart.x0 + chart.push(y) - x).max(initial=0.0)
        if not off <= 1e-6 * self._extent + 1e-12 * np.abs(chart.x0).max(initial=0.0):
            raise ValueError(f"The point is not on the affine hull of the {self.name}: it is off by {off:.2g}.")
        if not chart.auxiliaries:
            if not np.all(chart.interior(y)):
                raise ValueError(f"The point is not in the interior of the {self.name}; the barrier is infinite there.")
            return y
        lifted = []
        for one in y.reshape(-1, chart.width):
            z = fibre(chart, one)
            if z is None:
                raise ValueError(f"The point is not in the interior of the {self.name}; the barrier is infinite there.")
            lifted.append(z)
        return np.array(lifted).reshape(*y.shape[:-1], chart.size)

    @cached_property
    def _extent(self) -> float:
        """The size of the set in the units of x."""
        widths = self._conic.P.multiply(self._conic.P) @ (self._chart.column_widths() ** 2)
        return float(np.sqrt(np.max(widths, initial=0.0)))

    # words

    def summary(self) -> str:
        """What was declared and what was derived, in a few lines."""
        declared = [f"  subject to {text}" for text in _shortened(self._declaration.names)]
        return "\n".join([self._title(), *declared, *(f"  {key:16s} {text}" for key, text in self._derived())])

    def _title(self) -> str:
        return f"{self.name}: variable {self.variable.name()} of shape {self.shape}"

    def _derived(self) -> list[tuple[str, str]]:
        conic, factors = self._conic, self.parameter.factors
        rows = [
            ("dimension", f"{self.dim} (of {self.size} entries)"),
            ("barrier", f"{conic.cones}"),
            ("nu", f"{self.parameter}"),
            (
                "presolve",
                f"{self._rows[0]} conic rows and {self._rows[1]} equalities became {conic.A.shape[0]} and "
                f"{conic.E.shape[0]}; {factors} independent factor{'s' if factors != 1 else ''}; "
                f"{self._chart.auxiliaries} auxiliary coordinates",
            ),
            ("linear algebra", "dense" if isinstance(self._chart, DenseChart) else "diagonal"),
            ("argmin", "its own" if self._own_oracle else self._generic.name),
            ("project", getattr(self._generic, "project_name", self._generic.name)),
        ]
        return [*rows, ("note", self._tower)] if self._tower else rows

    def _repr_html_(self) -> str:
        rows = [("subject to", text) for text in _shortened(self.declared)] + self._derived()
        return f"<p>{markup.text(self._title())}</p>{markup.table(rows)}"

    @property
    def _tower(self) -> str:
        """A note on atoms that cvxpy writes as towers of small second-order cones."""
        stack = [argument for constraint in self._declaration.constraints for argument in constraint.args]
        while stack:
            atom = stack.pop()
            kind = type(atom).__name__
            if kind == "GeoMeanApprox" or (kind == "PnormApprox" and atom.p not in (1, 2, np.inf)):
                return "pnorm and geo_mean are towers of small cones here; approx=False gives fewer power cones."
            stack.extend(atom.args)
        return ""

    def __getstate__(self) -> dict[str, Any]:
        """Without the solvers, which are set up again where they are needed."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_generic", "_vertices")}

    def __repr__(self) -> str:
        return f"DecisionSet({self.name}: shape {self.shape}, dim {self.dim}, nu {self.nu:g})"


class SetBarrier:
    """The barrier R of a set, with auxiliary variables eliminated: R(center) = 0, and infinite outside the interior."""

    def __init__(self, owner: DecisionSet) -> None:
        self._set = owner

    def value(self, point: Any) -> Array | float:
        """R at interior points."""
        s = self._set
        values = s.chart.value(s.interior_coordinates(s.flatten(point)))
        return float(values) if np.ndim(values) == 0 else values

    def gradient(self, point: Any) -> Array:
        """R' at interior points, in the tangent space, in the shape of the variable."""
        s = self._set
        z = s.interior_coordinates(s.flatten(point))
        return s.unflatten(s.chart.spread(s.chart.gradient(z)[..., s.chart.auxiliaries :]))

    def hessian(self, point: Any) -> Array:
        """R'' at interior points as (size, size) matrices that act on the tangent space."""
        s = self._set
        if s.size > DENSE_LIMIT:
            raise UnsupportedConeError(f"A Hessian of order {s.size} is not made; use dikin(point).apply and .solve.")
        z = s.interior_coordinates(s.flatten(point))
        factor = s.chart.factor(z)
        units = np.eye(s.chart.width).reshape(s.chart.width, *(1,) * (z.ndim - 1), s.chart.width)
        columns = factor.apply(np.broadcast_to(units, (s.chart.width, *z.shape[:-1], s.chart.width)))
        S = np.moveaxis(columns, 0, -1)
        left = np.swapaxes(s.chart.spread(np.swapaxes(S, -1, -2)), -1, -2)
        return np.asarray(s.chart.spread(left))


def _real(array: Array, what: str) -> Array:
    """The array as floats, or a sentence about what is wrong with it."""
    if np.iscomplexobj(array):
        raise ValueError(f"The {what} is complex; the set is real.")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"The {what} must hold real numbers, not {array.dtype}.")
    return array.astype(float)


def _shortened(texts: tuple[str, ...], most: int = 8) -> list[str]:
    return list(texts[:most]) + ([f"... and {len(texts) - most} more"] if len(texts) > most else [])
