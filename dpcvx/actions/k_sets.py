"""The k-element subsets of n things: the corners of a capped simplex."""

import itertools
import math
from functools import cached_property
from typing import Self

import numpy as np

from dpcvx.actions.family import ActionFamily, Bounds, Exploration
from dpcvx.arrays import Array

_CERTAIN = 200.0  # log-odds beyond which a thing is in a k-set, or is not


class KSets(ActionFamily):
    """scale times the indicators of the k-element subsets of n things, 0 < k < n.

    Sums over subsets are elementary symmetric polynomials of the weights exp(-scale covector), kept as logarithms and
    built from sums of positive terms alone. Exploration is uniform, which is optimal by symmetry.
    """

    level = True  # the sum of the entries is k scale

    def __init__(self, size: int, k: int, scale: float = 1.0) -> None:
        self.size = self.rank = size
        self.k, self.scale = k, scale
        self.log_count = math.log(math.comb(size, k))

    @classmethod
    def of_bounds(cls, bounds: Bounds) -> Self | None:
        lower, upper, total, _ = bounds
        if total is None:
            return None
        k = total / upper[0]
        even = not lower.any() and np.ptp(upper) <= 1e-14 * upper[0] and abs(k - round(k)) <= 1e-12 * k
        return cls(len(upper), round(k), float(upper[0])) if even and 0 < round(k) < len(upper) else None

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

    def log_partition(self, covector: Array) -> Array:
        logs = -self.scale * covector
        pivot = np.partition(logs, self.size - self.k, axis=-1)[..., self.size - self.k]
        _, after = self._tables(logs - pivot[..., None])
        return np.asarray(after[0][..., self.k] + self.k * pivot)

    def partition(self, covector: Array) -> tuple[Array, Array]:
        logs = -self.scale * covector
        pivot = np.partition(logs, self.size - self.k, axis=-1)[..., self.size - self.k]
        logs = logs - pivot[..., None]
        before, after = self._tables(logs)
        return after[0][..., self.k] + self.k * pivot, self.scale * self._shares(logs, before, after)

    def ends(self, covector: Array) -> tuple[Array, Array]:
        ordered = np.sort(self.scale * covector, axis=-1)
        return ordered[..., : self.k].sum(axis=-1), ordered[..., -self.k :].sum(axis=-1)

    @cached_property
    def design(self) -> Exploration:
        n, k = self.size, self.k
        pair = k * (k - 1) / (n * (n - 1))
        moment = np.full((n, n), pair) + np.eye(n) * (k / n - pair)
        return Exploration("uniform", self.scale**2 * moment, float(n), np.full(n, self.scale * k / n))


def _with_thing(logs: Array, weight: Array) -> Array:
    """The polynomials with one more thing: e_j + w e_(j-1)."""
    longer = logs.copy()
    longer[..., 1:] = np.logaddexp(logs[..., 1:], logs[..., :-1] + weight[..., None])
    return longer


def _joined(first: Array, second: Array, degree: int) -> Array:
    """The polynomial of that degree of two groups of things together."""
    return np.asarray(np.logaddexp.reduce(first[..., : degree + 1] + second[..., degree::-1], axis=-1))
