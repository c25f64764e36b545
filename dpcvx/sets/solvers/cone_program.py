"""Cone programs by Clarabel, called directly: set up once, then asked again with another objective."""

from dataclasses import dataclass
from threading import Lock

import clarabel
import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Product

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
    """min 1/2 v'Q v + <q, v> over E v = e, b - A v in K, kept alive between objectives."""

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
    ) -> None:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.presolve_enable = settings.chordal_decomposition_enable = False  # both forbid updates
        settings.max_threads = 1
        settings.max_iter = 200
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        self._lock = Lock()  # one solver, one solve at a time
        k = A.shape[1]
        Q = sparse.csc_array((k, k)) if quadratic is None else sparse.triu(quadratic, format="csc")
        words = ([clarabel.ZeroConeT(len(e))] if len(e) else []) + cones.clarabel()
        rows = sparse.csc_matrix(sparse.vstack([E, A]))
        self._solver = clarabel.DefaultSolver(
            sparse.csc_matrix(Q), np.zeros(k), rows, np.concatenate([e, b]), words, settings
        )

    def minimise(self, q: Array) -> Answer:
        """Solve for the linear part q."""
        with self._lock:
            self._solver.update(q=np.ascontiguousarray(q, dtype=float))
            solution = self._solver.solve()
        return Answer(str(solution.status), np.array(solution.x), np.array(solution.z))
