"""Projections onto balls of the q-norm, 1 < q < infinity, without a solver.

For { |v|_q <= r } and a point p outside, v_i = sign(p_i) r w_i, and the multiplier m > 0 is such that

    w_i + m w_i^(q-1) = |p_i|/r,    sum w_i^q = 1.

Given m, each w_i is the root of a convex increasing function, in w where q >= 2, otherwise in z = w^(q-1). Newton's
method begins at the smaller of the two points at which one of the terms is all of the right side: right of the root,
and no term exceeds the right side there, so that few steps lead down to it. (sum w_i^q)^(-(q-1)/q) is nearly linear in
m: it is so for q = 2, and for all others at both ends. Leaving out the first terms gives an m that is too large, from
which Newton's method on that function comes down to the right one.

Both take a fixed number of steps, which is enough for all: the time does not tell where a point is.
"""

import numpy as np

from dpcvx.arrays import Array

_OUTER, _INNER = 10, 6  # Newton steps
_TINY = 1e-300
_LEAST = 1e-3  # of the multiplier that is left by a step


def onto_power_ball(points: Array, radius: float, q: float) -> Array:
    """The nearest points of { |v|_q <= radius }, on leading axes; points inside are returned as they are."""
    share = np.abs(points) / radius
    largest = np.maximum(share.max(axis=-1, keepdims=True), 1.0)
    right, own = share / largest, 1 / largest  # in units in which no point is far: own w + c w^(q-1) = right
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        c = np.exp((q - 1) / q * _log_sum(q / (q - 1) * np.log(np.maximum(right, _TINY))))
        for _ in range(_OUTER):
            w, slope = _roots(right, own, c, q)
            powers = w**q
            total = np.maximum(powers.sum(axis=-1, keepdims=True), _TINY)
            rate = (powers * slope).sum(axis=-1, keepdims=True) / total  # of -ln sum w^q by ln c
            step = (total ** ((q - 1) / q) - 1) * q / (q - 1) / np.maximum(rate, _TINY)
            c = np.maximum(c * np.maximum(1 + step, _LEAST), _TINY)  # for points inside it falls and falls
        w, _ = _roots(right, own, c, q)
        norm = np.linalg.norm(w, q, axis=-1, keepdims=True)
        outside = np.linalg.norm(right, q, axis=-1, keepdims=True) > own
    return np.where(outside, np.copysign(radius * (w / np.maximum(norm, _TINY)), points), points)


def _roots(right: Array, own: Array, c: Array, q: float) -> tuple[Array, Array]:
    """The roots w of own w + c w^(q-1) = right, and -q times the rate of ln w by ln c."""
    if q >= 2:
        w = np.minimum(right / own, (right / c) ** (1 / (q - 1)))
        for _ in range(_INNER):
            power = c * w ** (q - 2)
            w = w - (own * w + power * w - right) / (own + (q - 1) * power)
        power = c * w ** (q - 2)
        return w, q * power / (own + (q - 1) * power)
    r = 1 / (q - 1)
    z = np.minimum((right / own) ** (q - 1), right / c)
    for _ in range(_INNER):
        power = own * z ** (r - 1)
        z = z - (power * z + c * z - right) / (r * power + c)
    power = own * z ** (r - 1)
    return z**r, q * r * c / (r * power + c)


def _log_sum(logs: Array) -> Array:
    """ln sum exp, along the last axis, which is kept."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=-1, keepdims=True)))
