"""How far directions of a ball's Dikin ellipsoids can be stretched, in the mean.

At w with |w| = r < 1 the barrier -ln(1 - |x|^2) has the Hessian 2/(1 - r^2) across w and 2 (1 + r^2)/(1 - r^2)^2 along
it. For a uniform unit vector u, with b its part along w, the displacement d has

    |<w, d>|^2 = r^2 b^2 (1 - r^2)^2/(2 (1 + r^2)),    |d|^2 = (1 - r^2) ((1 - b^2)/2 + b^2 (1 - r^2)/(2 (1 + r^2))),

and both ends of rho d stay in the ball up to 1/rho = (|<w, d>| + (<w, d>^2 + |d|^2 (1 - r^2))^(1/2))/(1 - r^2). The
density of b is proportional to (1 - b^2)^((n - 3)/2).
"""

from functools import cache

import numpy as np

_OUTWARD = 1.002  # of the largest of many radii, for those between them
_RADII = 1 - np.concatenate([np.linspace(0, 1, 400, endpoint=False)[1:], np.geomspace(1e-9, 2e-3, 60)])


@cache
def ball_stretch_moment(n: int) -> float:
    """An upper bound of E 1/rho^2 over all points of a ball of dimension n."""
    if n == 1:
        return 1.0
    angle, weight = np.polynomial.legendre.leggauss(600)
    angle, weight = (angle + 1) * np.pi / 4, weight * np.pi / 4  # b = cos(angle), from 0 to 1 by symmetry
    weight = weight * np.sin(angle) ** (n - 2)
    weight /= weight.sum()
    b, room = np.cos(angle)[:, None], (1 - _RADII**2)[None]
    curved = room / (1 + _RADII**2)
    along = _RADII * b * np.sqrt(room * curved / 2)
    square = room * ((1 - b**2) + b**2 * curved) / 2
    inverse = (along + np.sqrt(along**2 + square * room)) / room
    return float(min(1.0, (weight @ inverse**2).max() * _OUTWARD))
