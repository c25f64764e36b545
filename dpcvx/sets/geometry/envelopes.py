"""Sums of convex functions of single entries, bounded by affine functions of the lifted set that lie above them.

Whatever the lifted coordinates v are, let a_ik(v) be affine functions, several for each entry i, each of them at least
f_i(x_i) all over the set. Then

    sum_i f_i(x_i) <= max_v sum_i min_k a_ik(v) <= max_v sum_i sum_k w_ik a_ik(v)

for all weights w_ik >= 0 with sum_k w_ik = 1. The maximum in the middle is a cone program; its multipliers are the
weights for which the right side is as small, and that is the maximum of one linear function, which is bounded by a
proof. So the solver decides how tight a bound is, and never whether it is one.

Two inequalities s >= 0, s' >= 0 of the conic form whose difference depends on x_i alone, s - s' = k (x_i - c_i), say
that |x_i - c_i| <= (s + s')/k: these are the epigraphs that cvxpy writes for the absolute value.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.barriers import Nonnegative, Product
from dpcvx.sets.conic.canonical import ConicSet
from dpcvx.sets.geometry.bounds import lifted_bound, lifted_bound_by_dual
from dpcvx.sets.geometry.geometry import Geometry
from dpcvx.sets.solvers.cone_program import ConeProgram
from dpcvx.sets.sparse_rows import EXACT, row_norms

_PROOF = 1e-11  # asked of the cone program, whose dual point is to prove the bound
_PAIRS = 4_000_000  # products of rows and entries that are looked at for epigraphs


@dataclass(frozen=True)
class Affine:
    """Functions value + <slope, v>, one a row, each of which belongs to an entry of x."""

    entry: Array
    slope: sparse.csr_array
    value: Array

    def scaled(self, factor: Array) -> "Affine":
        """Every function times the nonnegative factor of its entry."""
        by = factor[self.entry]
        return Affine(self.entry, sparse.csr_array(sparse.diags_array(by) @ self.slope), by * self.value)


def together(*parts: Affine) -> Affine:
    """The functions of all parts."""
    return Affine(
        np.concatenate([part.entry for part in parts]),
        sparse.csr_array(sparse.vstack([part.slope for part in parts])),
        np.concatenate([part.value for part in parts]),
    )


def in_entries(conic: ConicSet, slope: Array, value: Array) -> Affine:
    """The functions value_i + slope_i x_i, one for each entry."""
    rows = sparse.csr_array(sparse.diags_array(slope) @ conic.P)
    return Affine(np.arange(len(value)), rows, value + slope * conic.offset)


def epigraphs(conic: ConicSet) -> tuple[Affine, Array]:
    """Functions that are at least |x_i - c_i|, and the c_i of each, by pairs of inequalities as told above.

    Pairs are found by one random projection of the rows without their part along x_i, and compared in full.
    """
    rows, right = conic.A[conic.polyhedral], conic.b[conic.polyhedral]
    empty = Affine(np.zeros(0, dtype=int), sparse.csr_array((0, conic.columns)), np.zeros(0)), np.zeros(0)
    if not rows.shape[0] or rows.shape[0] * conic.P.shape[0] > _PAIRS:
        return empty
    size = row_norms(conic.P)
    along = sparse.csr_array(sparse.diags_array(1 / np.where(size > 0, size, 1.0)) @ conic.P)
    share = (rows @ along.T).toarray()  # of each row along each entry
    probe = np.random.default_rng(0).standard_normal(conic.columns)
    rest = np.sqrt(np.maximum((row_norms(rows) ** 2)[:, None] - share**2, 0.0))
    key = (rows @ probe)[:, None] - share * (along @ probe)
    meant = (share != 0) & (rest > 1e-6 * row_norms(rows)[:, None])
    key = np.where(meant, key / np.where(meant, rest, 1.0), np.inf)
    order = np.argsort(key, axis=0, kind="stable")
    ranked = np.take_along_axis(key, order, axis=0)
    with np.errstate(invalid="ignore"):
        place, entry = np.nonzero(np.diff(ranked, axis=0) <= 1e-9 * np.abs(ranked[:-1]))
    first, second = order[place, entry], order[place + 1, entry]
    # s = b - <a, v>, both rows scaled so that their parts beside x_i are the same
    one, other = (_divided(rows[index], rest[index, entry]) for index in (first, second))
    gap = sparse.csr_array(other - one)
    k = np.asarray(gap.multiply(along[entry]).sum(axis=1)).ravel() / np.where(size > 0, size, 1.0)[entry]
    left = sparse.csr_array(gap - sparse.diags_array(k) @ conic.P[entry])
    good = (k != 0) & (row_norms(left) <= EXACT * row_norms(one))
    if not good.any():
        return empty
    first, second, entry, k = first[good], second[good], entry[good], k[good]
    b_one, b_other = right[first] / rest[first, entry], right[second] / rest[second, entry]
    slope = _divided(sparse.csr_array(one[good] + other[good]), -np.abs(k))
    # s - s' = b - b' + k (x_i - offset_i)
    return Affine(entry, slope, (b_one + b_other) / np.abs(k)), conic.offset[entry] - (b_one - b_other) / k


def _divided(rows: sparse.csr_array, by: Array) -> sparse.csr_array:
    return sparse.csr_array(sparse.diags_array(1 / by) @ rows)


def sum_bound(geometry: Geometry, above: Affine) -> float:
    """A certified upper bound of max sum_i min_k a_ik(v) over the lifted set; every entry has a function."""
    weights, dual, reached = _weights(geometry, above)
    slope, constant = np.asarray(weights @ above.slope), float(weights @ above.value)
    chart = geometry.chart
    most = lifted_bound_by_dual(chart, geometry.nu, slope, dual)
    if most is None or not constant + most <= reached + 1e-8 * abs(reached):
        most = min(lifted_bound(chart, geometry.nu, slope), np.inf if most is None else most)
    rounding = float(weights @ np.abs(above.value)) + float(weights @ (abs(above.slope) @ np.abs(chart.v0)))
    return constant + most + 1e-13 * rounding


def _weights(geometry: Geometry, above: Affine) -> tuple[Array, Array, float]:
    """Weights that make the sum as small as a cone program can, its dual point and the value that it reached.

    The weights are nonnegative and sum to 1 for each entry, whatever the solver says.
    """
    form, chart = geometry.centered_form, geometry.chart
    at_center = above.value + above.slope @ chart.v0
    size = float(np.abs(at_center).max()) or 1.0
    slope = sparse.csr_array(above.slope @ sparse.diags_array(chart.column_widths())) / size
    entries, count = int(above.entry.max()) + 1, len(above.entry)
    pick = sparse.csr_array((np.ones(count), (np.arange(count), above.entry)), shape=(count, entries))
    program = ConeProgram(
        sparse.csr_array(sparse.block_array([[form.A, None], [-slope, pick]])),
        np.concatenate([form.s0, at_center / size]),
        Product([*form.cones.cones, Nonnegative(count)]),
        sparse.csr_array(sparse.hstack([form.E, sparse.csr_array((form.E.shape[0], entries))])),
        np.zeros(form.E.shape[0]),
        tolerance=_PROOF,
    )
    answer = program.minimise(np.concatenate([np.zeros(form.A.shape[1]), -np.ones(entries)]))
    scale = size * form.cones.largest(form.s0) / form.cones.largest(chart.s0)
    dual = scale * answer.dual[form.E.shape[0] : -count]
    share = np.maximum(np.nan_to_num(np.where(answer.usable, answer.dual[-count:], 0.0)), 0.0)
    total = np.bincount(above.entry, weights=share, minlength=entries)[above.entry]
    # where the solver says nothing, the function that is least at the center
    least = np.full(entries, np.inf)
    np.minimum.at(least, above.entry, at_center)
    lowest = at_center <= least[above.entry]
    lowest = lowest / np.bincount(above.entry, weights=lowest, minlength=entries)[above.entry]
    weights = np.where(total > 0.5, share / np.where(total > 0.5, total, 1.0), lowest)
    return weights, dual, size * float(answer.point[form.A.shape[1] :].sum()) if answer.usable else -np.inf
