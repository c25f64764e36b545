"""Exponential weights over the paths between two nodes of a directed acyclic graph, as indicators of their edges.

Pushing the weights exp(-covector) backward makes q a Markov chain: from a node the next edge e has the probability
t_e = exp(-c_e + b(head) - b(tail)), b(v) the logarithm of the weight of all paths from v on. With R(u, v) the
probability to come from u to v,

    E a_e = R(source, tail e) t_e,    E a_e a_f = E a_e R(head e, tail f) t_f    for e before f.

Exploration is a design on a few paths. Its reach, max a'Sa for S = Sigma^+, is bounded without listing paths: with k_e
the largest sum of S_ef over the edges f of a path through e, a'Sa is at most the sum of k_e over the edges of a, and
the largest of those sums belongs to a longest path.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import null_space

from dpcvx.actions.family import ActionFamily, Exploration, Mixing
from dpcvx.actions.levels import Level, leveled, on_paths
from dpcvx.actions.optimal_design import optimal_design
from dpcvx.actions.weights import drawn
from dpcvx.arrays import Array

_ROUNDS = 8  # of looking for paths that a design reaches too far
_TOLERANCE = 0.05  # of a design; the bound of its reach is less sharp than that
_STARTS = 20  # random paths for each dimension, from which such paths are looked for
_CLIMB = 30  # steps from each
_SPREAD = 1e8  # largest ratio of the eigenvalues of a second moment
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
        self.size = len(tails)
        order = on_paths(tails, heads, source, target)  # of the nodes on paths: source first, target last
        place = np.full(1 + max(tails.max(), heads.max()), -1)
        place[order] = np.arange(len(order))
        live = np.flatnonzero((place[tails] >= 0) & (place[heads] >= 0))  # edges on paths
        self._live = live[np.argsort(place[tails[live]], kind="stable")]
        self._is_whole = np.array_equal(self._live, np.arange(self.size))
        self._tails, self._heads = place[tails[self._live]], place[heads[self._live]]
        self._nodes = len(order)
        self._out = [np.flatnonzero(self._tails == v) for v in range(self._nodes)]
        self._in = [np.flatnonzero(self._heads == v) for v in range(self._nodes)]
        self._levels = leveled(self._tails, self._heads, self._nodes)
        self._count = self._counted()
        self.log_count = math.log(self._count)
        flow = np.zeros((self._nodes, len(self._live)))
        flow[self._tails, np.arange(len(self._live))] += 1
        flow[self._heads, np.arange(len(self._live))] -= 1
        inner = flow[1:-1]  # what comes in goes out: the span of the paths
        self._span = null_space(inner) if len(inner) else np.eye(len(self._live))
        self.rank = self._span.shape[1]

    def _counted(self) -> int:
        ways = [0] * (self._nodes - 1) + [1]
        for v in reversed(range(self._nodes - 1)):
            ways[v] = sum(ways[head] for head in self._heads[self._out[v]])
        return ways[0]

    def listed(self) -> Array:
        """All paths, one a row."""
        ways: list[list[tuple[int, ...]]] = [[] for _ in range(self._nodes - 1)] + [[()]]
        for v in reversed(range(self._nodes - 1)):
            ways[v] = [(int(e), *rest) for e in self._out[v] for rest in ways[self._heads[e]]]
        rows = np.zeros((self._count, len(self._live)))
        for row, way in zip(rows, ways[0], strict=True):
            row[list(way)] = 1.0
        return self._wide(rows)

    def _wide(self, vectors: Array) -> Array:
        """Vectors over the edges on paths with zeros for the other edges."""
        if self._is_whole:
            return vectors
        wide = np.zeros((*vectors.shape[:-1], self.size))
        wide[..., self._live] = vectors
        return wide

    # the distribution

    def _steps(self, covector: Array) -> Array:
        """t: the probability of each edge at its tail."""
        return self._pushed(covector)[0]

    def _pushed(self, covector: Array) -> tuple[Array, Array]:
        """t, and -ln of the weight of all paths."""
        costs = covector if self._is_whole else covector[..., self._live]
        ahead, steps = np.zeros((*costs.shape[:-1], self._nodes)), np.empty(costs.shape)
        for level in reversed(self._levels):
            scores = costs[..., level.edges] + ahead.take(self._heads[level.edges], axis=-1)
            least = np.minimum.reduceat(scores, level.first, axis=-1)
            weights = np.exp(least.take(level.tails, axis=-1) - scores)
            total = np.add.reduceat(weights, level.first, axis=-1)
            steps[..., level.edges] = weights / total.take(level.tails, axis=-1)
            ahead[..., level.nodes] = least - np.log(total)
        return steps, ahead[..., 0]

    def log_partition(self, covector: Array) -> Array:
        return np.asarray(-self._pushed(covector)[1])

    def partition(self, covector: Array) -> tuple[Array, Array]:
        steps, weight = self._pushed(covector)
        return -weight, self._wide(self._flow(steps.shape, lambda level: steps[..., level.edges]))

    def ends(self, covector: Array) -> tuple[Array, Array]:
        gains = covector[..., self._live].reshape(-1, len(self._live))
        most = self._ahead(np.concatenate([-gains, gains]))[:, 0].reshape(2, *covector.shape[:-1])
        return -most[0], most[1]

    def sample(self, covector: Array, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        steps = self._steps(covector)
        return self._wide(self._drawn(np.broadcast_to(steps, (*shape, *steps.shape)), rng))

    def _drawn(self, steps: Array, rng: np.random.Generator) -> Array:
        """A path for each row of probabilities of the edges at their tails, over the edges on paths."""

        def onward(level: Level) -> Array:
            """At every node the edge whose share holds a random mark; its last edge takes what rounding leaves."""
            ends = np.cumsum(steps[..., level.edges], axis=-1) - level.tails  # of the shares at each node
            ends[..., level.first[1:] - 1], ends[..., -1] = 1.0, 1.0
            marks = rng.random((*steps.shape[:-1], len(level.first)))
            beyond = ends > marks.take(level.tails, axis=-1)
            first = beyond.copy()
            first[..., 1:] &= ~(beyond[..., :-1] & (level.tails[1:] == level.tails[:-1]))
            return first

        return self._flow(steps.shape, onward)

    def mean(self, covector: Array) -> Array:
        return self.partition(covector)[1]

    def _flow(self, shape: tuple[int, ...], onward: Callable[[Level], Array]) -> Array:
        """The unit flow that is split at the nodes of a level by the shares onward(level)."""
        flow = np.empty(shape)
        for level in self._levels:
            split = onward(level)
            if len(level.coming):
                coming = np.add.reduceat(flow.take(level.coming, axis=-1), level.turns, axis=-1)
                split = split * coming.take(level.tails, axis=-1)
            flow[..., level.edges] = split
        return flow

    def second_moment(self, covector: Array) -> Array:
        both = self._pairs(self._steps(covector))
        return np.swapaxes(self._wide(np.swapaxes(self._wide(both), -1, -2)), -1, -2)

    def _pairs(self, steps: Array) -> Array:
        """E aa' over the edges on paths."""
        comes = np.zeros((*steps.shape[:-1], self._nodes, self._nodes))  # R
        comes[..., -1, -1] = 1.0
        for level in reversed(self._levels):
            onward = steps[..., level.edges, None] * comes.take(self._heads[level.edges], axis=-2)
            comes[..., level.nodes, :] = np.add.reduceat(onward, level.first, axis=-2)
            inside = np.arange(level.nodes.start, level.nodes.stop)
            comes[..., inside, inside] = 1.0
        mean = comes[..., 0, self._tails] * steps
        later = comes.take(self._heads, axis=-2).take(self._tails, axis=-1)
        later *= mean[..., :, None] * steps[..., None, :]
        both = later + np.swapaxes(later, -1, -2)
        places = np.arange(len(self._live))
        both[..., places, places] += mean
        return both

    def play(
        self, covector: Array, mixing: Mixing, exploration: Exploration, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        steps = self._steps(covector)
        explores = (rng.random(covector.shape[:-1]) < mixing)[..., None]
        if exploration.points is None:
            action = self._wide(self._drawn(np.where(explores, self._even, steps), rng))
        else:
            assert exploration.weights is not None
            mu = np.broadcast_to(exploration.weights, (*explores.shape[:-1], len(exploration.points)))
            action = np.where(explores, exploration.points[drawn(mu, rng)], self._wide(self._drawn(steps, rng)))
        return action, self._measured(steps, mixing, exploration, action)

    def measure(self, covector: Array, mixing: Mixing, exploration: Exploration, action: Array) -> Array:
        return self._measured(self._steps(covector), mixing, exploration, action)

    def _measured(self, steps: Array, mixing: Mixing, exploration: Exploration, action: Array) -> Array:
        assert exploration.moment is not None
        share = np.asarray(mixing)[..., None, None]
        P = (1 - share) * self._pairs(steps) + share * exploration.moment[self._live[:, None], self._live]
        inside = self._span.T @ (P @ self._span)
        along = np.linalg.solve(inside, (action[..., self._live] @ self._span)[..., None])[..., 0]
        return self._wide(along @ self._span.T)

    @cached_property
    def _even(self) -> Array:
        """t of even draws among all paths."""
        return self._steps(np.zeros(self.size))

    # exploration

    def exploration(self, wanted: Any) -> Exploration:
        if isinstance(wanted, str) and wanted == "uniform":
            moment = self.second_moment(np.zeros(self.size))
            reach = self._reach(self._inverse(moment[self._live[:, None], self._live]))
            return Exploration("uniform", moment, reach, self.mean(np.zeros(self.size)))
        return super().exploration(wanted)

    @cached_property
    def design(self) -> Exploration:
        """An optimal design on some paths, to which are added those that it reaches too far."""
        rng = np.random.default_rng(0)
        paths = self._random(rng)
        for _ in range(_ROUNDS):
            left, _, _ = np.linalg.svd(paths @ self._span, full_matrices=False)
            weights = optimal_design(left * math.sqrt(len(paths)), _TOLERANCE)
            paths, weights = paths[weights > 0], weights[weights > 0]
            moment = (paths.T * weights) @ paths
            S, chosen = self._inverse(moment), paths
            far = self._climbed(S, np.concatenate([paths, self._random(rng)]))
            far = far[((far @ S) * far).sum(axis=1) > self.rank * (1 + 2 * _TOLERANCE)]
            if not len(far):
                break
            paths = np.unique(np.concatenate([paths, far]), axis=0)
        wide = self._wide(chosen)
        return Exploration("design", (wide.T * weights) @ wide, self._reach(S), weights @ wide, weights, wide)

    def _random(self, rng: np.random.Generator) -> Array:
        """Some paths that span all of them."""
        paths = np.zeros((0, len(self._live)))
        while np.linalg.matrix_rank(paths @ self._span) < self.rank:
            more = self._longest(rng.standard_normal((_STARTS * self.rank, len(self._live))))
            paths = np.unique(np.concatenate([paths, more]), axis=0)
        return paths

    def _climbed(self, S: Array, paths: Array) -> Array:
        """Local maxima of a'Sa: it is convex, so the best path for its gradient at a path is at least as good."""
        for _ in range(_CLIMB):
            before, paths = paths, np.unique(self._longest(paths @ S), axis=0)
            if np.array_equal(before, paths):
                break
        return paths

    def _inverse(self, moment: Array) -> Array:
        """Sigma^+."""
        values, vectors = np.linalg.eigh(self._span.T @ moment @ self._span)
        if values[0] * _SPREAD <= values[-1]:
            ratio = values[0] / values[-1]
            raise ValueError(f"exploration hardly reaches some paths: its eigenvalues have the ratio {ratio:.2g}.")
        root = self._span @ (vectors / np.sqrt(values))
        return np.asarray(root @ root.T)

    def _reach(self, S: Array) -> float:
        """An upper bound of max a'Sa over the paths."""
        row = np.arange(len(S))
        through = self._ahead(S)[row, self._heads] + S[row, row] + self._behind(S)[row, self._tails]
        return float(self._ahead(through[None])[0, 0]) * _OUTWARD

    def _ahead(self, gains: Array) -> Array:
        """For each row of gains of the edges, the largest sum from every node to the target."""
        best = np.zeros((len(gains), self._nodes))
        for level in reversed(self._levels):
            sums = gains[:, level.edges] + best.take(self._heads[level.edges], axis=1)
            best[:, level.nodes] = np.maximum.reduceat(sums, level.first, axis=1)
        return best

    def _behind(self, gains: Array) -> Array:
        """The same from the source to every node."""
        best = np.zeros((len(gains), self._nodes))
        for v in range(1, self._nodes):
            best[:, v] = (gains[:, self._in[v]] + best[:, self._tails[self._in[v]]]).max(axis=1)
        return best

    def _longest(self, gains: Array) -> Array:
        """The path with the largest sum for each row of gains."""
        ahead = self._ahead(gains)

        def onward(level: Level) -> Array:
            """At every node the first edge of those that are best."""
            sums = gains[:, level.edges] + ahead.take(self._heads[level.edges], axis=1)
            best = sums == np.maximum.reduceat(sums, level.first, axis=1).take(level.tails, axis=1)
            count = np.cumsum(best, axis=1)
            before = count.take(level.first, axis=1) - best.take(level.first, axis=1)
            return np.asarray(best & (count - before.take(level.tails, axis=1) == 1))

        return self._flow(gains.shape, onward)
