"""Exponential weights over the paths between two nodes of a directed acyclic graph, as indicators of their edges.

Pushing the weights exp(-covector) backward makes q a Markov chain: from a node the next edge e has the probability
t_e = exp(-c_e + b(head) - b(tail)), b(v) the logarithm of the weight of all paths from v on. With R(u, v) the
probability to come from u to v,

    E a_e = R(source, tail e) t_e,    E a_e a_f = E a_e R(head e, tail f) t_f    for e before f.

Exploration is such a chain too. Its reach, max a'Sa for S = Sigma^+, is bounded without listing paths: with k_e the
largest sum of S_ef over the edges f of a path through e, a'Sa is at most the sum of k_e over the edges of a, and the
largest of those sums belongs to a longest path.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import null_space
from scipy.sparse.linalg import splu

from dpcvx.actions.dag import Dag
from dpcvx.actions.family import ActionFamily, Exploration, Mixing
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError

_NEWTON = 100  # steps to the center
_CENTRAL = 1e-9  # decrement at which it is found
_SPREAD = 1e8  # largest ratio of the eigenvalues of a second moment
_DENSE = 2000  # edges on paths, up to which matrices of all pairs of them are made
_OUTWARD = 1 + 1e-6  # of a reach, against rounding at that ratio


class Paths(ActionFamily):
    """The paths from a source to a target.

    Args:
        tails, heads: numbers of the nodes at the ends of the edges.
        source, target: nodes that a path joins.

    Raises:
        ValueError: where no path joins them, or some path has no end.
    """

    level = True  # the edges out of the source add up to 1

    def __init__(self, tails: Array, heads: Array, source: int, target: int) -> None:
        self.dag = Dag(tails, heads, source, target)
        self.size = self.dag.size
        self._live, self._tails, self._heads = self.dag.live, self.dag.tails, self.dag.heads
        self._nodes = self.dag.nodes
        self.rank = len(self._live) - self._nodes + 2  # what comes in goes out, at every node but the ends
        self._count = self._counted()
        self.log_count = math.log(self._count)

    @cached_property
    def _arrivals(self) -> list[tuple[Array, Array]]:
        """For the nodes of each level but the first, the edges into them, and where those of each node begin."""
        by_head = np.argsort(self._heads, kind="stable")
        first = np.searchsorted(self._heads[by_head], np.arange(self._nodes + 1))
        return [
            (by_head[first[level.nodes.start] : first[level.nodes.stop]], first[level.nodes] - first[level.nodes.start])
            for level in self.dag.levels[1:]
        ]

    @cached_property
    def _span(self) -> Array:
        """An orthonormal basis of the span of the paths, (edges on paths, rank)."""
        self._require_few()
        edges = len(self._live)
        flow = np.zeros((self._nodes, edges))
        flow[self._tails, np.arange(edges)] += 1
        flow[self._heads, np.arange(edges)] -= 1
        inner = flow[1:-1]
        return null_space(inner) if len(inner) else np.eye(edges)

    def _require_few(self) -> None:
        """Refuse matrices of all pairs of very many edges.

        Raises:
            ValueError: with the number of edges.
        """
        if self.size > _DENSE:
            raise ArgumentError(
                f"Exponential weights over paths estimate losses by matrices of all pairs of edges, up to {_DENSE} "
                f"edges; here there are {self.size}. Play points of the flow instead: SCRiBLe does."
            )

    def _counted(self) -> int:
        ways = [0] * (self._nodes - 1) + [1]
        for tail, head in zip(self._tails[::-1].tolist(), self._heads[::-1].tolist(), strict=True):
            ways[tail] += ways[head]
        return ways[0]

    def listed(self) -> Array:
        """All paths, one a row."""
        ways: list[list[tuple[int, ...]]] = [[] for _ in range(self._nodes - 1)] + [[()]]
        for e, (tail, head) in reversed(list(enumerate(zip(self._tails, self._heads, strict=True)))):
            ways[tail] = [(e, *rest) for rest in ways[head]] + ways[tail]
        rows = np.zeros((self._count, len(self._live)))
        for row, way in zip(rows, ways[0], strict=True):
            row[list(way)] = 1.0
        return self._wide(rows)

    def _wide(self, vectors: Array) -> Array:
        """Vectors over the edges on paths with zeros for the other edges."""
        wide = np.zeros((*vectors.shape[:-1], self.size))
        wide[..., self._live] = vectors
        return wide

    # the distribution

    def _pushed(self, covector: Array) -> tuple[Array, Array]:
        """t, the probability of each edge at its tail, and -ln of the weight of all paths."""
        costs = covector[..., self._live]
        ahead, steps = np.zeros((*costs.shape[:-1], self._nodes)), np.zeros(costs.shape)
        for nodes, edges, starts, owners in reversed(self.dag.levels[:-1]):
            scores = costs[..., edges] + ahead[..., self._heads[edges]]
            least = np.minimum.reduceat(scores, starts, axis=-1)
            weights = np.exp(least[..., owners] - scores)
            total = np.add.reduceat(weights, starts, axis=-1)
            steps[..., edges] = weights / total[..., owners]
            ahead[..., nodes] = least - np.log(total)
        return steps, ahead[..., 0]

    def log_partition(self, covector: Array) -> Array:
        return np.asarray(-self._pushed(covector)[1])

    def partition(self, covector: Array) -> tuple[Array, Array]:
        steps, free = self._pushed(covector)
        return np.asarray(-free), self._wide(self._flow(steps))

    def ends(self, covector: Array) -> tuple[Array, Array]:
        gains = covector[..., self._live]
        low, high = (sign * self._ahead(sign * gains)[..., 0] for sign in (-1, 1))
        return low, high

    def sample(self, covector: Array, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        steps = self._pushed(covector)[0]
        return self._wide(self._drawn(np.broadcast_to(steps, (*shape, *steps.shape)), rng))

    def _drawn(self, steps: Array, rng: np.random.Generator) -> Array:
        """Random paths over the edges on paths that take an edge from its tail with probability `steps`."""
        coins = rng.random((*steps.shape[:-1], self._nodes))
        chosen = np.zeros(steps.shape)
        for nodes, edges, starts, owners in self.dag.levels[:-1]:
            ends = np.cumsum(steps[..., edges], axis=-1)
            before = ends - steps[..., edges]
            begin = before[..., starts]
            stop = np.append(starts[1:], len(owners)) - 1
            spot = (begin + coins[..., nodes] * (ends[..., stop] - begin))[..., owners]
            before[..., starts], ends[..., stop] = -np.inf, np.inf
            before[..., 1:] = np.where(np.diff(owners) == 0, ends[..., :-1], -np.inf)
            chosen[..., edges] = (before <= spot) & (spot < ends)
        return self._flow(chosen)

    def mean(self, covector: Array) -> Array:
        return self._wide(self._flow(self._pushed(covector)[0]))

    def _flow(self, shares: Array) -> Array:
        """The unit flow that each node splits among its edges by these shares."""
        flow = np.zeros(shares.shape)
        flow[..., self.dag.levels[0].edges] = shares[..., self.dag.levels[0].edges]
        for level, (into, starts) in zip(self.dag.levels[1:-1], self._arrivals, strict=False):
            coming = np.add.reduceat(flow[..., into], starts, axis=-1)
            flow[..., level.edges] = coming[..., level.owners] * shares[..., level.edges]
        return flow

    def second_moment(self, covector: Array) -> Array:
        both = self._moment(self._pushed(covector)[0])
        wide = np.zeros((*both.shape[:-2], self.size, self.size))
        wide[..., self._live[:, None], self._live] = both
        return wide

    def _moment(self, steps: Array) -> Array:
        """E aa' of the chain with these probabilities, over the edges on paths."""
        self._require_few()
        comes = np.zeros((*steps.shape[:-1], self._nodes, self._nodes))  # R
        every = np.arange(self._nodes)
        for nodes, edges, starts, _ in reversed(self.dag.levels[:-1]):
            onward = steps[..., edges, None] * comes[..., self._heads[edges], :]
            onward[..., np.arange(onward.shape[-2]), self._heads[edges]] += steps[..., edges]
            comes[..., nodes, :] = np.add.reduceat(onward, starts, axis=-2)
        comes[..., every, every] = 1.0
        mean = comes[..., 0, self._tails] * steps
        later = comes[..., self._heads[:, None], self._tails] * (mean[..., :, None] * steps[..., None, :])
        both = later + np.swapaxes(later, -1, -2)
        edge = np.arange(len(self._live))
        both[..., edge, edge] += mean
        return np.asarray(both)

    def play(
        self, covector: Array, mixing: Mixing, exploration: Exploration, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        explores = rng.random(covector.shape[:-1]) < mixing
        steps = self._pushed(covector)[0]
        explored = self._even if exploration.steps is None else exploration.steps
        action = self._drawn(np.where(explores[..., None], explored, steps), rng)
        return self._wide(action), self._measured(steps, mixing, exploration, action)

    @cached_property
    def _even(self) -> Array:
        """t where all paths have the same probability."""
        return self._pushed(np.zeros(self.size))[0]

    def measure(self, covector: Array, mixing: Mixing, exploration: Exploration, action: Array) -> Array:
        return self._measured(self._pushed(covector)[0], mixing, exploration, action[..., self._live])

    def _measured(self, steps: Array, mixing: Mixing, exploration: Exploration, action: Array) -> Array:
        """P^+ a for actions over the edges on paths."""
        assert exploration.moment is not None
        share = np.asarray(mixing)[..., None, None]
        explored = exploration.moment[self._live[:, None], self._live]
        P = (1 - share) * self._moment(steps) + share * explored
        inside = self._span.T @ P @ self._span
        along = np.linalg.solve(inside, (action @ self._span)[..., None])[..., 0]
        return self._wide(along @ self._span.T)

    # exploration

    def exploration(self, wanted: Any) -> Exploration:
        if isinstance(wanted, str) and wanted == "uniform":
            reach = self._reach(self._inverse(self._moment(self._even)))
            moment = self.second_moment(np.zeros(self.size))
            return Exploration("uniform", moment, reach, self.mean(np.zeros(self.size)))
        return super().exploration(wanted)

    @cached_property
    def design(self) -> Exploration:
        """The chain whose mean is the analytic center of the flows, edges in series counted once.

        No list of paths is needed, and it reaches about as far as optimal designs on many listed paths do.
        """
        self._require_few()
        flow = self._central_flow()
        steps = flow / self._through(flow)[self._tails]
        moment = self._moment(steps)
        reach = self._reach(self._inverse(moment))
        wide = np.zeros((self.size, self.size))
        wide[self._live[:, None], self._live] = moment
        return Exploration("design", wide, reach, self._wide(self._flow(steps)), steps=steps)

    def _through(self, flow: Array) -> Array:
        """What leaves each node."""
        return np.bincount(self._tails, flow, minlength=self._nodes)

    def _central_flow(self) -> Array:
        """argmin -sum w_e ln x_e over unit flows, by Newton's method; w is 1 over the number of edges in series.

        With W = diag(x^2/w) and B the conservation of flow, a step is -W (g - B'y) where B W B' y = B W g.
        """
        edges = np.arange(len(self._live))
        shape = (self._nodes, len(edges))
        out, into = (
            sparse.csr_array((np.ones(len(edges)), (ends, edges)), shape) for ends in (self._tails, self._heads)
        )
        B = sparse.csr_array(out - into)[:-1]
        flow, weights = self.dag.spread_flow(), self._series_weights()
        for _ in range(_NEWTON):
            W, gradient = flow**2 / weights, -weights / flow
            scaled = B.multiply(W)
            y = splu(sparse.csc_matrix(scaled @ B.T)).solve(scaled @ gradient)
            step = -W * (gradient - B.T @ y)
            decrement = float(np.sqrt((step**2 / W).sum()))
            if decrement < _CENTRAL:
                break
            length = min(1.0, 0.95 / max(float(np.max(-step / flow)), 1e-300))
            while -weights @ np.log1p(length * step / flow) > -0.1 * length * decrement**2 and length > 1e-6:
                length /= 2
            flow = flow + length * step
        return np.asarray(flow)

    def _series_weights(self) -> Array:
        """1 over the number of edges that every flow uses alike: of those a flow at random uses alike."""
        shares = np.random.default_rng(0).uniform(0.5, 1.0, len(self._live))
        flow = np.log(self._flow(shares / self._through(shares)[self._tails]))
        order = np.argsort(flow)
        group = np.cumsum(np.append(0, np.diff(flow[order]) > 1e-9))
        weights = np.empty(len(flow))
        weights[order] = 1 / np.bincount(group)[group]
        return weights

    def _inverse(self, moment: Array) -> Array:
        """Sigma^+."""
        values, vectors = np.linalg.eigh(self._span.T @ moment @ self._span)
        if values[0] * _SPREAD <= values[-1]:
            ratio = values[0] / values[-1]
            raise ArgumentError(f"exploration hardly reaches some paths: its eigenvalues have the ratio {ratio:.2g}.")
        root = self._span @ (vectors / np.sqrt(values))
        return np.asarray(root @ root.T)

    def _reach(self, S: Array) -> float:
        """An upper bound of max a'Sa over the paths."""
        row = np.arange(len(S))
        through = self._ahead(S)[row, self._heads] + S[row, row] + self._behind(S)[row, self._tails]
        return float(self._ahead(through[None])[0, 0]) * _OUTWARD

    def _ahead(self, gains: Array) -> Array:
        """For gains of the edges on leading axes, the largest sum from every node to the target."""
        best = np.zeros((*gains.shape[:-1], self._nodes))
        for nodes, edges, starts, _ in reversed(self.dag.levels[:-1]):
            scores = gains[..., edges] + best[..., self._heads[edges]]
            best[..., nodes] = np.maximum.reduceat(scores, starts, axis=-1)
        return best

    def _behind(self, gains: Array) -> Array:
        """The same from the source to every node."""
        best = np.zeros((*gains.shape[:-1], self._nodes))
        for level, (into, starts) in zip(self.dag.levels[1:], self._arrivals, strict=True):
            scores = gains[..., into] + best[..., self._tails[into]]
            best[..., level.nodes] = np.maximum.reduceat(scores, starts, axis=-1)
        return best
