"""The product of cones: the only place that loops over them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.barriers.cone import Cone


class Product:
    """The cones of one set in the order of their rows."""

    def __init__(self, cones: Sequence[Cone]) -> None:
        self.cones = tuple(cone for cone in cones if cone.count)
        ends = np.cumsum([0, *(cone.size for cone in self.cones)])
        self.slices = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
        self.size = int(ends[-1])
        self.nu = float(sum(cone.nu for cone in self.cones))

    @property
    def is_symmetric(self) -> bool:
        """Whether every cone is symmetric: self-dual, with a unit."""
        return all(cone.symmetric for cone in self.cones)

    def __iter__(self) -> Iterator[tuple[Cone, slice]]:
        return iter(zip(self.cones, self.slices, strict=True))

    def each_block(self) -> Iterator[tuple[Cone, int, slice]]:
        """Every single cone with its number in its stack and its rows."""
        for cone, rows in self:
            for k in range(cone.count):
                start = rows.start + k * cone.block
                yield cone, k, slice(start, start + cone.block)

    def block_of_row(self) -> Array:
        """For each row the running number of the single cone it belongs to."""
        sizes = [np.full(cone.count, cone.block) for cone in self.cones]
        counts = np.concatenate(sizes) if sizes else np.zeros(0, dtype=int)
        return np.repeat(np.arange(len(counts)), counts)

    def take(self, keep: Bools) -> "Product":
        """The product of the blocks whose rows are marked in the mask `keep` (all rows of a block or none)."""
        kept = []
        for cone, rows in self:
            marks = keep[rows].reshape(cone.count, cone.block)[:, 0]
            kept.append(cone.take([int(k) for k in np.flatnonzero(marks)]))
        return Product(kept)

    def unit_factors(self, s: Array) -> Array:
        """For each row the factor, one for each single cone, that brings the slack s to size 1."""
        block = self.block_of_row()
        largest = np.zeros(block[-1] + 1 if len(block) else 0)
        np.maximum.at(largest, block, np.abs(s))
        return np.asarray(1 / np.where(largest > 0, largest, 1.0)[block])

    def identity(self) -> Array:
        return self._concatenate(lambda cone, rows: cone.identity())

    def interior(self, s: Array) -> Bools:
        inside = np.ones(s.shape[:-1], dtype=bool)
        for cone, rows in self:
            inside &= cone.interior(s[..., rows])
        return inside

    def value(self, s: Array) -> Array:
        total = np.zeros(s.shape[:-1])
        for cone, rows in self:
            total = total + cone.value(s[..., rows])
        return total

    def gradient(self, s: Array) -> Array:
        if len(self.cones) == 1:
            return self.cones[0].gradient(s)
        return self._concatenate(lambda cone, rows: cone.gradient(s[..., rows]))

    def half(self, s: Array, M: Array) -> Array:
        if len(self.cones) == 1:
            return self.cones[0].half(s, M)
        parts = [cone.half(s[..., rows], M[rows]) for cone, rows in self]
        return np.concatenate(parts, axis=-2) if parts else np.zeros((*s.shape[:-1], 0, M.shape[1]))

    def hessian_product(self, s: Array, d: Array) -> Array:
        return self._concatenate(lambda cone, rows: cone.hessian_product(s[rows], d[rows]))

    def clarabel(self) -> list[Any]:
        return [word for cone in self.cones for word in cone.clarabel()]

    def _concatenate(self, part: Callable[[Cone, slice], Array]) -> Array:
        parts = [part(cone, rows) for cone, rows in self]
        return np.concatenate(parts, axis=-1) if parts else np.zeros(0)

    def __repr__(self) -> str:
        return " x ".join(map(repr, self.cones)) or "no cone"
