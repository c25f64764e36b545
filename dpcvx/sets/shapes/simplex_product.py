"""Products of simplices and intervals: entries in groups of which each has its own sum, others between bounds."""

from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from dpcvx.actions import Simplices
from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.layout import Layout
from dpcvx.sets.shapes.box import bound_at
from dpcvx.sets.shapes.columns import Columns, coordinate_bounds
from dpcvx.sets.shapes.polytope import Polytope
from dpcvx.sets.shapes.shape import Facts
from dpcvx.sets.shapes.sorted_projection import onto_simplex

_EVEN = 1e-14  # by which the weights of a sum may differ, relative
_ROOM = 1 - 1e-12  # of a sum, which every bound must leave to a single entry


class Parts(NamedTuple):
    """The entries of each group, the sums of the groups, and the bounds of all entries."""

    groups: list[Array]
    totals: list[float]
    lower: Array
    upper: Array


class SimplexProduct(Polytope):
    """{ x_i >= 0, sum of x_i = s_g for i in group g; l_i <= x_i <= u_i for all other i }, of more than one group."""

    batched = True
    has_formulas = True
    argmin_name = project_name = "closed form (product of simplices)"

    def __init__(self, geometry: Geometry, layout: Layout, parts: Parts) -> None:
        super().__init__(geometry, layout)
        self.parts = parts
        self.box = parts.lower, parts.upper

    @classmethod
    def of(cls, facts: Facts) -> Self | None:
        parts = _parts(facts.geometry.conic)
        return None if parts is None else cls(facts.geometry, facts.layout, parts)

    def argmin(self, c: Array) -> Array:
        x = np.where(c < 0, self.parts.upper, self.parts.lower)
        for group, total in zip(self.parts.groups, self.parts.totals, strict=True):
            x[..., group] = total * (np.arange(len(group)) == c[..., group].argmin(axis=-1)[..., None])
        return x

    def support_bound(self, c: Array) -> float:
        return bound_at(c, self.argmin(-c))

    def project(self, p: Array) -> Array:
        x = np.clip(p, self.parts.lower, self.parts.upper)
        for group, total in zip(self.parts.groups, self.parts.totals, strict=True):
            x[..., group] = onto_simplex(p[..., group], total)
        return x

    def simplices(self) -> Simplices:
        lower, upper, groups = self.parts.lower, self.parts.upper, self.parts.groups
        free = np.setdiff1d(np.arange(len(lower)), np.concatenate(groups))
        most = max(2 if len(free) else 1, *(len(group) for group in groups))
        entries = np.zeros((len(groups) + len(free), most), dtype=int)
        steps, there = np.zeros(entries.shape), np.zeros(entries.shape, dtype=bool)
        for row, (group, total) in enumerate(zip(groups, self.parts.totals, strict=True)):
            entries[row, : len(group)], steps[row, : len(group)], there[row, : len(group)] = group, total, True
        if len(free):
            entries[len(groups) :, :2] = free[:, None]
            steps[len(groups) :, 1], there[len(groups) :, :2] = upper[free] - lower[free], True
        base = np.zeros(len(lower))
        base[free] = lower[free]
        return Simplices(base, entries, steps, there)


def _parts(conic: ConicSet) -> Parts | None:
    columns, ends = Columns.of(conic), coordinate_bounds(conic)
    if columns is None or columns.scale is None or ends is None or conic.E.shape[0] < 1:
        return None
    lower, upper = (columns.scale * end for end in ends)
    rows = sparse.csr_array(conic.E, copy=True)  # dense ones of a large set would be too many numbers
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if (np.bincount(rows.indices, minlength=conic.columns) > 1).any():
        return None
    groups, totals = [], []
    for row, right in enumerate(conic.e.tolist()):
        own = slice(rows.indptr[row], rows.indptr[row + 1])
        group, values = rows.indices[own].astype(np.int64), rows.data[own] / columns.scale[rows.indices[own]]
        if not len(group) or np.ptp(values) > _EVEN * abs(values[0]):
            return None
        total = float(right / values[0])
        if total <= 0 or lower[group].any() or (upper[group] < _ROOM * total).any():
            return None
        upper[group] = total
        groups.append(group)
        totals.append(total)
    whole = len(groups) == 1 and len(groups[0]) == len(lower)  # a simplex
    if whole or not np.isfinite(lower).all() or not np.isfinite(upper).all():
        return None
    return Parts(groups, totals, lower, upper)
