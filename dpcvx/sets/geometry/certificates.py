"""What a normal proves, in arithmetic that rounds outward.

For a normal z of the dual cone and multipliers mu of the equalities,

    <z, b - A v> = <z, b> + <mu, e> - <r, v>,    r = A'z + E'mu,

on the equalities E v = e. The sums are taken exactly and rounded once: products of floats are split into two floats
each (Dekker), and `math.fsum` adds without error. So the slacks of all points with |v| <= `reach` have <z, s> within
`level` plus or minus `slip`, rounding of z to the dual cone included.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dpcvx.arrays import Array
from dpcvx.sets.conic.canonical import ConicSet

_SPLIT = 2.0**27 + 1
_INSIDE = 4e-15  # part of its size by which a normal is moved into the dual cone, block by block
_OUTWARD = 1 + 1e-12  # for sums of nonnegative numbers


@dataclass(frozen=True)
class Certificate:
    """<z, s> lies within `level` plus or minus `slip` for all slacks s of points up to the reach."""

    level: float
    slip: float

    @property
    def proves_empty(self) -> bool:
        """Whether <z, s> is below 0 all over, as it is for no slack in the cone."""
        return self.level + self.slip < 0


def certify(conic: ConicSet, z: Array, reach: float) -> Certificate:
    """What z proves about points with |v_j| <= reach; an infinite slip where it is not in the dual cone."""
    moved = _INSIDE * conic.cones.largest(z) * conic.cones.identity()
    active = conic.cones.largest(z) > 0
    if not conic.cones.dual_interior(np.where(active, z + moved, conic.cones.identity())):
        return Certificate(0.0, math.inf)
    weights = np.concatenate([z, multipliers(conic, z)])
    rows = sparse.csc_array(sparse.vstack([conic.A, conic.E]))
    left = sum(
        abs(exact_dot(rows.data[a:b], weights[rows.indices[a:b]]))
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    )
    slack = (np.abs(conic.b) + reach * np.asarray(abs(conic.A).sum(axis=1)).ravel())[active]
    rounding = float(np.abs(moved[active]) @ slack)
    level = exact_dot(np.concatenate([conic.b, conic.e]), weights)
    return Certificate(level, _OUTWARD * (reach * left + rounding + 1e-15 * abs(level)))


def multipliers(conic: ConicSet, z: Array) -> Array:
    """The mu of the equalities for which A'z + E'mu is smallest."""
    if not conic.E.shape[0]:
        return np.zeros(0)
    return np.asarray(np.linalg.lstsq(conic.E.T.toarray(), -(conic.A.T @ z), rcond=None)[0])


def exact_dot(a: Array, b: Array) -> float:
    """<a, b>, rounded once; entries must be far from overflow."""
    high = a * b
    return math.fsum([*high.tolist(), *_missing(a, b, high).tolist()])


def _missing(a: Array, b: Array, product: Array) -> Array:
    """What is missing in the rounded products, exactly (Dekker)."""
    a_high, b_high = _upper(a), _upper(b)
    a_low, b_low = a - a_high, b - b_high
    return np.asarray(((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)


def _upper(a: Array) -> Array:
    big = _SPLIT * a
    return np.asarray(big - (big - a))
