"""Corners of a product of simplices: in each group of arms one is chosen, and what they add is summed up.

A simplex is one group; a box is a group of two arms for each entry, the lower and the upper end. Groups may differ in
size: those with fewer arms have places that are never drawn.
"""

from typing import Self

import numpy as np

from dpcvx.arrays import Array, Bools


class Simplices:
    """a = base + the sum over groups g of steps[g, i_g] at the entry entries[g, i_g].

    Args:
        base: (N,).
        entries, steps: (groups, arms), the entry that an arm changes, and by how much.
        there: (groups, arms), which places hold an arm.
    """

    def __init__(self, base: Array, entries: Array, steps: Array, there: Bools | None = None) -> None:
        self.base, self.entries, self.steps = base, entries, steps
        self.there = np.ones(entries.shape, dtype=bool) if there is None else there
        self.size = len(base)
        self.counts = self.there.sum(axis=1)  # arms of each group
        self._rows = np.arange(len(entries)) * entries.shape[1]  # where groups begin
        self._entries, self._steps = entries.reshape(-1), steps.reshape(-1)

    @classmethod
    def of_box(cls, lower: Array, upper: Array) -> Self:
        """The corners of { lower <= x <= upper }."""
        entries = np.repeat(np.arange(len(lower))[:, None], 2, axis=1)
        return cls(lower, entries, np.stack([np.zeros(len(lower)), upper - lower], axis=1))

    @classmethod
    def of_simplex(cls, size: int, scale: float) -> Self:
        """scale times the unit vectors."""
        return cls(np.zeros(size), np.arange(size)[None], np.full((1, size), scale))

    @property
    def groups(self) -> int:
        return len(self.entries)

    def actions(self, chosen: Array) -> Array:
        """The corners (..., N) with arm chosen[..., g] in group g."""
        at = self._rows + chosen
        action = np.empty((*chosen.shape[:-1], self.size))
        action[...] = self.base
        first = np.arange(0, action.size, self.size).reshape(*chosen.shape[:-1], 1) if action.ndim > 1 else 0
        action.reshape(-1)[first + self._entries[at]] += self._steps[at]
        return action
