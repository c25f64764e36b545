"""Minimisers of linear functions over a polytope, with the bases that were optimal of late.

In coordinates y of its affine hull the polytope is { y : G y <= h }. A basis is a set B of rows, as many as there are
coordinates and linearly independent; its vertex solves G_B y = h_B. The vertex minimises <g, y> if the multipliers l of
G_B' l = -g are nonnegative, and it is the only minimiser if they are positive. A learner asks for nearly the same
direction round after round, so this test of a basis that is at hand, one product of a matrix and a vector, answers most
questions.

An answer must not depend on what was asked before, to the last digit. So

- a basis at hand answers only where its multipliers are above a margin far larger than the tolerance of the simplex
  method: a solve from scratch would end in the same vertex, whichever basis it finds there;
- a vertex is computed from all rows that are active there, in their order, not from the basis: bases of one vertex give
  the same digits. Where a slack is neither zero nor clearly positive, active rows cannot be told, and what the simplex
  method returned is the answer; such vertices are not kept.

Auxiliary coordinates on which x does not depend have no costs, so minimisers over them would not be unique. They get
costs of their own, fixed and tiny.
"""

from typing import NamedTuple

import daqp
import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from dpcvx.arrays import Array
from dpcvx.errors import OracleError
from dpcvx.sets.geometry.centered_form import CenteredForm
from dpcvx.sets.solvers.linear_program import LinearProgram, Optimum

_COORDINATES = 400  # up to which bases are kept
_FEW = 60  # coordinates up to which a projection is tried before the simplex method
_AWAY = 1e3  # how far a point is that is projected onto a vertex, the costs and the polytope being of size 1
_NUMBERS = 2**16  # in all matrices that are kept
_MOST = 32  # bases that are kept
_MARGIN = 1e-7  # multipliers, for costs of size 1, above which a basis is surely the only one
_TILT = 2e-8  # costs of auxiliary coordinates
_TILTED_MARGIN = 1e-9  # of multipliers that come from these costs alone
_ACTIVE, _IDLE = 1e-9, 1e-7  # slacks, those at the center being 1, up to and from which rows are active or not
_RANK = 1e-11  # relative size of a pivot below which rows count as dependent
_NOTHING = 1e-14  # relative size of costs along the polytope that are rounding


class _Kept(NamedTuple):
    """Bases at hand, the latest first: the maps (b, k, k) from costs to multipliers, their margins, and the points."""

    maps: Array
    margins: Array
    points: tuple[Array, ...]


