"""The density of the padded binary tree, for eight rounds, in closed form up to one-dimensional integrals.

The padded tree releases less than its nodes, yet its log density ratio has the same supremum: at the prefixes
(c, ..., c) it tends to it from below as c grows.
"""

from collections.abc import Callable

import numpy as np

from dpcvx.arrays import Array

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)


def padded_tree_ratio(first: float, second: float, scale: float, at: float) -> float:
    """ln p(L~ | first)/p(L~ | second) of the padded binary tree, T = 8, at the prefixes L~_1 = ... = L~_7 = at.

    Item 1 is `first` or `second`, the others are 0; one coordinate (several add up). The noises are independent over
    the groups of prefixes {1}, {2, 3}, {4, ..., 7}, which share the nodes of 1, 2 and 4 items.
    """
    c = at / scale
    return _log_density(c, first / scale) - _log_density(c, second / scale)


def _log_density(c: float, shift: float) -> float:
    """ln of the density at (c, ..., c), in units of the scale, up to a constant."""
    total = -abs(c - shift) + np.log(3 + 3 * abs(c - shift) + (c - shift) ** 2)  # three noises
    pair = _log_integral(c, shift, lambda u: 2 * (np.log1p(u) - u))  # L~_2, L~_3: two noises each beside the node
    # L~_4, L~_5 the same; L~_6 and L~_7 share one more node: the integral of exp(-|e| - 2 |u - e|) over e
    quadruple = _log_integral(c, shift, lambda u: 2 * (np.log1p(u) - u) - u + np.log(4 / 3 - 2 / 3 * np.exp(-u)))
    return float(total + pair + quadruple)


def _log_integral(c: float, shift: float, log_rest: Callable[[Array], Array]) -> float:
    """ln of the integral of exp(-|v - shift|) rest(|c - v|) over v, by Gauss quadrature between the kinks."""
    ends = np.unique(np.concatenate([np.linspace(min(c, shift) - 45, max(c, shift) + 45, 40), [c, shift]]))
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    v = middle[:, None] + half[:, None] * _NODES
    logs = -np.abs(v - shift) + log_rest(np.abs(c - v))
    top = logs.max()
    return float(top + np.log((half[:, None] * _WEIGHTS * np.exp(logs - top)).sum()))
