"""Certified bounds of max |x|_p and max |x - x'|_p over a set, by its bounding box and its inequalities.

With r_i the largest |x_i| and w_i the width of entry i on the bounding box [l, u],

    |x_i|^p <= its chord on [l_i, u_i],    |x_i|^p <= r_i^(p-1) |x_i|,
    |x_i - x'_i|^p <= w_i^(p-1) |x_i - x'_i|,    |x_i - x'_i| <= |x_i - c_i| + |x'_i - c_i|,

and |x_i - c_i| is at most x_i - l_i for c_i = l_i, u_i - x_i for c_i = u_i, and what an epigraph among the inequalities
says. All these are affine in the lifted coordinates; a sum over x and x' that is concave and the same for both is
largest where they are the same. This is exact for boxes and simplices, for the hulls of 0/1 vertices, and for balls of
the 1-norm with a bound on each entry.
"""

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets.geometry.envelopes import Affine, epigraphs, in_entries, sum_bound, together
from dpcvx.sets.geometry.geometry import Geometry


def norm_bound(geometry: Geometry, lower: Array, upper: Array, p: float) -> float:
    """An upper bound of max |x|_p over a set with this bounding box, for 1 <= p < infinity."""
    reach = np.maximum(np.abs(lower), np.abs(upper))
    unit = float(reach.max(initial=0.0))
    if not unit or not geometry.dim:
        return float(np.linalg.norm(reach, p))
    low, high, width = lower / unit, upper / unit, (upper - lower) / unit
    at_low, at_high = np.abs(low) ** p, np.abs(high) ** p
    slope = np.where(width > 0, (at_high - at_low) / np.where(width > 0, width, 1.0), 0.0)
    chords = in_entries(geometry.conic, slope / unit, np.where(width > 0, at_low - slope * low, (reach / unit) ** p))
    ends, middles = epigraphs(geometry.conic)
    share = (reach / unit) ** (p - 1) / unit
    around = Affine(ends.entry, ends.slope, ends.value + np.abs(middles)).scaled(share)
    return unit * float(max(sum_bound(geometry, together(chords, around)), 0.0) ** (1 / p))


def difference_bound(geometry: Geometry, lower: Array, upper: Array, p: float) -> float:
    """An upper bound of max |x - x'|_p over a set with this bounding box, for 1 <= p < infinity."""
    width = upper - lower
    unit = float(width.max(initial=0.0))
    if not unit or not geometry.dim:
        return 0.0
    ones = np.ones(len(width))
    above = together(
        in_entries(geometry.conic, ones, -lower),
        in_entries(geometry.conic, -ones, upper),
        in_entries(geometry.conic, 0 * ones, width / 2),
        epigraphs(geometry.conic)[0],
    )
    share = 2 * (width / unit) ** (p - 1) / unit
    return unit * float(max(sum_bound(geometry, above.scaled(share)), 0.0) ** (1 / p))
