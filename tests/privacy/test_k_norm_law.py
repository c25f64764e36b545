"""K-norm noise in simulation: its size, and that it has the law that it claims."""

import math
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import chi2
from varied_losses import LOSS_SETS

from dpcvx import LossSet
from dpcvx.privacy import PrivateSums, plan
from dpcvx.privacy.noise import KNorm


def test_k_norm_noise_is_smaller_and_on_balls_for_simulation():
    l = cp.Variable(10, name="l")  # noqa: E741
    with pytest.raises(ValueError, match="on balls exists only in simulation"):
        PrivateSums(LossSet(l, [cp.norm2(l) <= 1]), 64, 1.0, noise="knorm")
    for Y, gain in ((LossSet(l, [cp.abs(l) <= 1]), 2.0), (LossSet(l, [cp.norm2(l) <= 1]), 1.3)):
        k_norm, laplace = (PrivateSums(Y, 64, 1.0, noise=kind, seed=0) for kind in ("knorm", "laplace"))
        assert laplace.plan.prefix_deviation / k_norm.plan.prefix_deviation > gain
        assert k_norm.certificate.scale == pytest.approx(k_norm.plan.touches) and "units of K" in str(
            k_norm.certificate
        )
    with pytest.raises(ValueError, match="boxes"):
        plan(LOSS_SETS["simplex"], 64, 1.0, noise="knorm")


def _false_alarm(moments, n, t):
    """Least Markov bound on P(|S| >= t n E Y), S the sum of n copies of Y - E Y, from the exact moments of Y >= 0.

    The moments of S come from its cumulants, n times those of Y; all fractions, so nothing cancels.
    """
    scaled = [Fraction(1), *(m / moments[0] ** (j + 1) for j, m in enumerate(moments))]  # of Y/E Y
    order = len(moments)
    central = [sum(math.comb(j, i) * scaled[i] * (-1) ** (j - i) for i in range(j + 1)) for j in range(order + 1)]
    cumulants = [Fraction(0)]
    for j in range(1, order + 1):
        mixed = sum(math.comb(j - 1, i - 1) * cumulants[i] * central[j - i] for i in range(1, j))
        cumulants.append(central[j] - mixed)
    sums = [Fraction(1)]
    for j in range(1, order + 1):
        sums.append(sum(math.comb(j - 1, i - 1) * n * cumulants[i] * sums[j - i] for i in range(1, j + 1)))
    return min(float(sums[k] / (n * t) ** k) for k in range(2, order + 1, 2))


def _squared_k_norm_moments(n, body, order):
    """E (z_1^2)^j, j = 1, ..., order, for z = r u with r ~ Gamma(n + 1, 1) and u uniform on the unit body."""
    moments = []
    for j in range(1, order + 1):
        radial = math.prod(range(n + 1, n + 1 + 2 * j))
        if body == "box":
            moments.append(Fraction(radial, 2 * j + 1))
        else:  # uniform in the ball: |u|^2j has the mean n/(n + 2j), its direction is uniform on the sphere
            sphere = Fraction(math.prod(range(1, 2 * j, 2)), math.prod(range(n, n + 2 * j, 2)))
            moments.append(radial * Fraction(n, n + 2 * j) * sphere)
    return moments


def test_k_norm_noise_has_the_law_it_claims():
    # |z|_K is Gamma(n, scale) distributed: its mean over 2e5 draws has deviation scale sqrt(n)/sqrt(2e5), 6 of them are
    # exceeded with probability below 2e-9. The mean squares of the 8 coordinates are off by more than 2.5 %, their
    # roots, the standard deviations, by more than 1.3 %, with probability below 1e-6 in all, as computed.
    rng = np.random.default_rng(0)
    n, draws, off = 4, 200_000, Fraction(1, 40)
    alarms = [n * _false_alarm(_squared_k_norm_moments(n, body, 20), draws, off) for body in ("box", "ball")]
    assert sum(alarms) <= 1e-6
    for body in ("box", "ball"):
        law = KNorm(2.0, (1.5,) * n, body, unit=2.0**-30)
        z = law.simulate(rng, (draws, n))
        size = np.abs(z).max(axis=1) / 1.5 if body == "box" else np.linalg.norm(z, axis=1) / 1.5
        assert size.mean() == pytest.approx(2.0 * n, abs=6 * 2.0 * 2 / np.sqrt(draws))
        variance = float(_squared_k_norm_moments(n, body, 1)[0]) * (2.0 * 1.5) ** 2
        assert law.standard_deviation**2 == pytest.approx(variance, rel=1e-12 if body == "ball" else 3e-5)
        assert (z**2).mean(axis=0) == pytest.approx(np.full(n, variance), rel=float(off), abs=0)


def test_the_false_alarm_bound_holds_where_the_tail_is_known():
    # squares of normal draws: their sum is chi-square distributed
    moments = [Fraction(math.prod(range(1, 2 * j, 2))) for j in range(1, 21)]
    for n, t in ((1000, 0.2), (1000, 0.3), (200_000, 0.02)):
        exact = chi2.sf(n * (1 + t), n) + chi2.cdf(n * (1 - t), n)
        bound = _false_alarm(moments, n, Fraction(str(t)))
        assert exact <= bound <= 1000 * exact + 1e-9
