"""E max <Z, x> over a decision set for the noise Z of a prefix: the additive price of privacy in a regret bound.

Z is symmetric, so E <Z, c> = 0 for every fixed c and the set may be moved. The smallest of

    |PZ|_2 r                    P the projection onto the tangent space, r the radius: E |PZ|_2 <= sqrt(n) deviation;
    sum_i |Z_i| h_i             h the half-widths of the bounding box;
    (max_i Z_i) S               on { x >= 0, sum x = S };  with max(Z_i, 0) where the sum is at most S;
    max over finitely many v of <Z, v>

is certified. Maxima go by E max <= inf_s (1/s) log sum E exp(s Z_i). K-norm noise on boxes is independent and uniform
given its levels: there the right-hand side is a multiple of the root of the variance, and the mean variance bounds its
mean.

Where the set carries a map M to what losses are about, Z is on those and x stands for M x. Its radius is at most |M| r,
and the half-widths are at most |M| h. The third holds where every coordinate stands for one entry of a loss, so that
M'Z repeats entries of Z.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from dpcvx.privacy.prefix_noise import PrefixNoise
from dpcvx.sets.sizes import Sizes


def mean_width(sizes: Sizes, noise: PrefixNoise) -> float:
    """An upper bound of E max <Z, x> over the decision set."""
    X = sizes.decision_set
    if not X.dim:
        return 0.0
    lower, upper = X.bounding_box()
    candidates = [
        sizes.used_reach * float(np.sqrt(X.dim)) * noise.deviation,
        sizes.pairing.stretch(1) * float(np.sum(upper - lower)) / 2 * noise.mean_absolute,
    ]
    if np.isfinite(noise.log_moment(0.0)):
        count = X.size + (0 if sizes.total is not None else 1)
        if sizes.pairing.selects:
            candidates.append(
                sizes.mass * _mean_maximum(lambda s: float(np.log(count)) + noise.log_moment(s), noise.largest_rate)
            )
        if sizes.vertices is not None:
            used = sizes.pairing.usage(X.unflatten(sizes.vertices))
            candidates.append(_vertex_maximum(used.reshape(len(used), -1), noise))
    return min(candidates)


def _vertex_maximum(vertices: np.ndarray, noise: PrefixNoise) -> float:
    moved = np.abs(vertices - vertices.mean(axis=0))
    largest = float(moved.max())
    if largest == 0:
        return 0.0
    # a coordinate of the noise enters with weight d: its moment at s d
    values, where = np.unique(moved, return_inverse=True)
    counts = np.zeros((len(moved), len(values)))
    np.add.at(counts, (np.arange(len(moved))[:, None], where.reshape(moved.shape)), 1.0)

    def log_sum(s: float) -> float:
        moments = np.array([noise.log_moment(s * d) for d in values])
        return float(logsumexp(counts @ moments))

    return _mean_maximum(log_sum, noise.largest_rate / largest)


def _mean_maximum(log_sum: Callable[[float], float], largest_rate: float) -> float:
    """min over 0 < s < largest_rate of log_sum(s)/s: any s proves a bound, so the search need not be exact."""
    high = largest_rate
    if not np.isfinite(high):
        high = 1.0
        while log_sum(2 * high) / (2 * high) < log_sum(high) / high:
            high *= 2
        while log_sum(high / 4) / (high / 4) < log_sum(high / 2) / (high / 2):
            high /= 2
        high *= 2
    found = minimize_scalar(
        lambda u: log_sum(high * u) / (high * u), bounds=(1e-6, 1 - 1e-9), method="bounded", options={"xatol": 1e-7}
    )
    return float(found.fun)
