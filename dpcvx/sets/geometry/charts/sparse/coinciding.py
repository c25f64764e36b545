"""Inequalities that coincide on the affine hull of a set: together they count as one in the barrier.

The dense way drops all but one of them (`fold_on_hull`), after which their coordinates have no inequality and the
Hessian has no inverse. Here each of k equal ones gets the weight 1/k: on the hull that is the same barrier, and the
Hessian stays diagonal. Inequalities that another one implies because it is parallel and tighter are dropped, and so are
those that are constant.

Rows that are parallel on the hull are those that change alike along a few random tangent vectors.
"""

from dataclasses import replace

import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.barriers import Nonnegative, Product
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.rows import keep_rows
from dpcvx.sets.geometry.charts.sparse.structure import SparseStructure, sparse_equalities
from dpcvx.sets.solvers.factorisations import Factorisation
from dpcvx.sets.solvers.normal_equations import NormalEquations

_TANGENTS = 4  # random vectors: two rows agree in all of them by accident with probability far below 1e-20
_CONSTANT = 1e-10  # change of a row, relative to its slack, below which it counts as none
_ALIKE = 1e-8  # relative difference up to which two changes are the same


def weigh_coinciding(
    conic: ConicSet, v: Array, factorisation: Factorisation | None = None
) -> tuple[ConicSet, SparseStructure] | None:
    """The set with a weight for each inequality, and its structure; None where the sparse chart does not fit it.

    Args:
        conic: the set.
        v: a strictly feasible lifted point.
        factorisation: who factorises sparse matrices.
    """
    equalities = sparse_equalities(conic, factorisation)
    if equalities is None or not len(conic.b):
        return None
    changes = _changes(conic, equalities.system, v)
    constant, side = sides(changes)
    size = np.linalg.norm(changes, axis=1)
    room = 1 / np.where(constant, 1.0, size)  # changes are relative to the slack
    least = np.full(int(side.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, side[~constant], room[~constant])
    keep = ~constant
    keep[keep] = room[keep] <= least[side[keep]] * (1 + _ALIKE)
    count = np.bincount(side[keep], minlength=len(least))
    kept = keep_rows(conic, keep)
    bounded = np.zeros(conic.columns, dtype=bool)
    bounded[kept.A.indices] = True
    moving = np.zeros(conic.columns, dtype=bool)
    moving[conic.A[~constant].indices] = True
    if np.any(moving & ~bounded):
        return None
    weighed = replace(kept, cones=Product([Nonnegative(len(kept.b), 1 / count[side[keep]])]))
    return weighed, SparseStructure(weighed, equalities)


def _changes(conic: ConicSet, equalities: NormalEquations, v: Array) -> Array:
    """The relative changes of the slacks along random tangent vectors, (rows, vectors)."""
    slack = conic.slack(v)
    rate = conic.A.data / slack
    D = np.bincount(conic.A.indices, rate * rate, conic.columns)
    D[D == 0] = 1.0
    root = 1 / np.sqrt(D)
    system = equalities.scaled(root)
    solver = system.factorise(np.ones(len(D)))
    u = np.random.default_rng(0).standard_normal((_TANGENTS, len(D)))
    for _ in range(3):
        u = np.array([one - system.columns(solver.solve(system.rows(one))) for one in u])
    return np.asarray((u * root)[:, conic.A.indices] * rate).T


def sides(changes: Array) -> tuple[Bools, Array]:
    """Which rows of changes (rows, vectors) are constant, and a number for the direction and the side of each row."""
    size = np.linalg.norm(changes, axis=1)
    constant = size <= _CONSTANT
    unit = changes / np.where(constant, 1.0, size)[:, None]
    side = np.where(constant, 0, 1)
    for entries in unit.T:  # split by one entry after the other
        order = np.lexsort((entries, side))
        apart = (np.diff(entries[order]) > _ALIKE) | (np.diff(side[order]) > 0)
        side[order] = np.concatenate([[0], np.cumsum(apart)])
    return np.asarray(constant), side
