"""What the trees share: a prefix is a row of disjoint nodes, each with its own noise, and empty nodes up to one law.

The nodes of a prefix follow each other in time. A step drops the newest of them and covers what they held, and the new
item, by one new node; empty nodes, dropped again at the next step, bring every prefix to `terms` noises. So what has to
be remembered is one sum over the noises of the nodes up to each node, and where values matter the sum of their items.

Privacy: replacing one loss moves the node sums that it enters, `touches` of them, by at most its sensitivity each.
Noise on each node for that many releases suffices; padding, summing and everything after are post-processing.

A new tree says its `structure`, step by step which nodes stay, and how many noises a round draws on average
(`noises_per_round`, by which a sampler is chosen); the rest is here.
"""

import math
from abc import abstractmethod

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.counters.counter import Counter

_SHORT = 3  # empty nodes up to which adding one by one is faster than a sum along an axis


class Tree(Counter):
    """Prefix sums by a row of nodes: a step keeps the oldest of them and lays one new node after them."""

    constant = True

    @classmethod
    def moved(cls, horizon: int, round_units: int | float, rounds: int, size: int, largest: float) -> int | float:
        """A node sums whole numbers and is released as it is: nothing is rounded but the losses, round by round.

        The j rounds that a person has in one tree move the nodes of each of the `touches` levels by j round_units
        together, and j/rounds is the share of this tree in the price: in epsilon these add up to 1, in rho to less.
        """
        return rounds * round_units

    @classmethod
    def deviation(cls, horizon: int, norm: int, items: int | None = None) -> float:
        return float(np.sqrt(cls.structure(horizon, norm).terms))

    @classmethod
    def relative_deviation(cls, horizon: int, norm: int) -> float:
        touches, terms = cls.structure(horizon, norm)
        return touches * math.sqrt(2 * terms) if norm == 1 else math.sqrt(touches * terms)

    @abstractmethod
    def _step(self) -> int:
        """Go on to the nodes of the prefix of `self.items` items; how many of the oldest nodes stay."""

    def _first_noise(self) -> Array:
        zero = np.zeros(self.shape, dtype=self.dtype)
        # after the first k nodes: the sum of their noises, and of their items where the source needs values
        self._carried: list[Array] = [zero]
        self._covered: list[Array] = [zero]
        return np.asarray(self._draw(0).sum(axis=0))

    def _next_noise(self, item: Array) -> Array:
        kept = self._step()
        noise = self._draw(kept)
        node: Array = self._carried[kept] + noise[0]  # no view: it must not keep a block of noise alive
        self._carried[kept + 1 :] = [node]
        empty = len(noise) - 1
        if not empty:
            return node
        if empty > _SHORT:
            whole: Array = np.add.reduce(noise[1:])
            whole += node
            return whole
        whole = node + noise[1]
        for i in range(2, empty + 1):
            whole += noise[i]
        return whole

    def _draw(self, kept: int) -> Array:
        """New noise, drawn once, for the node after the oldest `kept` ones and for the empty nodes after it."""
        count = self.terms - kept
        if not self.source.needs_values:
            return self.source.fresh(count, self.shape)
        values = np.zeros((count, *self.shape), dtype=self.dtype)
        values[:1] = self.total - self._covered[kept]
        self._covered[kept + 1 :] = [self.total.copy()]
        return self.source.draw(values)
