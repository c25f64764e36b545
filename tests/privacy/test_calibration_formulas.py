"""Calibrations against their formulas: conversions of Gaussian noise, and every number of a plan."""

import math
import sys

import mpmath
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses
from scipy.optimize import minimize_scalar

from dpcvx.privacy import gaussian_calibration, plan
from dpcvx.privacy.counters import BinaryTree, SmoothTree, Toeplitz
from dpcvx.privacy.gaussian_calibration import (
    analytic_mu,
    gaussian_delta,
    gaussian_epsilon,
    log_delta_above,
    zcdp_epsilon,
    zcdp_rho,
)

# conversions


def curve(mu, epsilon):
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_the_curve_of_a_gaussian_and_its_inverse_agree_with_fifty_digits(mu):
    for epsilon in (0.0, 0.3, 2.0, 9.0):
        exact = float(curve(mu, epsilon))
        assert gaussian_delta(mu, epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-15)
        if epsilon and exact > 1e-8:
            assert gaussian_epsilon(mu, exact) == pytest.approx(epsilon, rel=1e-6)
    assert gaussian_epsilon(mu, float(curve(mu, 0)) * 1.01) == 0.0
    assert gaussian_epsilon(0.0, 1e-9) == 0.0


def cheapest(rho, delta):
    """The least epsilon over the orders alpha > 1 (Canonne, Kamath and Steinke 2020, Proposition 12)."""

    def at(log):
        less = math.exp(log)  # alpha - 1
        return (1 + less) * rho + (-math.log(delta * less) - (1 + less) * math.log1p(1 / less)) / less

    centre = math.log(math.sqrt(-math.log(delta) / rho))
    return minimize_scalar(at, bounds=(centre - 3, centre + 3), method="bounded", options={"xatol": 1e-9}).fun


@pytest.mark.parametrize("rho", [0.05, 1.0, 12.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_epsilon_of_zcdp_is_the_least_over_all_orders(rho, delta):
    assert zcdp_epsilon(rho, delta) == pytest.approx(cheapest(rho, delta), rel=1e-6)
    assert zcdp_epsilon(rho, delta) >= cheapest(rho, delta) * (1 - 1e-9)


def test_rho_is_converted_at_a_distance_that_costs_no_less(monkeypatch):
    """The map of OpenDP is asked at the least distance whose price is rho; here one that rounds down a little."""
    asked = []

    def profile(distance, delta):
        asked.append(distance)
        return 7.0

    monkeypatch.setattr(gaussian_calibration, "_opendp_maps", lambda: (lambda d: d * d / 2 * (1 - 3e-16), profile))
    gaussian_calibration._zcdp_epsilon.cache_clear()
    try:
        for rho in (0.3, 1.7, 1e-8):
            assert zcdp_epsilon(rho, 1e-3) == 7.0
            assert asked[-1] ** 2 / 2 * (1 - 3e-16) >= rho
            assert asked[-1] <= math.sqrt(2 * rho) * (1 + 1e-15)
    finally:
        gaussian_calibration._zcdp_epsilon.cache_clear()


@pytest.mark.parametrize("rho", [1e-12, 0.3, 1e9])
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.999])
def test_the_conversion_that_always_holds_is_rounded_up(rho, delta):
    found = gaussian_calibration._loose_epsilon(rho, delta)
    with mpmath.workdps(50):
        exact = mpmath.mpf(rho) + 2 * mpmath.sqrt(-mpmath.mpf(rho) * mpmath.log(mpmath.mpf(delta)))
        assert exact * (1 + mpmath.mpf("9e-15")) < found < exact * (1 + mpmath.mpf("1.1e-14"))


def test_delta_is_at_most_one_where_nothing_is_known_of_it():
    assert log_delta_above(100.0, 1.0) == 0.0  # below 1 by less than numbers tell
    assert log_delta_above(1.0, 1e17) == 0.0  # no digit is left of the difference
    for mu in (62.0, 59.0):  # on either side of where it is no longer computed
        assert -1e-11 < log_delta_above(mu, 1.0) <= 1e-11


def test_rho_is_the_largest_up_to_rounding_where_mu_is_the_first_guess_and_elsewhere():
    for epsilon, delta in ((0.2, 1e-5), (40.0, 1e-9), (2.0, 0.3)):
        rho = zcdp_rho(epsilon, delta)
        assert zcdp_epsilon(rho, delta) <= epsilon < zcdp_epsilon(rho * (1 + 1e-10), delta)


def test_an_epsilon_of_which_multiples_are_infinite_is_refused():
    assert analytic_mu(1e300, 0.5) > 1e149
    with pytest.raises(ValueError, match=r"epsilon must be at most 1e\+300, but 1\.5e\+300 came"):
        analytic_mu(1.5e300, 0.5)


# plans


COUNTERS = {"smooth": SmoothTree, "tree": BinaryTree, "toeplitz": Toeplitz}
CASES = [("laplace", "smooth"), ("laplace", "tree"), ("gaussian", "smooth"), ("gaussian", "toeplitz")]


