"""Distributions q(a) proportional to exp(-<covector, a>) over a finite set A of points, and how to explore it.

A family answers for a sample, the mean and the second moment E_q[aa'] of q, for ln |A| and for the rank of the span of
A. Lists of points do so by enumeration; the corners of a box and the k-sets of n things are far too many for that, and
need only a formula, as do the paths of a graph in `path_family`. `play` draws from p = (1 - mixing) q + mixing mu, mu
the exploration, together with P^+ a for the drawn a and P = E_p[aa'], from which a bandit learner estimates its loss:
E_p[P^+ a <l, a>] = l on the span.
"""

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit

from dpcvx.actions.optimal_design import optimal_design
from dpcvx.arrays import Array

EXPLORATIONS = ("uniform", "design")
_RANK = 1e-9  # singular values of a list of points below this, relative to the largest, count as 0
_OUTWARD = 1 + 1e-9  # of what is computed for a list, rounded outward
_LEFT_OUT = "exploration leaves out directions: the actions it draws do not span all actions."
_FEW = 32  # probabilities that are summed up by a matrix
_FAR = 1e200  # of sums of estimates
_CERTAIN = 200.0  # log-odds beyond which a thing is in a k-set, or is not


@dataclass(frozen=True, eq=False)
class Exploration:
    """A distribution mu on the actions.

    Attributes:
        name: what it is called in a summary.
        moment: Sigma = E_mu[aa'], (N, N); None where the family does without.
        reach: an upper bound of max a'Sigma^+ a over the actions.
        weights: probabilities of the actions of a list; None where mu is uniform.
        points: the actions that have these probabilities, one a row, where the family itself lists none.
    """

    name: str
    moment: Array | None
    reach: float
    weights: Array | None = None
    points: Array | None = None


