"""The public face of a declared convex set: cvxpy constraints in, geometry out."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from dpcvx import markup
from dpcvx.actions import ActionFamily
from dpcvx.arguments import generator, norm_order
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError, DeclarationError, UnsupportedConeError
from dpcvx.sets.barrier import SetBarrier
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.conic.presolve import presolve
from dpcvx.sets.conic.pruning import prune_rows
from dpcvx.sets.geometry.centering import find_center
from dpcvx.sets.geometry.charts import Factorisation
from dpcvx.sets.geometry.dikin import DikinEllipsoid
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.enumeration import MOST
from dpcvx.sets.oracles.membership import Membership
from dpcvx.sets.oracles.oracles import Oracles
from dpcvx.sets.oracles.vertex_sampling import VertexSampler, VertexSampling
from dpcvx.sets.shapes import Facts, Shape, recognise
from dpcvx.sets.words import derived, shortened
from dpcvx.storage.fingerprint import fingerprint


class DecisionSet:
    """A compact convex set declared by a cvxpy variable and constraints.

    Points have the shape of the variable; oracles also take points on leading batch axes. Vectors such as the rows of
    `basis` list the entries of a matrix variable column by column, as cvxpy does.

    Args:
        variable: any real cvxpy variable, of any shape and with any attributes.
        constraints: cvxpy constraints on it; other variables in them are auxiliary. Parameters keep their values. May
            be left out where the attributes of the variable bound it.
        oracle: an own linear minimiser c -> argmin <c, x>, used by `argmin` and `support`; its answers are not checked.
        vertex_sampler: an own (point, rng) -> random vertex with mean point, used by `sample_vertex`.
        solver: an installed cvxpy solver, through which `argmin` and `project` then run: slow and independent.
        prune: whether to remove redundant inequalities by linear programs.
        links_map: a matrix M, sparse or not, (k, size): losses may then have the shape (k,), and cost <l, M x>.
        factorisation: who factorises the sparse matrices of large sets: a function of the upper triangle of a symmetric
            positive definite matrix, a SciPy CSC array, that returns an object with `refactor(upper)`, for other
            numbers in the same places, and `solve(right)`. By default QDLDL, or LAPACK in a band where that is
            faster; CHOLMOD or Pardiso may be faster still.
        name: how `summary` calls the set.

    Attributes:
        name, variable: as given.
        links_map: M as a sparse array, or None.
        bandit_refusal: why no bandit may play on the set, in a sentence; None for almost every set.
        shape, size: of the variable.
        layout: the way between arrays of that shape and vectors.
        geometry: the conic form, its chart around the analytic center, and what follows from them.
        recognised: what the set is, with every formula that is known for it; answers on vectors.
        barrier: its self-concordant barrier.

    Raises:
        DeclarationError, EmptySetError, UnboundedSetError, DegenerateSetError, UnsupportedConeError: sentences that
            name the constraint, the direction or the number at fault.

    Example:
        >>> import cvxpy as cp, dpcvx, numpy as np
        >>> x = cp.Variable(5, nonneg=True)
        >>> X = dpcvx.DecisionSet(x, [cp.sum(x) == 1, x[0] <= 0.4])
        >>> X.dim, X.nu
        (4, 5.0)
        >>> abs(X.argmin([0, 1, 2, 3, 4])).round(6).tolist()
        [0.4, 0.6, 0.0, 0.0, 0.0]
        >>> points = X.dikin(X.center).sample(np.random.default_rng(0), size=3)
        >>> all(X.contains(point) for point in points)
        True
    """

    bandit_refusal: str | None = None

    def __init__(
        self,
        variable: cp.Variable,
        constraints: Iterable[cp.Constraint] = (),
        *,
        oracle: Callable[[Array], Any] | None = None,
        vertex_sampler: VertexSampler | None = None,
        solver: str | None = None,
        prune: bool = False,
        links_map: Any = None,
        factorisation: Factorisation | None = None,
        name: str | None = None,
    ) -> None:
        own = {"oracle": oracle, "vertex_sampler": vertex_sampler, "factorisation": factorisation}
        for key, given in own.items():
            if given is not None and not callable(given):
                raise DeclarationError(f"{key} must be a function, not {given!r}.")
        self._declaration = declaration = declare(variable, constraints)
        names = (*declaration.names, declaration.attribute_name)
        self._lifted = lift(declaration)
        found = find_center(presolve(self._lifted, names), names, variable.name(), variable.shape, factorisation)
        notes = found.notes
        if prune:
            found = find_center(prune_rows(found.conic), names, variable.name(), variable.shape, factorisation)
            notes = (*notes, *found.notes)
        self._notes = notes
        self.name = name or "set"
        self.variable = variable
        self.layout = Layout(variable.shape)
        self.shape, self.size = self.layout.shape, self.layout.size
        self.links_map = _read_map(links_map, self.size)
        self.geometry = Geometry(found.conic, found.chart, self.name)
        self.recognised: Shape = recognise(Facts(declaration, self._lifted, self.geometry, self.layout))
        self.barrier = SetBarrier(self.geometry, self.layout)
        self._oracles = Oracles(self.recognised, self._membership, own=oracle, declaration=declaration, solver=solver)
        self._vertices = VertexSampling(self.geometry, self.layout, vertex_sampler)

    # what was declared

    @property
    def constraints(self) -> list[cp.Constraint]:
        """The user's constraints, parameters at the values they had."""
        return list(self._declaration.constraints)

    @property
    def declared(self) -> tuple[str, ...]:
        """The constraints as cvxpy prints them, long ones cut, and the attributes of the variable."""
        return (*self._declaration.names, *self._declaration.attribute_names)

    @cached_property
    def fingerprint(self) -> str:
        """One text that tells declarations apart: that of the conic form, so not of names or of how it was written."""
        form = self._lifted
        parts: list[str | Array] = [f"{self.shape} {[(type(c).__name__, c.size, c.count) for c in form.cones.cones]} "]
        for rows in (form.A, form.E, form.P):
            entries = sparse.csr_array(rows)
            entries.sum_duplicates()
            entries.eliminate_zeros()
            parts += [f"{entries.shape} {entries.indptr.tolist()} {entries.indices.tolist()} ", entries.data + 0.0]
        if self.links_map is not None:
            M = self.links_map
            parts += [f"map {M.shape} {M.indptr.tolist()} {M.indices.tolist()} ", M.data + 0.0]
        return fingerprint(parts, [end + 0.0 for end in (form.b, form.e, form.offset)])

    # what was derived

    @property
    def dim(self) -> int:
        """Dimension of the affine hull."""
        return self.geometry.dim

    @property
    def nu(self) -> float:
        """The barrier parameter, the smallest value that is proved."""
        return self.geometry.nu

    @property
    def center(self) -> Array:
        """The analytic center."""
        return self.unflatten(self.geometry.center.copy())

    @property
    def basis(self) -> Array | LinearOperator:
        """An orthonormal basis of the tangent space, (size, dim); above size 2,000 the projector onto it, lazily."""
        return self.geometry.basis

    @property
    def is_polytope(self) -> bool:
        """Whether only linear constraints are left after presolve."""
        return self.geometry.is_polytope

    def dikin(self, point: Any) -> DikinEllipsoid:
        """The Dikin ellipsoid at an interior point, or at a batch of them."""
        z = self.geometry.interior_coordinates(self.flatten(point))
        return DikinEllipsoid(self.geometry.chart, self.geometry.chart.factor(z), self.layout)

    # oracles

    def contains(self, point: Any, tol: float = 1e-9) -> bool:
        """Whether the point lies in the set enlarged about its center by the factor 1 + tol.

        Points of the wrong shape raise; NaN and infinities are in no set.
        """
        x = self.flatten(point)
        if x.ndim != 1:
            raise ArgumentError(f"contains takes one point of shape {self.shape}, not {np.shape(point)}.")
        return self._membership.contains(x, tol)

    @cached_property
    def _membership(self) -> Membership:
        return Membership(self.geometry)

    def argmin(self, c: Any) -> Array:
        """A minimiser of <c, x> over the set; a vertex where the set is a polytope."""
        return self.unflatten(self._oracles.argmin(self.flatten(c, "covector c")))

    def support(self, c: Any) -> Array | float:
        """The support function max <c, x> over the set."""
        flat = self.flatten(c, "covector c")
        best = self.flatten(self.argmin(-np.asarray(c, dtype=float)))
        values = (flat * best).sum(axis=-1)
        return float(values) if values.ndim == 0 else values

    def support_bound(self, c: Any) -> float:
        """A certified upper bound of max <c, x>, above it by 1e-9 to 1e-7 of the width; more on bad scales."""
        return self.recognised.support_bound(self.layout.vector(c, "covector c"))

    def project(self, point: Any) -> Array:
        """The nearest point of the set in the Euclidean norm."""
        return self.unflatten(self._oracles.project(self.flatten(point)))

    def sample_vertex(self, point: Any, rng: np.random.Generator) -> Array:
        """A random vertex whose mean is the point; for polytopes and for sets with an own sampler."""
        return self.unflatten(self._vertices.sample(self.flatten(point), generator(rng), self._membership))

    def vertices(self, most: int = MOST) -> Array:
        """All vertices of a polytope, (k, *shape).

        Raises:
            UnsupportedConeError: where the set is no polytope, or has more vertices than `most`.
        """
        return self.unflatten(self.recognised.vertices(self._oracles.argmin, most))

    def action_family(self) -> ActionFamily:
        """The vertices as actions of a bandit: by a formula where there is one, otherwise by a list.

        Raises:
            UnsupportedConeError: where the set is no polytope, has too many vertices, or admits no bandit.
        """
        if self.bandit_refusal is not None:
            raise UnsupportedConeError(self.bandit_refusal)
        return self.recognised.action_family(self._oracles.argmin)

    # sizes

    def bounding_box(self) -> tuple[Array, Array]:
        """The least and largest value of each entry, certified from outside: (lower, upper).

        Above 2,000 entries, and where no closed form is known, it is loose: the declared bounds of single entries and a
        blown-up Dikin ellipsoid.
        """
        lower, upper = self.recognised.box
        return self.unflatten(lower.copy()), self.unflatten(upper.copy())

    def norm_bound(self, p: float) -> float:
        """A certified upper bound of max |x|_p over the set, for p >= 1 (matrices entry by entry)."""
        return self.recognised.norm_bound(norm_order(p))

    # arrays and vectors

    def flatten(self, point: Any, what: str = "point") -> Array:
        """Points in the shape of the variable, on any leading axes, as vectors column by column."""
        return self.layout.flatten(point, what)

    def unflatten(self, vectors: Array) -> Array:
        """The inverse of `flatten`, as an array of its own in which no zero is a -0.0."""
        return np.asarray(self.layout.unflatten(vectors) + 0.0)

    # words

    def summary(self) -> str:
        """What was declared and what was derived, in a few lines."""
        declared = [f"  subject to {text}" for text in shortened(self.declared)]
        return "\n".join([self._title(), *declared, *(f"  {key:16s} {text}" for key, text in self._derived())])

    def _title(self) -> str:
        return f"{self.name}: variable {self.variable.name()} of shape {self.shape}"

    def _derived(self) -> list[tuple[str, str]]:
        names = self._oracles.argmin_name, self._oracles.project_name
        rows = derived(self._declaration, self._lifted, self.geometry, *names)
        return [*rows, *(("note", note) for note in self._notes)]

    def _repr_html_(self) -> str:
        rows = [("subject to", text) for text in shortened(self.declared)] + self._derived()
        return markup.notebook(f"<p>{markup.text(self._title())}</p>{markup.table(rows)}")

    def __repr__(self) -> str:
        return f"DecisionSet({self.name}: shape {self.shape}, dim {self.dim}, nu {self.nu:g})"


def _read_map(given: Any, size: int) -> sparse.csr_array | None:
    """The map of a set as a sparse array with sorted entries."""
    if given is None:
        return None
    try:
        M = sparse.csr_array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise DeclarationError(f"links_map must be a matrix of numbers: {error}.") from error
    if M.ndim != 2 or M.shape[1] != size or not np.isfinite(M.data).all():
        raise DeclarationError(f"links_map must be a finite matrix with {size} columns, not of shape {M.shape}.")
    M.sum_duplicates()
    return M
