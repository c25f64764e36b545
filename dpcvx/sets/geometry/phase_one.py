"""Phase one: the point of a conic set at which the least slack is largest, and the dual that limits it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.errors import EmptySetError
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.network import Network
from dpcvx.sets.conic.rows import describe
from dpcvx.sets.geometry.charts.sparse.structure import WORTH
from dpcvx.sets.solvers.cone_program import Answer, ConeProgram
from dpcvx.sets.solvers.normal_equations import MOST_PRODUCTS, Equalities, count_products

FLAT = 1e-8  # relative width below which a set counts as flat
_TOLERANCES = (1e-10, 1e-14)  # asked of the solver: the second where the first gives no strict point, for its dual
DENSE_ROWS = 200_000  # entries of equalities, zeros among them, up to which they are solved with dense matrices
FAR = 1e4  # size of a point, over that of the numbers in the constraints, from which on it hides what they say
TOUCHING = 1e-12  # share of the size of a slack below which it counts as none


@dataclass(frozen=True)
class Deepest:
    """The point v of a set at which the least slack is largest, moved onto the equalities.

    Attributes:
        status: of the solver, in its words.
        room: the least slack, in units of the interior point `identity()` of the cones.
        dual: of all rows, equalities first.
    """

    conic: ConicSet
    v: Array
    status: str
    room: float
    dual: Array

    @cached_property
    def is_strict(self) -> bool:
        """Whether all cones hold strictly, by more than rounding: then the set has an interior on its equalities."""
        return holds_strictly(self.conic, self.v)

    @property
    def is_far(self) -> bool:
        """Whether v is far out for the numbers in the constraints, as it may be on an unbounded set."""
        numbers = max(1.0, *(float(np.abs(end).max(initial=0.0)) for end in (self.conic.b, self.conic.e)))
        return bool(np.abs(self.v).max(initial=0.0) > FAR * numbers)

    def blame(self, names: Sequence[str]) -> str:
        """The constraints on which the dual puts weight."""
        weight = np.abs(self.dual)
        sources = np.concatenate([self.conic.equality_source, self.conic.source])
        return describe(sources[weight >= 1e-4 * weight.max(initial=0.0)], names)


def holds_strictly(conic: ConicSet, v: Array) -> bool:
    """Whether the slacks at v lie inside the cones by more than rounding and touching."""
    size = np.abs(conic.b) + abs(conic.A) @ np.abs(v)
    blur = TOUCHING * conic.cones.largest(size)
    return bool(conic.cones.interior(conic.slack(v) - blur * conic.cones.identity()))


def phase_one(conic: ConicSet, names: Sequence[str]) -> Deepest:
    """The deepest point of the set as far as a solver finds it; raises where equalities prove that the set is empty."""
    network = Network.of(conic) if conic.columns >= WORTH else None
    if network is not None and network.dag is not None:
        flow = np.zeros(conic.columns)
        flow[conic.P.indices[network.dag.live]] = network.dag.spread_flow()
        return Deepest(conic, flow, "a path through each edge", 0.0, np.zeros(conic.E.shape[0] + len(conic.b)))
    for tolerance in _TOLERANCES:
        answer = _maximise_least_slack(conic, tolerance)
        start = answer.point if answer.usable else np.zeros(conic.columns + 1)
        v = on_equalities(conic, start[:-1], names)
        dual = answer.dual if np.isfinite(answer.dual).all() else np.zeros(len(answer.dual))
        deepest = Deepest(conic, v, answer.status, float(start[-1]), dual)
        if deepest.is_strict:
            break
    _check_equalities(conic, v, names)
    return deepest


def _check_equalities(conic: ConicSet, v: Array, names: Sequence[str]) -> None:
    """Raise where mu = E v - e at the point of least violation proves that E v = e has no solution.

    E'mu = 0 and <e, mu> = -|mu|^2, so no v can do better.
    """
    if conic.E.shape[0] * conic.columns > DENSE_ROWS:
        return  # looked at where the point was moved onto them
    mu = conic.E @ v - conic.e
    violation = float(mu @ mu)
    if violation <= 1e-18 * max(1.0, float(np.abs(v).max(initial=0.0))) ** 2:
        return
    if float(np.abs(conic.E.T @ mu).sum()) * max(1.0, float(np.abs(v).max())) < 0.1 * violation:
        blamed = describe(conic.equality_source[np.abs(mu) > 1e-4 * np.abs(mu).max()], names)
        raise EmptySetError(
            f"The set is empty: {blamed} cannot hold together; equalities miss by {violation**0.5:.1e}."
        )


def _maximise_least_slack(conic: ConicSet, tolerance: float) -> Answer:
    """Maximise t with b - A v - t e in K, t <= 1; the answer's last coordinate is t."""
    if not len(conic.b):
        return Answer("Solved", np.append(np.zeros(conic.columns), 1.0), np.zeros(0))
    e = conic.cones.identity()[:, None]
    A = sparse.csr_array(sparse.block_array([[None, sparse.csr_array([[1.0]])], [conic.A, sparse.csr_array(e)]]))
    cones = Product([Nonnegative(1), *conic.cones.cones])
    E = sparse.csr_array(sparse.hstack([conic.E, sparse.csr_array((conic.E.shape[0], 1))]))
    program = ConeProgram(A, np.append(1.0, conic.b), cones, E, conic.e, tolerance=tolerance)
    answer = program.minimise(np.append(np.zeros(conic.columns), -1.0))
    inequalities = np.delete(answer.dual, len(conic.e))  # without the row t <= 1
    return Answer(answer.status, answer.point, inequalities)


def on_equalities(conic: ConicSet, v: Array, names: Sequence[str]) -> Array:
    """The point moved onto E v = e; raises where sparse equalities that depend on others contradict them."""
    if not conic.E.shape[0]:
        return v
    residual = conic.E @ v - conic.e
    if conic.E.shape[0] * conic.columns <= DENSE_ROWS:
        return np.asarray(v - np.linalg.lstsq(conic.E.toarray(), residual, rcond=1e-11)[0])
    if count_products(conic.E) > MOST_PRODUCTS:
        return np.asarray(v - sparse.linalg.lsqr(conic.E, residual, atol=1e-14, btol=1e-14)[0])
    equalities = Equalities(conic.E)
    v = equalities.nearest(v, conic.e)
    left = np.abs(conic.E @ v - conic.e)
    if left.max() > 1e-9 * max(1.0, float(np.abs(v).max())):
        blamed = describe(conic.equality_source[[int(np.argmax(left))]], names)
        raise EmptySetError(f"The set is empty: {blamed} contradicts the other equalities by {left.max():.1e}.")
    return v
