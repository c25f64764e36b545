"""Columns and second-order cones in units of their own sizes, where those are far apart.

The sizes are bounds, found by passing bounds of columns from row to row and through cones; they decide about units
alone, no claim rests on them. Two kinds of units follow.

A column is measured in its bound, so that x/1e-6 and its auxiliary variables of size 1 look alike to a solver.

A quadratic constraint x^2 <= t y is |(2x, y - t)| <= y + t. Where t is about 1e-10 and y about 1, the sums y + t and
y - t hold t to six digits only. A second-order cone is the same after h + r is multiplied by f and h - r divided by it,
h its head and r its first other row; with f the root of (h - r)/(h + r), both are of one size.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.conic.presolve.scaling import scale

_ROUNDING = 1e-11
_FAR = 2.0**12  # sizes that are less far apart stay as they are
_SWEEPS = 60
_HUGE = 2.0**200  # where bounds start; large enough for any set, so that x^2 <= s, s^2 <= x bounds both
_UNKNOWN = 2.0**150
_LOOSE = 2.0**8  # right-hand sides have size 1, so bounds far above it are not those of the set


def in_own_units(conic: ConicSet) -> ConicSet:
    """The set with columns and second-order cones in units in which they have size 1, where they are far off."""
    if conic.is_polyhedral:
        return conic
    scaled = scale(conic)
    heads = _heads(scaled)
    bounds = _Bounds(scaled, heads)
    if not any(not bounds.sweep() for _ in range(_SWEEPS)):
        return conic  # they fall and fall: the sizes of a set that may be one point say nothing
    if bounds.cross():
        return conic  # nor do those of a set that may be empty
    plus, minus = bounds.light()
    rounding = _ROUNDING * bounds.magnitudes()  # bounds below it are what is left of numbers that cancel
    known = (plus < _LOOSE) & (minus < _LOOSE) & (plus > rounding[0]) & (minus > rounding[1])
    ratio = np.where(known, minus, 1.0) / np.where(known, plus, 1.0)
    far = np.maximum(ratio, 1 / ratio) > _FAR
    reach = bounds.reach()
    sure = (reach < _LOOSE) & (reach > 0)
    spread = bool(sure.all()) and float(reach.max(initial=0.0)) > _FAR * float(reach.min(initial=np.inf))
    if spread and _are_rounding(scaled, heads, reach):
        return conic
    if not (far.any() or spread):
        return conic
    balanced = _multiplied(scaled, heads[far], np.exp2(np.round(np.log2(ratio[far]) / 2)))
    columns = sparse.diags_array(np.exp2(np.round(np.log2(np.where(sure, reach, 1.0)))))
    return replace(
        balanced,
        A=sparse.csr_array(balanced.A @ columns),
        E=sparse.csr_array(balanced.E @ columns),
        P=sparse.csr_array(balanced.P @ columns),
    )


def _are_rounding(conic: ConicSet, heads: Array, reach: Array) -> bool:
    """Whether sizes of columns are what is left of numbers that cancel: then they grow if more of these is rounding."""
    again = _Bounds(conic, heads, rounding=_ROUNDING)
    settled = any(not again.sweep() for _ in range(_SWEEPS))
    return not settled or bool(np.any(again.reach() > 2 * reach))


def _heads(conic: ConicSet) -> Array:
    """The head rows of the second-order cones of three rows or more."""
    found = [
        rows.start + cone.block * np.arange(cone.count) for cone, rows in conic.cones if cone.is_ball and cone.block > 2
    ]
    return np.concatenate(found) if found else np.zeros(0, dtype=int)


def _multiplied(conic: ConicSet, heads: Array, factor: Array) -> ConicSet:
    """h + r multiplied by a factor, a power of two, and h - r divided by it."""
    A, b = sparse.csr_array(conic.A), conic.b.copy()
    plus, minus = A[heads] + A[heads + 1], A[heads] - A[heads + 1]
    up, down = sparse.diags_array(factor / 2), sparse.diags_array(0.5 / factor)
    both = (sparse.vstack([up @ plus + down @ minus, up @ plus - down @ minus])).tocoo()
    rows = np.concatenate([heads, heads + 1])
    kept = A.tocoo()
    keep = ~np.isin(kept.row, rows)
    entries = (np.concatenate([kept.data[keep], both.data]), (
        np.concatenate([kept.row[keep], rows[both.row]]),
        np.concatenate([kept.col[keep], both.col]),
    ))  # fmt: skip
    A = sparse.csr_array(sparse.coo_array(entries, shape=A.shape))
    A.eliminate_zeros()
    above, below = (b[heads] + b[heads + 1]) * (factor / 2), (b[heads] - b[heads + 1]) * (0.5 / factor)
    b[heads], b[heads + 1] = above + below, above - below
    return replace(conic, A=A, b=b)


class _Bounds:
    """Bounds of columns and slacks, rows in the order: the cones', h + r and h - r of each head, equalities."""

    def __init__(self, conic: ConicSet, heads: Array, rounding: float = 1e-14) -> None:
        self._rounding = rounding
        A = sparse.csr_array(conic.A)
        light = [A[heads] + A[heads + 1], A[heads] - A[heads + 1]]
        rows = sparse.vstack([A, *light, conic.E]).tocoo()
        rows.eliminate_zeros()
        self._row, self._column, self._entry = rows.row, rows.col, rows.data
        self._shape = rows.shape
        b, self._heads, self._count = conic.b, heads, len(conic.b)
        self._right = np.concatenate([b, b[heads] + b[heads + 1], b[heads] - b[heads + 1], conic.e])
        self._least, self._most = np.full(conic.columns, -_HUGE), np.full(conic.columns, _HUGE)
        self._nonnegative = np.zeros(rows.shape[0], dtype=bool)
        self._nonnegative[: len(b)] = conic.cones.dual_rays()
        self._nonnegative[len(b) : len(b) + 2 * len(heads)] = True
        block = conic.cones.block_of_row()
        of_block = np.full(int(block.max(initial=-1)) + 1, -1)
        of_block[block[heads]] = np.arange(len(heads))
        self._cone = of_block[block]  # the running number of the cone of each row among the heads, else -1
        self._cones = conic.cones

    def light(self) -> tuple[Array, Array]:
        """Upper bounds of h + r and h - r."""
        most = self._activities()[1]
        count = len(self._heads)
        return most[self._count : self._count + count], most[self._count + count : self._count + 2 * count]

    def magnitudes(self) -> Array:
        """The sums of all magnitudes in h + r and in h - r, (2, heads)."""
        low, high = self._terms()
        sums = np.bincount(self._row, np.maximum(np.abs(low), np.abs(high)), self._shape[0]) + np.abs(self._right)
        return np.asarray(sums[self._count : self._count + 2 * len(self._heads)].reshape(2, -1))

    def cross(self) -> bool:
        """Whether a column is left no value."""
        return bool(np.any(self._least > self._most))

    def reach(self) -> Array:
        """The largest magnitude of each column."""
        return np.asarray(np.maximum(np.abs(self._least), np.abs(self._most)))

    def sweep(self) -> bool:
        """Tighten all columns by all rows once; whether one is new, or fell below half of what it was."""
        least, most = self._allowed()
        low, high = self._terms()
        rest_low, rest_high = self._without(low, -_HUGE), self._without(high, _HUGE)
        top = self._right[self._row] - least[self._row] - rest_low  # entry * column is at most this
        bottom = self._right[self._row] - most[self._row] - rest_high
        first, second = top / self._entry, bottom / self._entry
        before, unknown = self.reach(), self._unknown()
        np.minimum.at(self._most, self._column, np.where(self._entry > 0, first, second))
        np.maximum.at(self._least, self._column, np.where(self._entry > 0, second, first))
        return self._unknown() < unknown or bool(np.any(self.reach() < before / 2))

    def _unknown(self) -> int:
        """Ends of columns that no row has bounded yet."""
        return int((self._least < -_UNKNOWN).sum() + (self._most > _UNKNOWN).sum())

    def _terms(self) -> tuple[Array, Array]:
        """The least and largest value of entry times column."""
        at_least, at_most = self._entry * self._least[self._column], self._entry * self._most[self._column]
        return np.minimum(at_least, at_most), np.maximum(at_least, at_most)

    def _without(self, terms: Array, ends: float) -> Array:
        """For each entry the sum of the other terms of its row, rounded toward `ends`, which it is where unknown."""
        unknown = np.abs(terms) > _UNKNOWN
        finite = np.where(unknown, 0.0, terms)
        sums = np.bincount(self._row, finite, self._shape[0])[self._row] - finite
        others = np.bincount(self._row, unknown, self._shape[0])[self._row] - unknown
        sizes = np.bincount(self._row, np.abs(finite), self._shape[0]) + np.abs(self._right)
        rounding = self._rounding * sizes[self._row]
        return np.asarray(np.where(others > 0, ends, sums + np.sign(ends) * rounding))

    def _activities(self) -> tuple[Array, Array]:
        """Bounds of the slacks by the columns alone."""
        low, high = self._terms()
        sums = [np.bincount(self._row, terms, self._shape[0]) for terms in (high, low)]
        return self._right - sums[0], self._right - sums[1]

    def _allowed(self) -> tuple[Array, Array]:
        """Bounds of the slacks by the cones: signs, what each says of its rows, and |w|^2 <= (h + r)(h - r)."""
        rows = self._shape[0]
        least, most = np.full(rows, -_HUGE), np.full(rows, _HUGE)
        least[self._nonnegative] = 0.0
        least[self._count + 2 * len(self._heads) :] = most[self._count + 2 * len(self._heads) :] = 0.0
        plus, minus = (np.maximum(part, 0.0) for part in self.light())
        size = np.sqrt(plus) * np.sqrt(minus)
        across = np.flatnonzero(self._cone >= 0)  # heads and the rows after them among these, which are known
        low, high = self._cones.bounds(self._activities()[1][: self._count])
        high[across] = np.minimum(high[across], size[self._cone[across]])
        low[across] = -high[across]
        known = self._nonnegative[: self._count].copy()
        known[self._heads + 1] = True  # what the cone says of these rows is nothing new, but rounded
        most[: self._count] = np.where(known, _HUGE, np.minimum(high, _HUGE))
        least[: self._count] = np.maximum(least[: self._count], np.where(known, -_HUGE, np.maximum(low, -_HUGE)))
        return least, most
