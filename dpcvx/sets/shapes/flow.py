"""Unit flows in a directed graph: { x >= 0, outflow - inflow = 1 at a source, -1 at a target, 0 elsewhere }."""

from functools import cached_property
from typing import Self

import numpy as np

from dpcvx.actions import ActionFamily, Paths, listed_if_few
from dpcvx.arrays import Array
from dpcvx.sets.conic.network import Network
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.oracles.enumeration import Minimiser
from dpcvx.sets.shapes.measure import Measure, bound, exact
from dpcvx.sets.shapes.polytope import Polytope
from dpcvx.sets.shapes.shape import Facts

_SUMS = 1e-15  # relative rounding of the sum of two numbers, and a little


class Flow(Polytope):
    """Any flow.

    Attributes:
        tails, heads: the nodes at the ends of each edge.
        source, target: the nodes that paths join.
    """

    def __init__(self, geometry: Geometry, layout: Layout, network: Network) -> None:
        super().__init__(geometry, layout)
        self.tails, self.heads = network.tails, network.heads
        self.source, self.target = network.source, network.target

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        network = Network.of(facts.lifted) if facts.geometry.is_polytope else None
        if network is None:
            return None
        kind = PathFlow if cls is Flow and network.dag is not None else cls
        return kind(facts.geometry, facts.layout, network)  # type: ignore[return-value]  # a subclass of this one

    def paths(self) -> Paths:
        """The paths as a family of actions.

        Raises:
            ValueError: where the graph has a cycle on the way.
        """
        return Paths(self.tails, self.heads, self.source, self.target)

    def action_family(self, minimise: Minimiser) -> ActionFamily:
        return listed_if_few(self.paths())


class PathFlow(Flow):
    """A flow in a graph without a cycle on the way: its vertices are the paths from the source to the target.

    So a convex function is largest at a path, and sums over edges are largest at the longest one.
    """

    argmin_name = "shortest path in a graph without cycles"

    def __init__(self, geometry: Geometry, layout: Layout, network: Network) -> None:
        super().__init__(geometry, layout, network)
        assert network.dag is not None
        self._dag = network.dag

    def argmin(self, c: Array) -> Array:
        return self._dag.indicator(self._dag.shortest(c))

    def support_bound(self, c: Array) -> float:
        longest = self._most_edges
        return -self._dag.least(-c) + _SUMS * longest * longest * float(np.abs(c).max(initial=0.0))

    @cached_property
    def _most_edges(self) -> int:
        """The number of edges of the longest path."""
        return round(-self._dag.least(-np.ones(self.layout.size)))

    @cached_property
    def _moving(self) -> int:
        """The same without the edges that are on every path."""
        return self._most_edges - len(self._dag.bridges)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        return self._dag.indicator(self._dag.bridges), self._dag.indicator(self._dag.live)

    def norm_bound(self, p: float) -> float:
        return float(self._most_edges ** (1 / p))

    def radius(self, p: float) -> Measure:
        return exact(self.norm_bound(p))

    def diameter(self, p: float) -> Measure:
        """Two paths differ in at most all edges of both but those on every path."""
        if not self.geometry.dim:
            return exact(0.0)
        if np.isinf(p):
            return exact(1.0)
        if self.points is not None:
            return super().diameter(p)
        return bound((2 * self._moving) ** (1 / p) * (1 + _SUMS))

    @cached_property
    def middle(self) -> Array:
        return self.geometry.center
