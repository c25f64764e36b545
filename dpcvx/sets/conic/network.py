"""Conic sets that are unit flows in a directed graph: { x >= 0, outflow - inflow = 1 at a source, -1 at a target }."""

from functools import cached_property

import numpy as np
from scipy import sparse

from dpcvx.actions.dag import Dag
from dpcvx.arrays import Array, Bools
from dpcvx.sets.conic.canonical import ConicSet


class Network:
    """A directed graph with a source and a target.

    Attributes:
        tails, heads: the nodes at the ends of each edge.
        source, target: the nodes that paths join.
    """

    def __init__(self, tails: Array, heads: Array, source: int, target: int) -> None:
        self.tails, self.heads, self.source, self.target = tails, heads, source, target

    @classmethod
    def of(cls, form: ConicSet) -> "Network | None":
        """The graph whose unit flows the set consists of; None for any other set.

        One node may be left out, whose equation follows from the others.
        """
        size = len(form.offset)
        plain = form.columns == size == form.P.nnz and (form.P.data == 1).all() and not form.offset.any()
        single = form.A.shape[0] == form.A.nnz and (form.A.data < 0).all() and not form.b.any()
        if not plain or not single or not form.E.shape[0]:
            return None
        alone = np.diff(form.E.indptr) == 1
        covered = np.zeros(size, dtype=bool)
        covered[form.A.indices] = True
        covered[form.E[alone].indices] = True  # whatever an equality fixes needs no bound
        if not covered.all() or not np.array_equal(np.sort(form.P.indices), np.arange(size)):
            return None
        closed = sparse.csr_array(form.E[alone & (form.e == 0)])
        shut = np.zeros(size, dtype=bool)
        shut[closed.indices] = True
        rows = form.E[~(alone & (form.e == 0))]
        found = _ends(sparse.csc_array(rows[:, form.P.indices]), form.e[~(alone & (form.e == 0))], shut[form.P.indices])
        return None if found is None else cls(*found)

    @cached_property
    def dag(self) -> Dag | None:
        """Its paths; None where no path joins the ends, or there is a cycle on the way."""
        try:
            return Dag(self.tails, self.heads, self.source, self.target)
        except ValueError:
            return None


def _ends(flow: sparse.csc_array, demand: Array, shut: Bools) -> tuple[Array, Array, int, int] | None:
    """(tails, heads, source, target) from the rows of the nodes; edges that are shut may have lost theirs."""
    flow.eliminate_zeros()
    counts = np.diff(flow.indptr)
    if not np.isin(flow.data, (-1, 1)).all() or counts.max(initial=0) > 2 or not flow.shape[0]:
        return None
    missing, size = flow.shape[0], flow.shape[1]  # the number of the node that was left out
    ends = []
    for sign in (1, -1):
        mine = flow.data == sign
        column = np.repeat(np.arange(size), counts)[mine]
        if len(np.unique(column)) < len(column):
            return None
        nodes = np.full(size, missing)
        nodes[column] = flow.indices[mine]
        ends.append(nodes)
    if np.any((counts == 0) & ~shut):
        return None
    demand = np.append(demand, -demand.sum())
    at = [np.flatnonzero(demand == sign) for sign in (1, -1)]
    if not np.isin(demand, (-1, 0, 1)).all() or len(at[0]) != 1 or len(at[1]) != 1:
        return None
    tails, heads = ends[0].copy(), ends[1].copy()
    tails[shut] = heads[shut] = missing + 1  # a loop at a node of its own, which is on no way
    return tails, heads, int(at[0][0]), int(at[1][0])
