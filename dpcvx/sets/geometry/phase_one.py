"""Phase one: a strictly feasible point of a conic set, or the sentence that says why it is empty or flat."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.errors import DegenerateSetError, EmptySetError, OracleError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.rows import describe
from dpcvx.sets.solvers.cone_program import Answer, ConeProgram
from dpcvx.sets.sparse_rows import row_sizes

FLAT = 1e-8  # relative width below which a set counts as flat
_ROOM = 1e-6  # least slack above which an interior point needs no second look


@dataclass(frozen=True)
class Deepest:
    """The point v of a set at which the least slack is largest, moved onto the equalities; `answer` is the solver's."""

    conic: ConicSet
    v: Array
    answer: Answer

    @property
    def room(self) -> float:
        """The least slack, in units of the interior point `identity()` of the cones."""
        return float(self.answer.point[-1])

    @cached_property
    def is_strict(self) -> bool:
        """Whether all cones hold strictly."""
        return bool(self.conic.cones.interior(self.conic.slack(self.v)))

    @property
    def is_clear(self) -> bool:
        """Whether there is so much room that the point needs no second look."""
        return self.is_strict and self.room > _ROOM


def phase_one(conic: ConicSet, names: Sequence[str]) -> Deepest:
    """The deepest point of the set; raises where the set is empty."""
    deepest = _deepest(conic)
    status = deepest.answer.status
    decided = status in ("Solved", "AlmostSolved")
    if "PrimalInfeasible" in status or (decided and deepest.room < -_ROOM) or _residual(conic, deepest.v) > FLAT:
        raise EmptySetError(f"The set is empty: {_blame(deepest, names)} cannot hold together.")
    return deepest


def strict_point(deepest: Deepest, names: Sequence[str]) -> tuple[ConicSet, Array]:
    """A strictly feasible lifted point of a set without implicit equalities, and the set in units that fit it.

    A small least slack then has two explanations, tried in turn: units (look again in the units of the bounding box),
    or a set that is thin or flat by its curved constraints. A flat one raises.
    """
    if deepest.is_clear:
        return deepest.conic, deepest.v
    again = _deepest(_zoomed(deepest.conic, deepest.v))
    if again.room > 1e-3 and again.is_strict:
        return again.conic, again.v
    if deepest.is_strict and deepest.room > FLAT / 10:
        return deepest.conic, deepest.v
    raise DegenerateSetError(
        f"The set is flat: {_blame(deepest, names)} leave a slack of {max(deepest.room, 0.0):.1e} of the "
        "set's size, which is no interior within rounding. State the equality that they imply, or widen them."
    )


def _deepest(conic: ConicSet) -> Deepest:
    answer = _maximise_least_slack(conic)
    return Deepest(conic, _on_equalities(conic, answer.point[:-1]), answer)


def _maximise_least_slack(conic: ConicSet) -> Answer:
    """Maximise t with b - A v - t e in K, t <= 1; the answer's last coordinate is t."""
    if not len(conic.b):
        return Answer("Solved", np.append(np.zeros(conic.columns), 1.0), np.zeros(0))
    e = conic.cones.identity()[:, None]
    A = sparse.csr_array(sparse.block_array([[None, sparse.csr_array([[1.0]])], [conic.A, sparse.csr_array(e)]]))
    cones = Product([Nonnegative(1), *conic.cones.cones])
    E = sparse.csr_array(sparse.hstack([conic.E, sparse.csr_array((conic.E.shape[0], 1))]))
    program = ConeProgram(A, np.append(1.0, conic.b), cones, E, conic.e)
    answer = program.minimise(np.append(np.zeros(conic.columns), -1.0))
    if not answer.usable and "PrimalInfeasible" not in answer.status:
        raise OracleError(f"The search for an interior point stopped without an answer: {answer.status}.")
    inequalities = np.delete(answer.dual, len(conic.e))  # without the row t <= 1
    return Answer(answer.status, answer.point, inequalities)


def _on_equalities(conic: ConicSet, v: Array) -> Array:
    """The point moved onto E v = e."""
    if not conic.E.shape[0]:
        return v
    residual = conic.E @ v - conic.e
    if conic.E.shape[0] * conic.columns <= 4_000_000:
        return np.asarray(v - np.linalg.lstsq(conic.E.toarray(), residual, rcond=1e-11)[0])
    return np.asarray(v - sparse.linalg.lsqr(conic.E, residual, atol=1e-14, btol=1e-14)[0])


def _residual(conic: ConicSet, v: Array) -> float:
    return float(np.abs(conic.E @ v - conic.e).max(initial=0.0)) / max(1.0, float(np.abs(v).max(initial=0.0)))


def _blame(deepest: Deepest, names: Sequence[str]) -> str:
    """The constraints on which the dual of phase one puts weight."""
    weight = np.abs(deepest.answer.dual)
    sources = np.concatenate([deepest.conic.equality_source, deepest.conic.source])
    if not np.isfinite(weight).all() or not len(weight):
        return describe(sources, names)
    return describe(sources[weight > 1e-4 * weight.max()], names)


def _zoomed(conic: ConicSet, v: Array) -> ConicSet:
    """The same set in coordinates shifted to v and scaled to the bounding box of the lifted set."""
    column = sparse.diags_array(np.exp2(np.round(np.log2(_widths(conic, v)))))
    A = sparse.csr_array(conic.A @ column)
    row = conic.cones.unit_factors(row_sizes(A))
    return replace(
        conic,
        A=sparse.csr_array(sparse.diags_array(row) @ A),
        b=row * conic.slack(v),
        E=sparse.csr_array(conic.E @ column),
        e=conic.e - conic.E @ v,
        P=sparse.csr_array(conic.P @ column),
        offset=conic.point(v),
    )


def _widths(conic: ConicSet, v: Array) -> Array:
    """The extent of the set in each lifted coordinate by two cone programs; 1 where it is not found, or infinite."""
    program = ConeProgram(conic.A, conic.slack(v), conic.cones, conic.E, conic.e - conic.E @ v)
    width = np.ones(conic.columns)
    for j in range(conic.columns):
        ends = []
        for sign in (1.0, -1.0):
            q = np.zeros(conic.columns)
            q[j] = sign
            answer = program.minimise(q)
            ends.append(float(answer.point[j]) if answer.status in ("Solved", "AlmostSolved") else np.nan)
        extent = abs(ends[1] - ends[0])
        width[j] = extent if np.isfinite(extent) and extent > 1e-12 else 1.0
    return width
