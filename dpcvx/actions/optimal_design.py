"""The D-optimal design of finitely many points (Kiefer, Wolfowitz): weights mu whose second moment is largest.

With Sigma = sum mu(a) aa' on the n-dimensional span of the points, max a'Sigma^-1 a is n at the optimum and larger
elsewhere, so the attained value says how good a design is. Frank-Wolfe moves weight to the point with the largest
a'Sigma^-1 a, or away from the one with the smallest, by an exact line search.
"""

import numpy as np

from dpcvx.arrays import Array

TOLERANCE = 1e-3
_STEPS = 100_000
_FRESH = 100  # steps after which a'Sigma^-1 a is computed anew


def optimal_design(points: Array, tolerance: float = TOLERANCE) -> Array:
    """Weights of the rows of `points` (k, n), which span R^n, with max a'Sigma^-1 a <= n (1 + tolerance)."""
    k, n = points.shape
    weights = np.full(k, 1 / k)
    if n < 2 or k == n:
        return weights if k == n else _longest(points)
    for step in range(_STEPS):
        if step % _FRESH == 0:
            inverse = np.linalg.inv((points.T * weights) @ points)
            leverage = ((points @ inverse) * points).sum(axis=1)
        toward = int(np.argmax(leverage))
        away = int(np.argmin(np.where(weights > 0, leverage, np.inf)))
        if leverage[toward] <= n * (1 + tolerance / 2):
            break
        forward = leverage[toward] - n >= n - leverage[away]
        chosen = toward if forward else away
        size = float(leverage[chosen])
        length = (size / n - 1) / (size - 1) if size > 1 else -np.inf
        if not forward:  # a negative length, at most until the weight is used up
            length = max(length, -weights[chosen] / (1 - weights[chosen]))
        direction = points @ (inverse @ points[chosen])
        ratio = length / (1 - length + length * size)
        along = inverse @ points[chosen]
        inverse = (inverse - ratio * np.outer(along, along)) / (1 - length)
        leverage = (leverage - ratio * direction**2) / (1 - length)
        weights *= 1 - length
        weights[chosen] = max(weights[chosen] + length, 0.0)
    return np.asarray(weights / weights.sum())


def _longest(points: Array) -> Array:
    """On a line, all the weight on the longest point."""
    weights = np.zeros(len(points))
    weights[int(np.argmax((points**2).sum(axis=1)))] = 1.0
    return weights
