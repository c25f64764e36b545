"""Cone programs by Clarabel, called directly: set up once, then asked again with another objective."""

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Product
from dpcvx.errors import OracleError
from dpcvx.sets.solvers.spares import Spares

_USABLE = {"Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations"}


@dataclass(frozen=True)
class Answer:
    """What a conic solve gave: `status` in Clarabel's words, the point and the dual of all rows, equalities first."""

    status: str
    point: Array
    dual: Array

    @property
    def usable(self) -> bool:
        """Whether the point means something; its accuracy is the caller's to check."""
        return self.status in _USABLE and bool(np.isfinite(self.point).all())


class ConeProgram:
    """min 1/2 v'Q v + <q, v> over E v = e, b - A v in K, kept alive between objectives.

    Without refined systems an iteration takes two thirds of the time, and gives a few digits only.
    """

    def __init__(
        self,
        A: sparse.csr_array,
        b: Array,
        cones: Product,
        E: sparse.csr_array,
        e: Array,
        *,
        quadratic: sparse.csc_array | None = None,
        tolerance: float = 1e-10,
        refined: bool = True,
    ) -> None:
        k = A.shape[1]
        Q = sparse.csc_array((k, k)) if quadratic is None else sparse.triu(quadratic, format="csc")
        self._quadratic, self._rows = sparse.csc_matrix(Q), sparse.csc_matrix(sparse.vstack([E, A]))
        self._right = np.concatenate([e, b])
        self._cones, self._equalities, self._tolerance, self._refined = cones, len(e), tolerance, refined
        self._solvers = Spares(self._set_up())

    def _set_up(self) -> clarabel.DefaultSolver:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.presolve_enable = settings.chordal_decomposition_enable = False  # both forbid updates
        settings.max_threads = 1
        settings.max_iter = 200
        settings.iterative_refinement_enable = self._refined
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = self._tolerance
        words = ([clarabel.ZeroConeT(self._equalities)] if self._equalities else []) + self._cones.clarabel()
        columns = self._rows.shape[1]
        try:
            return clarabel.DefaultSolver(self._quadratic, np.zeros(columns), self._rows, self._right, words, settings)
        except BaseException as error:
            if not _is_panic(error):
                raise
            raise OracleError(
                f"Clarabel could not set up a cone program of {len(self._right)} rows over {self._cones}: {error}"
            ) from None

    def minimise(self, q: Array) -> Answer:
        """Solve for the linear part q."""
        solver = self._solvers.take(self._set_up)
        try:
            solver.update(q=np.ascontiguousarray(q, dtype=float))
            solution = solver.solve()
        except BaseException as error:
            if not _is_panic(error):
                raise
            return Answer("Panic", np.full(self._rows.shape[1], np.nan), np.full(self._rows.shape[0], np.nan))
        self._solvers.put_back(solver)
        return Answer(str(solution.status), np.array(solution.x), np.array(solution.z))


def _is_panic(error: BaseException) -> bool:
    """Whether a solver written in Rust broke an assertion of its own, as Clarabel does on numbers far apart.

    Its class derives from BaseException and belongs to no module that could be imported.
    """
    return type(error).__name__ == "PanicException"