@pytest.mark.parametrize(("noise", "counter"), CASES)
@pytest.mark.parametrize("people", [1, 3])
def test_every_number_of_a_plan_is_that_of_its_counter_and_its_law(noise, counter, people):
    delta = 0.0 if noise == "laplace" else 1e-6
    Y, kind = box_losses(5, -1.0, 2.0), COUNTERS[counter]
    made = plan(Y, 100, 0.5, delta, noise=noise, counter=counter, rounds_per_person=people)
    step, units = made.grid.step, made.sensitivity.units
    assert step == 2.0**-29  # of losses up to 2
    assert made.sensitivity.value == pytest.approx(15 if noise == "laplace" else math.sqrt(45), rel=1e-6)
    assert made.moved == kind.moved(100, units, people, 5, 2 / step + 1)
    assert (made.touches, made.terms) == tuple(kind.structure(100, made.law.norm))
    assert made.draws == 5 * kind.noises_per_round(100, made.law.norm)
    assert made.prefix_deviation == made.law.standard_deviation * step * kind.deviation(100, made.law.norm)
    for items in (1, 7, 99):
        expected = made.law.standard_deviation * step * kind.deviation(100, made.law.norm, items)
        assert made.deviation(items) == (expected if counter == "toeplitz" else made.prefix_deviation)
    if noise == "laplace":
        assert made.law.scale == pytest.approx(made.touches * people * units / 0.5, rel=1e-9)
    else:
        assert made.law.scale == pytest.approx(made.moved * math.sqrt(made.touches / (2 * made.rho)), rel=1e-9)
        assert made.rho == zcdp_rho(0.5, 1e-6)
    assert (made.epsilon, made.delta, made.horizon, made.notes) == (0.5, delta, 100, ())
    assert made.noise.deviation == made.prefix_deviation and made.noise.constant == (counter != "toeplitz")


@pytest.mark.parametrize("people", [1, 5])
def test_the_grid_is_coarse_enough_for_the_noise_of_all_the_rounds_of_a_person(people):
    """64 scales are 2^58 steps at most: D k/epsilon is what a person with k rounds needs at one release."""
    made = plan(box_losses(1, 0.0, 1.0), 8, 2.0**-30, noise="laplace", counter="smooth", rounds_per_person=people)
    assert made.grid.step == 2.0 ** math.ceil(math.log2(made.touches * people * 2.0**-22))


@pytest.mark.parametrize("horizon", [2, 4, 1000])
@pytest.mark.parametrize("loss_set", [box_losses(3, 0.0, 2.0), ball_losses(3)])
def test_the_noise_of_the_paper_has_the_scale_that_is_printed_there(horizon, loss_set):
    """|Y|_1 log T/epsilon, and |Y|_2 log T log(log T/delta)/epsilon, with logarithms of T to the base 2."""
    log = math.log2(horizon)
    made = plan(loss_set, horizon, 0.5, calibration="paper")
    assert made.law.scale * made.grid.step == pytest.approx(float(loss_set.radius(1)) * log / 0.5, rel=1e-9)
    assert made.epsilon == pytest.approx(made.touches * made.moved / made.law.scale, rel=1e-9)
    assert made.notes == ("the scale is the paper's; epsilon is what that scale gives",)
    made = plan(loss_set, horizon, 0.5, 1e-6, counter="tree", calibration="paper")
    scale = float(loss_set.radius(2)) * log * math.log(log / 1e-6) / 0.5
    assert made.law.scale * made.grid.step == pytest.approx(scale, rel=1e-9)
    assert made.epsilon == pytest.approx(zcdp_epsilon(made.touches * (made.moved / made.law.scale) ** 2 / 2, 1e-6))


def test_noise_of_the_paper_that_is_too_wide_is_refused(monkeypatch):
    module = sys.modules["dpcvx.privacy.plan"]
    made = plan(box_losses(2), 4, 0.5, calibration="paper")
    monkeypatch.setattr(module, "_WIDEST", made.law.scale)
    with pytest.raises(OverflowError, match="The paper's noise of scale 8 does not fit into 64-bit integers"):
        plan(box_losses(2), 4, 0.5, calibration="paper")
    monkeypatch.setattr(module, "_WIDEST", made.law.scale * (1 + 1e-15))
    assert plan(box_losses(2), 4, 0.5, calibration="paper") == made


def test_one_round_has_no_prefix_that_depends_on_a_loss():
    made = plan(box_losses(2), 1, 1.0, noise="laplace", counter="smooth")
    assert (made.terms == 0) == (made.noise is None)
    assert np.isfinite(made.prefix_deviation)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_one_round_costs_nothing_by_the_paper_and_neither_do_losses_that_nobody_moves(delta):
    assert plan(box_losses(2), 1, 0.5, delta, counter="tree", calibration="paper").epsilon == 0
    for counter in ("smooth", "toeplitz" if delta else "tree"):
        made = plan(box_losses(2, 1.0, 1.0), 8, 0.5, delta, counter=counter)
        assert made.moved == made.sensitivity.units == 0 and made.epsilon == 0.5
