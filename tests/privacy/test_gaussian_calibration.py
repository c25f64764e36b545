"""Gaussian calibration: against fifty digits, never above the truth, and OpenDP's own conversion."""

import math

import mpmath
import numpy as np
import pytest

from dpcvx.privacy.gaussian_calibration import analytic_mu, zcdp_epsilon, zcdp_rho

EPSILONS = (1e-6, 1e-5, 1e-3, 0.03, 0.3, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0)
DELTAS = (1e-12, 1e-9, 1e-6, 1e-3, 0.03, 0.3, 0.5)


def _delta(mu, epsilon):
    """The smallest delta of the Gaussian mechanism, in fifty digits and with room for what cancels."""
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


def _reference(epsilon, delta, near):
    """The root of delta(mu) = delta by Newton's method from a point near it; the derivative is phi(a)."""
    with mpmath.workdps(60):
        mu = mpmath.mpf(near)
        for _ in range(60):
            step = (_delta(mu, epsilon) - mpmath.mpf(delta)) / mpmath.npdf(epsilon / mu - mu / 2)
            mu -= step
            if abs(step) < mu * mpmath.mpf(10) ** -52:
                break
        assert abs(_delta(mu, epsilon) / mpmath.mpf(delta) - 1) < mpmath.mpf(10) ** -48
        return mu


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_mu_agrees_with_fifty_digits_and_is_never_above(epsilon, delta):
    mu = analytic_mu(epsilon, delta)
    shortfall = 1 - mpmath.mpf(mu) / _reference(epsilon, delta, mu)
    assert 0 <= shortfall <= 1e-10


def test_mu_is_never_above_at_random_parameters():
    rng = np.random.default_rng(4)
    for _ in range(150):
        epsilon, delta = 10 ** rng.uniform(-6, 2), 10 ** rng.uniform(-12, math.log10(0.5))
        mu = analytic_mu(epsilon, delta)
        assert _delta(mu, epsilon) <= mpmath.mpf(delta) < _delta(mpmath.mpf(mu) * (1 + mpmath.mpf(10) ** -10), epsilon)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e-300, 1e-12), (1e-9, 1e-15), (1e4, 1e-6), (1.0, 1e-300), (1.0, 0.999), (1e-6, 1 - 1e-6)]
)
def test_mu_is_never_above_beyond_the_usual_range(epsilon, delta):
    mu = analytic_mu(epsilon, delta)
    assert 0 < _delta(mu, epsilon) <= mpmath.mpf(delta) < _delta(mpmath.mpf(mu) * (1 + mpmath.mpf(10) ** -6), epsilon)


def test_mu_grows_with_epsilon_and_delta():
    table = np.array([[analytic_mu(epsilon, delta) for delta in DELTAS] for epsilon in EPSILONS])
    assert np.all(np.diff(table, axis=0) > 0) and np.all(np.diff(table, axis=1) > 0)


@pytest.mark.parametrize("epsilon", [pytest.param(1e-4, marks=pytest.mark.slow), 0.1, 1.0, 8.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.5])
def test_rho_is_certified_by_opendp_and_a_larger_one_is_not(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_epsilon(rho, delta) <= epsilon < zcdp_epsilon(rho * (1 + 1e-6), delta)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6])
def test_zcdp_costs_a_few_percent_of_noise_above_the_exact_gaussian(epsilon, delta):
    excess = analytic_mu(epsilon, delta) / math.sqrt(2 * zcdp_rho(epsilon, delta)) - 1
    print(f"epsilon {epsilon}, delta {delta}: sigma {100 * excess:.2f} % above the analytic Gaussian")
    assert 0.045 <= excess <= 0.09  # measured 4.8 to 8.7 %; it grows with delta and falls with epsilon


def test_opendp_charges_a_gaussian_release_what_rho_says():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    rho = zcdp_rho(1.0, 1e-6)
    scale = 1000.0 / math.sqrt(2 * rho) * (1 + 1e-12)
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=3), dp.l2_distance(T="f64")
    release = dp.m.make_gaussian(*space, scale=scale)
    assert release.map(1000.0) <= rho
    assert dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(release), delta=1e-6).map(1000.0) <= (1.0, 1e-6)


def test_epsilon_of_zcdp_is_below_the_closed_form_and_above_the_exact_law():
    for rho in (1e-4, 0.01, 0.5, 3.0):
        for delta in (1e-9, 1e-3):
            epsilon = zcdp_epsilon(rho, delta)
            assert epsilon <= rho + 2 * math.sqrt(-rho * math.log(delta))
            assert analytic_mu(epsilon, delta) >= math.sqrt(2 * rho) * (1 - 1e-9)
    assert zcdp_epsilon(0.0, 1e-6) == 0


@pytest.mark.parametrize("function", [analytic_mu, zcdp_rho])
@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        (0.0, 0.1, "epsilon must be a finite positive number, but 0.0 came."),
        (-1.0, 0.1, "epsilon must be"),
        (math.nan, 0.1, "epsilon must be"),
        (math.inf, 0.1, "epsilon must be"),
        (1.0, 0.0, "delta must lie strictly between 0 and 1, but 0.0 came."),
        (1.0, 1.0, "delta must lie"),
        (1.0, math.nan, "delta must lie"),
    ],
)
def test_parameters_are_checked(function, epsilon, delta, words):
    with pytest.raises(ValueError, match=words):
        function(epsilon, delta)


def test_rho_and_its_delta_are_checked():
    for rho in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="rho must be a finite number that is not negative"):
            zcdp_epsilon(rho, 0.1)
    with pytest.raises(ValueError, match="delta must lie"):
        zcdp_epsilon(1.0, 2.0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("delta", [1e-30, 1e-6, 0.5])
@pytest.mark.parametrize("epsilon", [2e4, 1e5, 1e6, 1e9, 1e12, 1e300])
def test_any_epsilon_has_a_rho(epsilon, delta):
    """Above about 1e5 OpenDP's conversion overflows, and its own exception came out of the plan."""
    rho = zcdp_rho(epsilon, delta)
    assert 0 < zcdp_epsilon(rho, delta) <= epsilon
    loose = (math.sqrt(epsilon - math.log(delta)) - math.sqrt(-math.log(delta))) ** 2
    assert rho >= loose * (1 - 1e-6)  # never worse than the conversion that always holds
    assert rho <= analytic_mu(epsilon, delta) ** 2 / 2 * (1 + 1e-9)  # which nothing exceeds


def test_the_conversions_meet_where_opendp_overflows():
    """epsilon grows with rho across the border, and the looser conversion is a little above."""
    rhos = np.geomspace(1e2, 1e7, 20)
    epsilons = [zcdp_epsilon(rho, 1e-6) for rho in rhos]
    assert np.all(np.diff(epsilons) > 0)
    for rho, epsilon in zip(rhos, epsilons, strict=True):
        assert rho < epsilon <= (rho + 2 * math.sqrt(rho * math.log(1e6))) * (1 + 1e-9)


def test_an_epsilon_without_multiples_is_refused():
    with pytest.raises(ValueError, match="at most 1e\\+300"):
        zcdp_rho(1.7e308, 1e-6)