class OptimalBases:
    """argmin <c, x> over a polytope in the form of `CenteredForm`, from scratch or by a basis at hand."""

    def __init__(self, form: CenteredForm) -> None:
        self._form = form
        self._program = LinearProgram.over(form.A, form.s0, form.E)
        N = scipy.linalg.null_space(form.E.toarray()) if form.E.shape[0] else np.eye(form.A.shape[1])
        self._N, self._G = N, np.ascontiguousarray(form.A @ N)
        self._D = np.ascontiguousarray(form.P @ N)
        self._reach = float(np.abs(self._D).sum(axis=0).max(initial=0.0))
        inverse = np.linalg.pinv(self._D)
        free = np.eye(N.shape[1]) - inverse @ self._D  # onto the coordinates that x does not see
        tilt = free @ np.random.default_rng(0).uniform(0.5, 1.5, N.shape[1])
        seen = np.linalg.matrix_rank(self._D) == N.shape[1]
        self._tilt = np.zeros(len(tilt)) if seen else _TILT * tilt / np.abs(tilt).max()
        self._single = np.diff(form.A.indptr) == 1
        bounds = form.A[self._single]
        self._bound_columns, self._bound_entries = bounds.indices, bounds.data
        self._most = max(2, min(_MOST, _NUMBERS // max(N.shape[1] ** 2, 1)))
        k = N.shape[1]
        self._kept = _Kept(np.zeros((0, k)), np.zeros((0, k)), ())
        self._met: tuple[bytes, ...] = ()

    @classmethod
    def over(cls, form: CenteredForm) -> "OptimalBases | None":
        """None where the polytope has too many coordinates, or is a point."""
        free = form.A.shape[1] - form.E.shape[0]
        if free > _COORDINATES or form.A.shape[1] > 2 * _COORDINATES or not form.A.shape[0]:
            return None
        bases = cls(form)
        return bases if bases._N.shape[1] else None

    def argmin(self, c: Array) -> Array | None:
        """A minimiser of <c, x>; None where the simplex method found none."""
        costs = self._costs(c)
        kept = self._kept  # once: a thread may put another there
        if kept.points:
            enough = kept.maps.dot(costs).reshape(kept.margins.shape) > kept.margins
            proved = enough.all(axis=1)
            if proved.any():
                return kept.points[int(proved.argmax())].copy()
        answer = self._proposed(costs)
        if answer is not None:
            return answer
        best = self._solved(costs)
        return None if best is None else self._vertex(best)

    def _proposed(self, costs: Array) -> Array | None:
        """The minimiser by the rows onto which a point far against the costs is projected, where they prove it.

        That takes less than half the time of the simplex method. The proof is that of a basis at hand, and the point is
        computed in the same way: so it has the bits of a solve from scratch. None where more rows meet, and at ties.
        """
        k = len(costs)
        if k > _FEW:
            return None
        y, _, flag, told = daqp.solve(np.eye(k), _AWAY * costs, self._G, self._form.s0, primal_tol=1e-11)
        loaded = told["lam"] > 0
        basis = np.flatnonzero(loaded)
        slack = self._form.s0 - self._G @ y
        if flag != 1 or len(basis) != k or slack[~loaded].min(initial=np.inf) <= 2 * _IDLE:
            return None
        tested = self._tested(basis)
        if tested is None or not np.all(tested[0].dot(costs) > tested[1]):
            return None
        vertex = _solution(self._G[basis], self._form.s0[basis])
        if vertex is None or not np.all(np.abs(self._form.s0 - self._G @ vertex - slack) <= _ACTIVE):
            return None
        x = self._form.inside(self._N @ vertex)
        self._put(*tested, x)
        return x

    def _solved(self, costs: Array) -> Optimum | None:
        try:
            return self._program.optimum(self._N @ costs)
        except OracleError:  # costs of very different sizes
            return self._program.optimum(self._N @ (costs - self._tilt))

    def _costs(self, c: Array) -> Array:
        """The costs of the coordinates y, of size 1, those of the auxiliary ones included."""
        g = c.dot(self._D)
        size = float(np.abs(g).max())
        if size <= _NOTHING * self._reach * float(np.abs(c).max()):
            return self._tilt / _TILT
        return np.asarray(g / size + self._tilt)

    def _vertex(self, best: Optimum) -> Array:
        """The point of an optimum, by its active rows alone where they can be told; its basis may then be kept."""
        slack = self._form.s0 - self._G @ (best.point @ self._N)
        active = np.flatnonzero(slack <= _ACTIVE)
        k = self._N.shape[1]
        if len(active) < k or np.any((slack > _ACTIVE) & (slack < _IDLE)):
            return self._form.inside(best.point)
        y = _solution(self._G[active], self._form.s0[active])
        if y is None or not np.all(np.abs(slack - (self._form.s0 - self._G @ y)) <= _IDLE):
            return self._form.inside(best.point)
        x = self._form.inside(self._N @ y)
        if len(active) > k and not self._met_before(active.tobytes()):
            return x
        basis = active if len(active) == k else self._basis(active, best)
        if len(basis) == k:
            self._keep(basis, x)
        return x

    def _met_before(self, vertex: bytes) -> bool:
        """Whether a degenerate vertex, named by its active rows, was met of late: then its basis is worth the work."""
        met = self._met
        if vertex in met:
            return True
        self._met = (vertex, *met[: self._most - 1])
        return False

    def _basis(self, active: Array, best: Optimum) -> Array:
        """Rows among the active ones by which the optimum is proved: a basis, or fewer."""
        multipliers = np.empty(self._form.A.shape[0])
        ordinary = int((~self._single).sum())
        multipliers[~self._single] = -best.row_duals[:ordinary]
        multipliers[self._single] = -best.column_duals[self._bound_columns] / self._bound_entries
        loaded = active[multipliers[active] > 0]
        return loaded[_independent(self._G[loaded], multipliers[loaded])]

    def _keep(self, basis: Array, x: Array) -> None:
        """Keep a basis and its point."""
        tested = self._tested(basis)
        if tested is not None:
            self._put(*tested, x)

    def _tested(self, basis: Array) -> tuple[Array, Array] | None:
        """The map from costs to the multipliers of a basis, and their margins."""
        try:
            directions = np.linalg.inv(self._G[basis])  # a column for each row that is left
        except np.linalg.LinAlgError:
            return None
        image = np.abs(self._D @ directions).max(axis=0)
        return -directions.T, np.where(image > 1e-9 * image.max(), _MARGIN, _TILTED_MARGIN)

    def _put(self, map_: Array, margins: Array, x: Array) -> None:
        """Put a basis in front of the others, in one assignment: threads and interruptions leave whole ones."""
        kept, rest = self._kept, self._most - 1
        self._kept = _Kept(
            np.concatenate([map_, kept.maps[: rest * len(margins)]]),
            np.concatenate([margins[None], kept.margins[:rest]]),
            (x.copy(), *kept.points[:rest]),
        )


def _solution(rows: Array, ends: Array) -> Array | None:
    """The solution of rows @ y = ends, at least as many as unknowns and consistent; None where it is not determined.

    By Gaussian elimination, whose pivots choose the rows that count.
    """
    k = rows.shape[1]
    lu, pivots, _ = lapack.dgetrf(rows)
    diagonal = np.abs(np.diagonal(lu))
    if not diagonal.min() > _RANK * diagonal.max():
        return None
    order = np.arange(len(rows))
    for i, pivot in enumerate(pivots):
        order[i], order[pivot] = order[pivot], order[i]
    y = lapack.dtrtrs(lu[:k], ends[order[:k]], lower=1, unitdiag=1)[0]
    return np.asarray(lapack.dtrtrs(lu[:k], y)[0])


def _independent(rows: Array, multipliers: Array) -> Array:
    """Which of the rows, linearly independent ones, give the same sum with other positive multipliers.

    After Caratheodory: multipliers move along a relation between the rows until the first of them is zero.
    """
    left = np.arange(len(rows))
    surplus = len(rows) - rows.shape[1]
    if surplus <= 0:
        return left
    relations = np.linalg.qr(rows, mode="complete")[0][:, -surplus:].T
    multipliers = multipliers.copy()
    for _ in range(surplus):
        relation = relations[0] if relations[0].max() > -relations[0].min() else -relations[0]
        ratios = np.where(relation > _RANK, multipliers / np.maximum(relation, _RANK), np.inf)
        first = int(ratios.argmin())
        multipliers = multipliers - ratios[first] * relation
        relations = relations[1:] - relations[1:, [first]] / relation[first] * relation
        keep = np.arange(len(left)) != first
        left, multipliers, relations = left[keep], multipliers[keep], relations[:, keep]
    return left
