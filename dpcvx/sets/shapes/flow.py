"""Unit flows in a directed graph: { x >= 0, outflow - inflow = 1 at a source, -1 at a target, 0 elsewhere }."""

from typing import Self

import numpy as np
from scipy import sparse

from dpcvx.actions import ActionFamily, Paths, listed_if_few
from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.enumeration import Minimiser
from dpcvx.sets.shapes.polytope import Polytope
from dpcvx.sets.shapes.shape import Facts


class Flow(Polytope):
    """Its vertices are the paths from the source to the target, where the graph has no cycle on the way.

    Attributes:
        tails, heads: the nodes at the ends of each edge.
        source, target: the nodes that paths join.
    """

    def __init__(
        self, geometry: Geometry, layout: Layout, tails: Array, heads: Array, source: int, target: int
    ) -> None:
        super().__init__(geometry, layout)
        self.tails, self.heads, self.source, self.target = tails, heads, source, target

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        graph = _graph(facts.lifted, facts.layout.size) if facts.geometry.is_polytope else None
        return None if graph is None else cls(facts.geometry, facts.layout, *graph)

    def paths(self) -> Paths:
        """The paths as a family of actions.

        Raises:
            ValueError: where the graph has a cycle on the way.
        """
        return Paths(self.tails, self.heads, self.source, self.target)

    def action_family(self, minimise: Minimiser) -> ActionFamily:
        return listed_if_few(self.paths())


def _graph(form: ConicSet, size: int) -> tuple[Array, Array, int, int] | None:
    """(tails, heads, source, target) of a declared flow; None for any other set.

    One node may be left out, whose equation follows from the others.
    """
    plain = form.columns == size == form.P.nnz and (form.P.data == 1).all() and not form.offset.any()
    single = form.A.shape[0] == form.A.nnz and (form.A.data < 0).all() and not form.b.any()
    if not plain or not single or len(np.unique(form.A.indices)) < size or not form.E.shape[0]:
        return None
    flow = sparse.csc_array(form.E[:, form.P.indices])
    flow.eliminate_zeros()
    if not np.isin(flow.data, (-1, 1)).all() or np.diff(flow.indptr).max(initial=0) > 2:
        return None
    rest = -np.asarray(flow.sum(axis=0)).reshape(1, -1)  # of the node that was left out
    flow, demand = sparse.csc_array(sparse.vstack([flow, rest])), np.append(form.e, -form.e.sum())
    out, into = (sparse.csc_array(flow == sign) for sign in (1, -1))
    each = np.ones(size, dtype=int)
    if not (np.array_equal(np.diff(out.indptr), each) and np.array_equal(np.diff(into.indptr), each)):
        return None
    ends = [np.flatnonzero(demand == sign) for sign in (1, -1)]
    if not np.isin(demand, (-1, 0, 1)).all() or len(ends[0]) != 1 or len(ends[1]) != 1:
        return None
    return out.indices.astype(int), into.indices.astype(int), int(ends[0][0]), int(ends[1][0])
