"""Removal of inequalities that the others imply, by one linear program for each: optional, since it takes time."""

import numpy as np
from scipy import sparse

from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.rows import keep_rows, unweighted
from dpcvx.sets.solvers.linear_program import LinearProgram


def prune_rows(conic: ConicSet) -> ConicSet:
    """The set without the inequality rows that the other inequality and equality rows imply."""
    conic = unweighted(conic)
    rows = np.flatnonzero(conic.polyhedral)
    A, b = sparse.csr_array(conic.A[rows]), conic.b[rows]
    program = LinearProgram(
        sparse.csr_array(sparse.vstack([A, conic.E])),
        np.concatenate([np.full(len(rows), -np.inf), conic.e]),
        np.concatenate([b, conic.e]),
    )
    keep = np.ones(len(conic.b), dtype=bool)
    for i, row in enumerate(rows):
        size = max(1.0, abs(b[i]))
        program.set_upper(i, b[i] + size)
        v = program.minimise(-A[[i]].toarray()[0])
        if v is not None and float((A[[i]] @ v)[0]) <= b[i] + 1e-10 * size:
            keep[row] = False
            program.set_upper(i, np.inf)
        else:
            program.set_upper(i, b[i])
    return keep_rows(conic, keep)
