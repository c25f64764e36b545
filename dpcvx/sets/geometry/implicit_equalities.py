"""Implicit equalities: inequalities that hold with equality all over the polyhedral part of a set."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.network import Network
from dpcvx.sets.geometry.charts.sparse.structure import WORTH
from dpcvx.sets.solvers.linear_program import LinearProgram


def implicit_equalities(conic: ConicSet) -> Array:
    """The inequality rows that hold with equality on the whole polyhedral part; none where no answer was found."""
    network = Network.of(conic) if conic.columns >= WORTH else None
    if network is not None and network.dag is not None:
        dead = np.ones(conic.columns, dtype=bool)
        dead[conic.P.indices[network.dag.live]] = False
        return np.flatnonzero(dead[conic.A.indices])
    rows = np.flatnonzero(conic.polyhedral)
    return _never_leaving_zero(conic, rows, _without_slack(conic, rows))


def _without_slack(conic: ConicSet, rows: Array) -> Array:
    """Those of the rows that one homogenised linear program cannot give a slack.

    max 1's with 0 <= s <= 1, s <= b tau - A v, E v = e tau, tau >= 1: every s comes out 0 or 1.
    """
    m, k, equalities = len(rows), conic.columns, conic.E.shape[0]
    if not m:
        return rows
    inequalities = sparse.hstack([sparse.eye_array(m), conic.A[rows], sparse.csr_array(-conic.b[rows][:, None])])
    flat = sparse.hstack([sparse.csr_array((equalities, m)), conic.E, sparse.csr_array(-conic.e[:, None])])
    answer = linprog(
        np.concatenate([-np.ones(m), np.zeros(k + 1)]),
        A_ub=sparse.csr_array(inequalities),
        b_ub=np.zeros(m),
        A_eq=sparse.csr_array(flat) if equalities else None,
        b_eq=np.zeros(equalities) if equalities else None,
        bounds=[(0, 1)] * m + [(None, None)] * k + [(1, 1e8)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    return rows[:0] if answer.status != 0 else rows[answer.x[:m] < 1e-7]


def _never_leaving_zero(conic: ConicSet, rows: Array, flat: Array) -> Array:
    """Those of the flat rows whose slacks stay zero, to rounding, at the vertex where their sum is largest.

    To the program of `_without_slack` a very thin set looks flat.
    """
    if not len(flat):
        return flat
    program = LinearProgram(
        sparse.csr_array(sparse.vstack([conic.A[rows], conic.E])),
        np.concatenate([np.full(len(rows), -np.inf), conic.e]),
        np.concatenate([conic.b[rows], conic.e]),
    )
    while len(flat):
        widest = program.minimise(np.asarray(conic.A[flat].sum(axis=0)).ravel())
        if widest is None:
            return rows[:0]
        stays = conic.b[flat] - conic.A[flat] @ widest <= 1e-13
        if stays.all():
            break
        flat = flat[stays]
    return np.asarray(flat)
