"""The Gaussian calibration: the exact law of continuous noise, and OpenDP's route from zCDP to (epsilon, delta).

A Gaussian release of sensitivity/sigma = mu has the smallest delta

    delta(mu) = Phi(-a) - e^epsilon Phi(-b),   a = epsilon/mu - mu/2,  b = epsilon/mu + mu/2

(Balle and Wang 2018), which grows with mu. With Phi(-x) = phi(x) m(x), m the Mills ratio, and e^epsilon phi(b) = phi(a)
this is phi(a) (m(a) - m(b)): nothing overflows, and the one difference left is the integral of -m'(x) = 1 - x m(x) > 0
from a to b, an interval of length mu.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy.opendp import discrete_gaussian, opendp, overflows

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_UNIT = 2.0**-53
_LARGEST = 1e300  # epsilon of which multiples are finite
_ROUNDINGS = 32  # units by which one evaluation may be off; erfcx has up to 8 of them (measured), plus x^2 where x < 0


def analytic_mu(epsilon: float, delta: float) -> float:
    """The largest sensitivity/sigma at which continuous Gaussian noise is (epsilon, delta)-DP, never above the truth.

    Bisection on an upper bound of delta(mu) that counts its own rounding errors.
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    target = math.log(delta)
    low = high = math.sqrt(2 * epsilon)  # a = 0
    while log_delta_above(low, epsilon) > target:
        low, high = low / 2, low
    while log_delta_above(high, epsilon) <= target:
        low, high = high, 2 * high
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return low
        if log_delta_above(middle, epsilon) <= target:
            low = middle
        else:
            high = middle


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The smallest delta of a Gaussian release of sensitivity/sigma = mu at epsilon."""
    return float(np.exp(log_ndtr(-epsilon / mu + mu / 2)) - np.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon of a Gaussian release of sensitivity/sigma = mu at delta."""
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return float(brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-13))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The epsilon of (epsilon, delta)-DP that OpenDP derives from rho-zCDP, or where it is less the usual bound."""
    if not (math.isfinite(rho) and rho >= 0):
        raise ArgumentError(f"rho must be a finite number that is not negative, but {rho} came.")
    _check_delta(delta)
    return _zcdp_epsilon(float(rho), float(delta))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho for which OpenDP's conversion from zCDP certifies (epsilon, delta), up to a relative 1e-11."""
    _check_epsilon(epsilon)
    _check_delta(delta)
    return _zcdp_rho(float(epsilon), float(delta))


@lru_cache(maxsize=1024)
def _zcdp_epsilon(rho: float, delta: float) -> float:
    privacy, profile = _opendp_maps()
    distance = math.sqrt(2 * rho)
    while privacy(distance) < rho:
        distance = math.nextafter(distance, math.inf)
    return profile(distance, delta)


@lru_cache(maxsize=1024)
def _zcdp_rho(epsilon: float, delta: float) -> float:
    def excess(log_rho: float) -> float:
        return _zcdp_epsilon(math.exp(log_rho), delta) - epsilon

    # `_loose_epsilon` is valid and looser, the exact law of the Gaussian is tighter
    log_inverse = -math.log(delta)
    low = 2 * math.log(epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse)))
    high = 2 * math.log(analytic_mu(epsilon, delta)) - math.log(2)
    low = min(low, high)
    while excess(low) > 0:
        low, high = low - 1, low
    low = float(brentq(excess, low, high, xtol=1e-12, rtol=1e-14)) if excess(high) > 0 else high
    step = 1e-12
    while excess(low) > 0:
        low, step = low - step, 2 * step
    return math.exp(low)


@lru_cache(maxsize=1)
def _opendp_maps() -> tuple[Callable[[float], float], Callable[[float, float], float]]:
    """The zCDP map of discrete Gaussian noise of scale 1, and epsilon as OpenDP converts it, by distance and delta."""
    release = discrete_gaussian(1, 1.0)
    converted = opendp().c.make_zCDP_to_approxDP(release)

    def privacy(distance: float) -> float:
        return float(release.map(distance))

    def profile(distance: float, delta: float) -> float:
        loose = _loose_epsilon(privacy(distance), delta)
        try:
            return min(loose, float(converted.map(distance).epsilon(delta)))
        except overflows():  # its exponentials do, for an epsilon of about 1e5 and more
            return loose

    return privacy, profile


def _loose_epsilon(rho: float, delta: float) -> float:
    """rho + 2 sqrt(rho log(1/delta)), rounded up: rho-zCDP gives it always (Bun and Steinke 2016, Proposition 1.3)."""
    return (rho + 2 * math.sqrt(rho * -math.log(delta))) * (1 + 1e-14)


def log_delta_above(mu: float, epsilon: float) -> float:
    """An upper bound of log delta(mu), tight up to the rounding errors that it adds."""
    ratio = epsilon / mu
    a, b = ratio - mu / 2, ratio + mu / 2
    if a < -30:
        return 0.0  # delta is below 1 always, and here by less than 1e-190
    if mu < 1:
        # 1 - x m(x) is about 1/x^2 and loses the digits of x^2
        x = ratio + mu / 2 * _NODES
        difference = mu / 2 * float(_WEIGHTS @ (1 - x * _mills(x)))
        lost = 1 + b * b
    else:
        left = float(_mills(a))
        difference = left - float(_mills(b))
        lost = left / difference if difference > 0 else math.inf
    if not difference > 0:
        return 0.0
    # a is off by some units of ratio + mu, and the exponent by |a| times that
    error = _ROUNDINGS * _UNIT * (4 + lost + abs(a) * (ratio + mu))
    return -a * a / 2 - math.log(2 * math.pi) / 2 + math.log(difference) + error


def _mills(x: float | Array) -> Array:
    """Phi(-x)/phi(x)."""
    return np.asarray(math.sqrt(math.pi / 2) * erfcx(np.asarray(x) / math.sqrt(2)))


def _check_epsilon(epsilon: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ArgumentError(f"epsilon must be a finite positive number, but {epsilon} came.")
    if epsilon > _LARGEST:
        raise ArgumentError(f"epsilon must be at most {_LARGEST:g}, but {epsilon} came.")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ArgumentError(f"delta must lie strictly between 0 and 1, but {delta} came.")
