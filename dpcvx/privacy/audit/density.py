"""Certificates without sampling: what the scale of a counter really gives, from its nodes, prefixes and densities.

Laplace noise on nodes: the log density ratio has the supremum (1-norm of the shift of all nodes)/scale, which is
touches times D1 over the scale when one item moves along a diameter. Gaussian noise: one Gaussian release with
mu = (2-norm of the shift)/sigma, whose delta(epsilon) is exact (Balle and Wang 2018). How often an item is touched is
counted by running the counter, not taken from its plan. A prefix that moves in a direction that carries no noise at all
is no privacy: epsilon is infinite.

The padded binary tree releases less than its nodes, yet its log density ratio has the same supremum: at the prefixes
(c, ..., c) it tends to it from below as c grows (`padded_tree_ratio`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from dpcvx.arrays import Array
from dpcvx.privacy.audit.neighbours import worst_neighbours
from dpcvx.privacy.audit.outputs import Maker, Runs
from dpcvx.privacy.counters import BinaryTree, Toeplitz
from dpcvx.privacy.counters.toeplitz import factors
from dpcvx.privacy.noise import Gaussian, KNorm, Source
from dpcvx.privacy.prefix_sums import PrivateSums

_TOLERANCE = 1e-9  # relative; scales and norms are rounded


@dataclass(frozen=True)
class DensityCertificate:
    """The epsilon that a counter really has at its delta, and for Gaussian noise its rho, beside what it claims."""

    claimed: float
    delta: float
    epsilon: float
    claimed_rho: float | None = None
    rho: float | None = None

    @property
    def exceeded(self) -> bool:
        """Whether the claim is refuted: epsilon, or the rho of the zCDP certificate on which it rests."""
        beyond = self.epsilon > self.claimed * (1 + _TOLERANCE)
        if self.rho is not None and self.claimed_rho is not None:
            beyond = beyond or self.rho > self.claimed_rho * (1 + _TOLERANCE)
        return beyond


def certify(make: Maker, *, claim: float, delta: float = 0.0, padding: bool = False) -> DensityCertificate:
    """The exact epsilon of the counter that `make` builds, at the worst item and the largest change of one loss.

    Args:
        make: builds the private sums, see `outputs`.
        claim, delta: what is claimed.
        padding: whether the padding of the binary tree is hidden, in the test for directions without noise.
    """
    runs = Runs(make, np.random.default_rng(0), 1)
    plan = runs.sums.plan
    size = max(plan.sensitivity.units, _rounded_distance(runs.sums)) * runs.sums.rounds_per_person
    if isinstance(runs.counter, Toeplitz):
        f = factors(runs.counter.horizon)
        mu = f.sensitivity * size / plan.law.scale
        return _gaussian(mu, claim, delta, plan.rho)
    if not prefixes_are_hidden(make, padding=padding):
        return DensityCertificate(claim, delta, np.inf)
    touches = int(item_touches(make).max(initial=0))
    if isinstance(plan.law, Gaussian):
        return _gaussian(float(np.sqrt(touches) * size / plan.law.scale), claim, delta, plan.rho)
    if isinstance(plan.law, KNorm):  # a change of one loss has K-norm 1 at most
        return DensityCertificate(claim, delta, touches * runs.sums.rounds_per_person / plan.law.scale)
    return DensityCertificate(claim, delta, float(touches * size / plan.law.scale))


def _rounded_distance(sums: PrivateSums) -> float:
    """How far apart the worst neighbouring losses are once clipped and rounded; a right plan says no less."""
    plan = sums.plan
    ends = worst_neighbours(sums.loss_set, 1, sums.neighbours, norm=plan.sensitivity.norm)
    first, second = (sums._clipped(sums.loss_set.flatten(end[0])) for end in ends)
    toward_zero = plan.sensitivity.toward_zero
    moved = plan.grid.round(first, toward_zero) - plan.grid.round(second, toward_zero)
    return float(np.linalg.norm(moved.astype(float), plan.sensitivity.norm))


def _gaussian(mu: float, claim: float, delta: float, claimed_rho: float | None) -> DensityCertificate:
    return DensityCertificate(claim, delta, gaussian_epsilon(mu, delta), claimed_rho, mu * mu / 2)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The smallest delta of a Gaussian release of sensitivity/sigma = mu at epsilon (Balle and Wang 2018)."""
    return float(np.exp(log_ndtr(-epsilon / mu + mu / 2)) - np.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon of a Gaussian release of sensitivity/sigma = mu at delta."""
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return float(brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-13))


def item_touches(make: Maker) -> Array:
    """How many releases each of the items 1..T-1 enters, (T-1,): counted by running replica i on item i alone."""
    plan = Runs(make, np.random.default_rng(0), 1).sums.plan
    steps = plan.make((1, 1), TouchCount(1)).horizon - 1
    source = TouchCount(steps)
    counter = plan.make((steps, 1), source)
    for item in np.eye(steps):
        counter.update(item[:, None])
    return source.touched


class TouchCount(Source):
    """No noise at all; counts the releases in which each replica is not 0."""

    secure = False

    def __init__(self, replicas: int) -> None:
        self.touched = np.zeros(replicas, dtype=int)

    def draw(self, values: Array) -> Array:
        self.touched += (values[..., 0] != 0).sum(axis=0)
        return np.zeros(values.shape)


class UnitNoise(Source):
    """Noise 1 in release number i of replica i, and 0 in all others: the prefixes then show where each noise goes."""

    secure = False

    def __init__(self) -> None:
        self.count = 0

    def draw(self, values: Array) -> Array:
        noise = np.zeros(values.shape)
        for k in range(len(values)):
            if self.count < values.shape[1]:
                noise[k, self.count] = 1.0
            self.count += 1
        return noise


def noise_matrix(make: Maker, *, padding: bool = True) -> Array:
    """W (T, releases): what each noise adds to each prefix of the counter."""
    plan = Runs(make, np.random.default_rng(0), 1).sums.plan
    columns = 1
    while True:
        source = UnitNoise()
        counter = plan.make((columns, 1), source)
        rows = []
        for _ in range(counter.horizon):
            if isinstance(counter, BinaryTree) and not padding:
                rows.append(counter.node_noise)
            else:
                rows.append(counter.prefix)
            counter.update(np.zeros(1))
        if source.count <= columns:
            return np.stack(rows)[:, : source.count, 0]
        columns = source.count


def prefixes_are_hidden(make: Maker, *, padding: bool = True) -> bool:
    """Whether the change that any one item makes to the prefixes lies in the span of the noise."""
    W = noise_matrix(make, padding=padding)
    steps = np.tri(len(W), len(W) - 1, -1)  # item i moves the prefixes i, ..., T-1
    if not steps.size:
        return True
    fitted = W @ np.linalg.lstsq(W, steps, rcond=None)[0]
    return bool(np.abs(fitted - steps).max() < 1e-6)


def padded_tree_ratio(first: float, second: float, scale: float, at: float) -> float:
    """ln p(L~ | first)/p(L~ | second) of the padded binary tree, T = 8, at the prefixes L~_1 = ... = L~_7 = at.

    Item 1 is `first` or `second`, the others are 0; one coordinate (several add up). The noises are independent over
    the groups of prefixes {1}, {2, 3}, {4, ..., 7}, which share the nodes of 1, 2 and 4 items.
    """
    c = at / scale
    return _log_density(c, first / scale) - _log_density(c, second / scale)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)


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