class ActionFamily(ABC):
    """Exponential weights over a finite set A in R^N; covectors (..., N) stand on leading axes.

    Attributes:
        size: N.
        rank: dimension of the span of A.
        log_count: ln |A|.
    """

    size: int
    rank: int
    log_count: float

    @abstractmethod
    def sample(self, covector: Array, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        """Draws from q, (*shape, ..., N)."""

    @abstractmethod
    def mean(self, covector: Array) -> Array:
        """E_q[a], (..., N)."""

    @abstractmethod
    def second_moment(self, covector: Array) -> Array:
        """E_q[aa'], (..., N, N)."""

    @abstractmethod
    def design(self) -> Exploration:
        """The exploration with the smallest reach that is known."""

    def exploration(self, wanted: Any) -> Exploration:
        """The exploration of that name, or the one with given probabilities.

        Raises:
            ValueError: where the name is unknown, or the family takes no probabilities.
        """
        if isinstance(wanted, Exploration):
            return wanted
        if isinstance(wanted, str) and wanted in EXPLORATIONS:
            return self.design()
        if isinstance(wanted, str):
            raise ValueError(f'exploration must be "uniform", "design" or probabilities, not {wanted!r}.')
        raise ValueError(
            f"exploration by probabilities needs a list of actions; there are about e^{self.log_count:.3g} here."
        )

    def play(
        self, covector: Array, mixing: float, exploration: Exploration, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """One draw a from p for each covector, and P^+ a."""
        explores = rng.random(covector.shape[:-1]) < mixing
        action = self.sample(np.where(explores[..., None], 0.0, covector), rng)
        return action, self.measure(covector, mixing, exploration, action)

    def measure(self, covector: Array, mixing: float, exploration: Exploration, action: Array) -> Array:
        """P^+ a for actions (..., N)."""
        assert exploration.moment is not None
        P = (1 - mixing) * self.second_moment(covector) + mixing * exploration.moment
        return np.asarray(np.linalg.solve(P, action[..., None])[..., 0])


class Listed(ActionFamily):
    """Finitely many actions that have numbers, and probabilities one by one.

    Attributes:
        count: |A|.
    """

    count: int

    @abstractmethod
    def actions(self, index: Any) -> Array:
        """The actions of these numbers, (..., N)."""

    @abstractmethod
    def probabilities(self, covector: Array, total: float = 1.0) -> Array:
        """total times q, (..., k)."""

    @abstractmethod
    def _measured(self, p: Array, index: Array) -> Array:
        """P^+ a for the actions of those numbers."""

    @abstractmethod
    def _explored(self, name: str, weights: Array) -> Exploration:
        """The exploration with these probabilities."""

    def sample(self, covector: Array, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        q = self.probabilities(covector)
        return self.actions(drawn(np.broadcast_to(q, (*shape, *q.shape)), rng))

    def exploration(self, wanted: Any) -> Exploration:
        if isinstance(wanted, Exploration):
            return wanted
        count = self.count
        if isinstance(wanted, str):
            if wanted == "uniform":
                return self._explored("uniform", np.full(count, 1 / count))
            return super().exploration(wanted)
        weights = np.asarray(wanted, dtype=float)
        if weights.shape != (count,):
            raise ValueError(f"exploration must give {count} probabilities, one for each action, not {weights.shape}.")
        if not (np.isfinite(weights).all() and weights.min() >= 0 and abs(weights.sum() - 1) <= 1e-9):
            raise ValueError(f"exploration must be probabilities; their least is {weights.min()}, sum {weights.sum()}.")
        return self._explored("given", weights / weights.sum())

    def play(
        self, covector: Array, mixing: float, exploration: Exploration, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        p = self.mixed(covector, mixing, exploration)
        index = drawn(p, rng)
        return self.actions(index), self._measured(p, index)

    def mixed(self, covector: Array, mixing: float, exploration: Exploration) -> Array:
        """p, (..., k)."""
        assert exploration.weights is not None
        return np.asarray(self.probabilities(covector, 1 - mixing) + mixing * exploration.weights)


class PointList(Listed):
    """Points, one a row, by enumeration."""

    def __init__(self, points: Array) -> None:
        self.points = points
        self.count, self.size = points.shape
        self.log_count = math.log(self.count)
        left, values, right = np.linalg.svd(points, full_matrices=False)
        self.rank = int((values > _RANK * max(values.max(initial=0.0), 1e-300)).sum())
        # coordinates on the span in which the mean of aa' is the identity: a = coordinates @ spread
        self._coordinates = left[:, : self.rank] * np.sqrt(self.count)
        self._lift = right[: self.rank] * (np.sqrt(self.count) / values[: self.rank, None])  # transposed pseudo-inverse

    def actions(self, index: Any) -> Array:
        return np.asarray(self.points.take(index, axis=0))

    def probabilities(self, covector: Array, total: float = 1.0) -> Array:
        return softmin(covector @ self.points.T, total)

    def mean(self, covector: Array) -> Array:
        return np.asarray(self.probabilities(covector) @ self.points)

    def second_moment(self, covector: Array) -> Array:
        return _weighted(self.points, self.probabilities(covector))

    def design(self) -> Exploration:
        return self._explored("design", optimal_design(self._coordinates))

    def _explored(self, name: str, weights: Array) -> Exploration:
        values, vectors = np.linalg.eigh(_weighted(self._coordinates, weights))
        if values.min(initial=1.0) <= 1e-12 * values.max(initial=1.0):
            raise ValueError(_LEFT_OUT)
        scaled = self._coordinates @ (vectors / np.sqrt(values))
        reach = float((scaled**2).sum(axis=1).max(initial=0.0)) * _OUTWARD
        return Exploration(name, _weighted(self.points, weights), reach, weights)

    def _measured(self, p: Array, index: Array) -> Array:
        P = _weighted(self._coordinates, p)
        return np.asarray(np.linalg.solve(P, self._coordinates[index][..., None])[..., 0] @ self._lift)


class Arms(Listed):
    """The multiples scale e_i of the unit vectors: P is diagonal, and there may be so many that no matrix is made."""

    def __init__(self, size: int, scale: float = 1.0) -> None:
        self.size = self.rank = self.count = size
        self.scale = scale
        self.log_count = math.log(size)
        self._numbers = np.arange(size)

    def actions(self, index: Any) -> Array:
        return np.asarray((np.asarray(index)[..., None] == self._numbers) * self.scale)

    def probabilities(self, covector: Array, total: float = 1.0) -> Array:
        return softmin(self.scale * covector, total)

    def mean(self, covector: Array) -> Array:
        return self.scale * self.probabilities(covector)

    def second_moment(self, covector: Array) -> Array:
        return self.scale**2 * self.probabilities(covector)[..., None] * np.eye(self.size)

    def measure(self, covector: Array, mixing: float, exploration: Exploration, action: Array) -> Array:
        return np.asarray(action / (self.scale**2 * self.mixed(covector, mixing, exploration)))

    def _measured(self, p: Array, index: Array) -> Array:
        return np.asarray(self.actions(index) / (self.scale**2 * p))

    def _explored(self, name: str, weights: Array) -> Exploration:
        if weights.min() <= 1e-12 * weights.max():
            raise ValueError(_LEFT_OUT)
        return Exploration(name, None, float(1 / weights.min()) * _OUTWARD, weights)

    def design(self) -> Exploration:
        return self.exploration("uniform")


class BoxCorners(ActionFamily):
    """The corners of lower <= a <= upper: the coordinates of q are independent.

    With middle c and half-widths h: mean m = c - h tanh(h covector), E_q[aa'] = diag(h^2 - (m - c)^2) + mm'.
    Exploration is uniform, Sigma = diag(h^2) + cc', and a'Sigma^-1 a is n where c = 0 and at most n + 1 otherwise.
    """

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        self.size = self.rank = len(lower)
        self.log_count = self.size * math.log(2)
        self._middle, self._half = (lower + upper) / 2, (upper - lower) / 2

    def sample(self, covector: Array, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        up = rng.random((*shape, *covector.shape)) < expit(-2 * self._half * covector)
        return np.where(up, self.upper, self.lower)

    def mean(self, covector: Array) -> Array:
        return np.asarray(self._middle - self._half * np.tanh(self._half * covector))

    def _variances(self, covector: Array) -> Array:
        odds = 2 * self._half * covector
        return np.asarray(4 * self._half**2 * expit(odds) * expit(-odds))

    def second_moment(self, covector: Array) -> Array:
        m = self.mean(covector)
        return np.asarray(self._variances(covector)[..., None] * np.eye(self.size) + m[..., :, None] * m[..., None, :])

    def design(self) -> Exploration:
        moment = np.diag(self._half**2) + np.outer(self._middle, self._middle)
        return Exploration("uniform", moment, float(self.size + bool(self._middle.any())))

    def measure(self, covector: Array, mixing: float, exploration: Exploration, action: Array) -> Array:
        """P is diagonal but for the outer products of the two means: Woodbury."""
        D = (1 - mixing) * self._variances(covector) + mixing * self._half**2
        m = math.sqrt(1 - mixing) * self.mean(covector)
        direct, first = action / D, m / D
        if not self._middle.any():
            share = (m * direct).sum(axis=-1) / (1 + (m * first).sum(axis=-1))
            return np.asarray(direct - share[..., None] * first)
        c = math.sqrt(mixing) * np.broadcast_to(self._middle, m.shape)
        U, G = np.stack([m, c], axis=-1), np.stack([first, c / D], axis=-1)
        K = np.eye(2) + np.swapaxes(U, -1, -2) @ G
        share = np.linalg.solve(K, (U * direct[..., None]).sum(axis=-2)[..., None])
        return np.asarray(direct - (G @ share)[..., 0])


class KSets(ActionFamily):
    """scale times the indicators of the k-element subsets of n things, 0 < k < n.

    Sums over subsets are elementary symmetric polynomials of the weights exp(-scale covector), kept as logarithms and
    built from sums of positive terms alone. Exploration is uniform, which is optimal by symmetry.
    """

    def __init__(self, size: int, k: int, scale: float = 1.0) -> None:
        self.size = self.rank = size
        self.k, self.scale = k, scale
        self.log_count = math.log(math.comb(size, k))

    def listed(self) -> Array:
        """All actions, one a row."""
        chosen = np.array(list(itertools.combinations(range(self.size), self.k)))
        rows = np.zeros((len(chosen), self.size))
        np.put_along_axis(rows, chosen, self.scale, axis=1)
        return rows

    def _log_weights(self, covector: Array) -> Array:
        """Relative to the k-th largest, where that changes no probability by more than e^-200."""
        logs = -self.scale * covector
        pivot = np.partition(logs, self.size - self.k, axis=-1)[..., self.size - self.k, None]
        return np.clip(logs - pivot, -_CERTAIN, _CERTAIN)

    def _tables(self, logs: Array) -> tuple[Array, Array]:
        """Logarithms of the symmetric polynomials of degrees 0..k: [i] of the things before i, and from i on."""
        empty = np.full((*logs.shape[:-1], self.k + 1), -np.inf)
        empty[..., 0] = 0.0
        before, after = [empty], [empty]
        for i in range(self.size):
            before.append(_with_thing(before[-1], logs[..., i]))
            after.append(_with_thing(after[-1], logs[..., self.size - 1 - i]))
        return np.stack(before), np.stack(after[::-1])

    def sample(self, covector: Array, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Array:
        logs = self._log_weights(covector)
        logs = np.broadcast_to(logs, (*shape, *logs.shape))
        _, after = self._tables(logs)
        wanted = np.full(logs.shape[:-1], self.k)
        chosen = np.zeros(logs.shape)
        for i in range(self.size):
            left = np.maximum(wanted - 1, 0)[..., None]
            taken = logs[..., i] + np.take_along_axis(after[i + 1], left, -1)[..., 0]
            whole = np.take_along_axis(after[i], wanted[..., None], -1)[..., 0]
            takes = (wanted > 0) & (rng.random(wanted.shape) < np.exp(np.minimum(taken - whole, 0.0)))
            takes |= wanted == self.size - i
            chosen[..., i] = takes
            wanted = wanted - takes
        return self.scale * chosen

    def mean(self, covector: Array) -> Array:
        logs = self._log_weights(covector)
        before, after = self._tables(logs)
        return self.scale * self._shares(logs, before, after)

    def _shares(self, logs: Array, before: Array, after: Array) -> Array:
        """The probability of each thing."""
        total = after[0][..., self.k]
        shares = [np.exp(logs[..., i] + _joined(before[i], after[i + 1], self.k - 1) - total) for i in range(self.size)]
        return np.stack(shares, axis=-1)

    def second_moment(self, covector: Array) -> Array:
        logs = self._log_weights(covector)
        before, after = self._tables(logs)
        n, total = self.size, after[0][..., self.k]
        moment = np.zeros((*logs.shape, n))
        moment[..., np.arange(n), np.arange(n)] = self._shares(logs, before, after)
        if self.k == 1:
            return self.scale**2 * moment
        without = before[:1]  # [i]: the things before j, except thing i
        for j in range(1, n):
            pairs = np.moveaxis(logs[..., :j], -1, 0) + logs[..., j] + _joined(without, after[j + 1], self.k - 2)
            both = np.moveaxis(np.exp(pairs - total), 0, -1)
            moment[..., :j, j] = moment[..., j, :j] = both
            without = np.concatenate([_with_thing(without, logs[..., j]), before[j][None]])
        return self.scale**2 * moment

    def design(self) -> Exploration:
        n, k = self.size, self.k
        pair = k * (k - 1) / (n * (n - 1))
        moment = np.full((n, n), pair) + np.eye(n) * (k / n - pair)
        return Exploration("uniform", self.scale**2 * moment, float(n))


def _with_thing(logs: Array, weight: Array) -> Array:
    """The polynomials with one more thing: e_j + w e_(j-1)."""
    longer = logs.copy()
    longer[..., 1:] = np.logaddexp(logs[..., 1:], logs[..., :-1] + weight[..., None])
    return longer


def _joined(first: Array, second: Array, degree: int) -> Array:
    """The polynomial of that degree of two groups of things together."""
    return np.asarray(np.logaddexp.reduce(first[..., : degree + 1] + second[..., degree::-1], axis=-1))


def softmin(scores: Array, total: float = 1.0) -> Array:
    """Numbers proportional to exp(-scores) with that sum along the last axis."""
    weights = np.exp(np.minimum.reduce(scores, axis=-1, keepdims=True) - scores)
    return np.asarray(weights * (total / (weights @ ones(scores.shape[-1])[:, None])))


def drawn(p: Array, rng: np.random.Generator) -> Array:
    """One index for each row of probabilities (..., k)."""
    ends = p @ _triangle(p.shape[-1]) if p.shape[-1] <= _FEW else p.cumsum(axis=-1)
    mark = rng.random((*p.shape[:-1], 1)) * ends[..., -1:]  # always below the last end
    return np.asarray((ends > mark).argmax(axis=-1))


@cache
def ones(size: int) -> Array:
    """By which a matrix product sums up rows, faster than `sum` where they are short; read-only."""
    vector = np.ones(size)
    vector.flags.writeable = False
    return vector


@cache
def _triangle(size: int) -> Array:
    """The matrix that makes sums of rows cumulative, faster than one by one where it is small."""
    return np.triu(np.ones((size, size)))


def kept(sums: Array) -> Array:
    """Sums of estimates, kept so small that nothing overflows."""
    return np.asarray(np.minimum(np.maximum(sums, -_FAR), _FAR))


def _weighted(points: Array, weights: Array) -> Array:
    """sum over a of weights(a) aa' for weights (..., k)."""
    return np.asarray((points.T * weights[..., None, :]) @ points)
