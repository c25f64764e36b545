"""What the trees share: a prefix is a row of disjoint nodes, each with its own noise, and empty nodes up to one law.

The nodes of a prefix follow each other in time. A step drops the newest of them and covers what they held, and the new
item, by one new node; empty nodes, dropped again at the next step, bring every prefix to `terms` noises. So what has to
be remembered is one sum over the noises of the nodes up to each node, and where values matter the sum of their items.
"""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.privacy.counters.counter import Counter

_SHORT = 3  # empty nodes up to which adding one by one is faster than a sum along an axis


class Tree(Counter):
    """Prefix sums by a row of nodes: a step keeps the oldest `kept` nodes and lays one new node after them."""

    def _start(self) -> Array:
        zero = np.zeros(self.shape, dtype=self.dtype)
        # after the first k nodes: the sum of their noises, and of their items where the source needs values
        self._carried: list[Array] = [zero]
        self._covered: list[Array] = [zero]
        return np.asarray(self._draw(0).sum(axis=0))

    @property
    def node_noise(self) -> Array:
        """The noise of the prefix without that of its empty nodes."""
        return self._carried[-1]

    def _lay(self, kept: int) -> Array:
        """Keep the oldest nodes, lay a new one, and return the noise of the prefix with all its empty nodes."""
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
