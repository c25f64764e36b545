"""The product of cones. What is asked cone by cone is asked here, so that nobody else needs to know about blocks.

A block is one single cone of a stack: a run of consecutive rows.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dpcvx.arrays import Array, Bools
from dpcvx.barriers.cone import Cone, Face
from dpcvx.barriers.nonnegative import Nonnegative


@dataclass(frozen=True)
class RunOff:
    """What is left of the blocks that a direction touches when the slack may run off to infinity along it.

    Attributes:
        freed: the rows of these blocks; far enough along the direction their cones hold.
        remaining: rows among them that must still be nonnegative.
        stuck: the rows of the first block of which more is left than signs of rows; None where there is no such block.
    """

    freed: tuple[int, ...]
    remaining: tuple[int, ...]
    stuck: slice | None = None


class Product:
    """The cones of one set in the order of their rows."""

    def __init__(self, cones: Sequence[Cone]) -> None:
        self.cones = tuple(cone for cone in cones if cone.count)
        ends = np.cumsum([0, *(cone.size for cone in self.cones)])
        self.slices = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
        self._starts = [rows.start for rows in self.slices]
        self.size = int(ends[-1])
        self.nu = float(sum(cone.nu for cone in self.cones))

    def __iter__(self) -> Iterator[tuple[Cone, slice]]:
        return iter(zip(self.cones, self.slices, strict=True))

    # what the cones are

    @property
    def is_symmetric(self) -> bool:
        """Whether every cone is symmetric: self-dual, with a unit."""
        return all(cone.symmetric for cone in self.cones)

    @property
    def is_weighted(self) -> bool:
        """Whether some rows count for less than one."""
        return any(isinstance(cone, Nonnegative) and cone.weights is not None for cone in self.cones)

    def polyhedral_rows(self) -> Bools:
        """Which rows are plain inequalities."""
        mask = np.zeros(self.size, dtype=bool)
        for cone, rows in self:
            mask[rows] = cone.is_polyhedral
        return mask

    def dual_rays(self) -> Bools:
        """Rows i for which the unit vector e_i lies in the dual cone."""
        mask = np.zeros(self.size, dtype=bool)
        for cone, rows in self:
            mask[rows].reshape(cone.count, cone.block)[:, cone.dual_rays()] = True
        return mask

    def balls(self, most: int) -> list[slice] | None:
        """The rows (t, x) of each curved block, where all of them say |x|_2 <= t; None where one says something else.

        Args:
            most: the number of curved blocks above which the answer is None as well.
        """
        curved = [(cone, rows) for cone, rows in self if not cone.is_polyhedral]
        if not all(cone.is_ball for cone, _ in curved) or sum(cone.count for cone, _ in curved) > most:
            return None
        return [
            slice(rows.start + k * cone.block, rows.start + (k + 1) * cone.block)
            for cone, rows in curved
            for k in range(cone.count)
        ]

    def block_of_row(self) -> Array:
        """For each row the running number of its block."""
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

    # slacks and directions, block by block

    def largest(self, s: Array) -> Array:
        """For each row the largest magnitude of s in its block."""
        block = self.block_of_row()
        largest = np.zeros(block[-1] + 1 if len(block) else 0)
        np.maximum.at(largest, block, np.abs(s))
        return np.asarray(largest[block])

    def unit_factors(self, s: Array) -> Array:
        """For each row the factor, one for each block, that brings the slack s to size 1."""
        largest = self.largest(s)
        return np.asarray(1 / np.where(largest > 0, largest, 1.0))

    def balanced(self, sizes: Array) -> Array:
        """For each row a power of two under which the cones are the same and rows of these sizes have about size 1."""
        return self._concatenate(lambda cone, rows: cone.balanced(sizes[rows]))

    def whole_blocks(self, marked: Bools) -> Bools:
        """Those of the marked rows whose whole block is marked."""
        block = self.block_of_row()
        whole = np.ones(block[-1] + 1 if len(block) else 0, dtype=bool)
        whole[block[~marked]] = False
        return np.asarray(whole[block])

    def first_outside(self, s: Array, marked: Bools) -> slice | None:
        """The rows of the first block whose slack is outside the closed cone by more than 1e-9 of its size, if any.

        Args:
            s: the slack.
            marked: the rows of the blocks that are looked at, all rows of a block or none.
        """
        for stack, k, rows, own in self._touched(np.flatnonzero(marked), s[marked]):
            cone = stack.take([k])
            if own.any() and not cone.interior(own + 1e-9 * np.abs(own).max() * cone.identity()):
                return rows
        return None

    def recedes(self, rows: Array, values: Array) -> bool:
        """Whether the direction with these values in these rows, zero elsewhere, lies in the closed cone."""
        return all(cone.recedes(d) for cone, _, _, d in self._touched(rows, values))

    def run_off(self, rows: Array, values: Array) -> RunOff:
        """What is left of the blocks when the slack may run off along the direction with these values in these rows."""
        freed: list[int] = []
        remaining: list[int] = []
        for cone, k, span, d in self._touched(rows, values):
            left = cone.take([k]).remainder(d)
            if left is None:
                return RunOff(tuple(freed), tuple(remaining), stuck=span)
            freed.extend(range(span.start, span.stop))
            remaining.extend(span.start + i for i in left)
        return RunOff(tuple(freed), tuple(remaining))

    def bounds(self, most: Array) -> tuple[Array, Array]:
        """Between what each row lies where none is larger than `most`; infinite where that is unknown."""
        both = [cone.bounds(most[rows]) for cone, rows in self]
        return np.concatenate([low for low, _ in both]), np.concatenate([high for _, high in both])

    def exposed(self, z: Array, blur: float) -> list[tuple[slice, Face]]:
        """The faces that a vector of the dual cone exposes, with the rows of their blocks; blocks at 0 are left out."""
        return [
            (rows, face)
            for stack, k, rows, own in self._touched(np.arange(self.size), z)
            if np.any(np.abs(own) * len(own) > blur) and (face := stack.take([k]).exposed(own, blur)) is not None
        ]

    def single(self, row: int) -> Cone:
        """The one cone to which a row belongs."""
        at = bisect_right(self._starts, row) - 1
        return self.cones[at].take([(row - self._starts[at]) // self.cones[at].block])

    def common_normals(self, S: Array) -> Array:
        """A vector of the dual cone that vanishes on all columns of S (size, k) as far as linear algebra finds one."""
        z = np.zeros(self.size)
        for stack, k, rows, _ in self._touched(np.arange(self.size), z):
            if stack.is_polyhedral:
                continue
            found = stack.take([k]).common_normal(S[rows])
            if found is not None:
                z[rows] = found
        return z

    def _touched(self, rows: Array, values: Array) -> list[tuple[Cone, int, slice, Array]]:
        """Each block that holds one of the rows: stack, number in the stack, rows, and its part of the direction."""
        found: dict[int, tuple[Cone, int, slice, Array]] = {}
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            at = bisect_right(self._starts, row) - 1
            cone = self.cones[at]
            number, offset = divmod(row - self._starts[at], cone.block)
            if row - offset not in found:
                found[row - offset] = cone, number, slice(row - offset, row - offset + cone.block), np.zeros(cone.block)
            found[row - offset][3][offset] = value
        return [found[first] for first in sorted(found)]

    # the barrier

    def identity(self) -> Array:
        return self._concatenate(lambda cone, rows: cone.identity())

    def interior(self, s: Array) -> Bools:
        inside = np.ones(s.shape[:-1], dtype=bool)
        for cone, rows in self:
            inside &= cone.interior(s[..., rows])
        return inside

    def dual_interior(self, y: Array) -> Bools:
        """Whether vectors lie strictly inside the dual of the product."""
        inside = np.ones(y.shape[:-1], dtype=bool)
        for cone, rows in self:
            inside &= cone.dual_interior(y[..., rows])
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

    def stretch(self, s: Array, d: Array) -> Array:
        """A t of at least 1 with s + t d and s - t d in all cones, for d in the Dikin ellipsoid at s."""
        if len(self.cones) == 1:
            return self.cones[0].stretch(s, d)
        found = [cone.stretch(s[..., rows], d[..., rows]) for cone, rows in self]
        return np.asarray(np.minimum.reduce(found)) if found else np.ones(s.shape[:-1])

    def clarabel(self) -> list[Any]:
        return [word for cone in self.cones for word in cone.clarabel()]

    def _concatenate(self, part: Callable[[Cone, slice], Array]) -> Array:
        parts = [part(cone, rows) for cone, rows in self]
        return np.concatenate(parts, axis=-1) if parts else np.zeros(0)

    def __repr__(self) -> str:
        return " x ".join(map(repr, self.cones)) or "no cone"
