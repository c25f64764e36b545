"""Inequalities that are parallel on the affine hull of the set, though not in the space around it."""

import numpy as np
from scipy import sparse
from scipy.linalg import null_space

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import DENSE_LIMIT, ConicSet
from dpcvx.sets.conic.rows import keep_rows, unweighted
from dpcvx.sets.sparse_rows import EXACT, parallel_groups

_RANK = 1e-11  # relative size below which a direction counts as zero


def fold_on_hull(conic: ConicSet, v: Array) -> ConicSet:
    """Drop inequalities that another one implies on the affine hull because both have the same normal there.

    Args:
        conic: the set.
        v: a strictly feasible lifted point.
    """
    conic = unweighted(conic)
    rows = np.flatnonzero(conic.polyhedral)
    if not len(rows) or not conic.E.shape[0] or conic.columns > DENSE_LIMIT:
        return conic
    reduced = conic.A[rows] @ null_space(conic.E.toarray(), rcond=_RANK)
    norm = np.linalg.norm(reduced, axis=1)
    constant = norm <= _RANK
    group, sign = parallel_groups(sparse.csr_array(reduced / np.where(constant, 1.0, norm)[:, None]))
    room = conic.slack(v)[rows] / np.where(constant, np.inf, norm)
    side = 2 * group + (sign > 0)
    least = np.full(side.max() + 1, np.inf)
    np.minimum.at(least, side, room)
    tight = np.flatnonzero(~constant & (room <= least[side] * (1 + EXACT)))
    _, first = np.unique(side[tight], return_index=True)  # of equals the first, whatever rounding says
    keep = np.ones(len(conic.b), dtype=bool)
    keep[rows] = False
    keep[rows[tight[first]]] = True
    return keep_rows(conic, keep)
