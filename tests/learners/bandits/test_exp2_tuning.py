"""Rates and bounds of Exp2 are their formulas, at numbers of which no two are alike and none is 1."""

import math
from dataclasses import replace

import mpmath
import pytest

from dpcvx.learners.bandits.exp2_tuning import TUNINGS, Game

GAME = Game(log_count=3.1, rank=5, reach=7.3, magnitude=1.7, noise_scale=2.3, horizon=10**7, regret=2.9)
L, N, REACH, M, LAM, T, E = 3.1, 5, 7.3, 1.7, 2.3, 10**7, 2.9
CUT = M + 2 * LAM * math.log(T)
SPREAD = M**2 + 2 * LAM**2 * (L + math.log(T))


def moments(eta, gamma):
    return L / eta + eta * N * T * (M**2 + 7 / 3 * LAM**2) / (1 - gamma) + 2 * gamma * M * T


def rigorous(eta, gamma):
    return L / eta + eta * N * T * (M**2 + 2 * LAM**2) / (1 - gamma) + 2 * gamma * M * T + 2 * M


def paper(eta, gamma):
    return math.inf


def sharp(eta, gamma):
    """In thirty digits."""
    with mpmath.workdps(30):
        k = mpmath.mpf(eta) * REACH / gamma
        phi = (mpmath.exp(k * M) - 1 - k * M) / (k * M) ** 2
        second = phi * M**2 + mpmath.exp(k * M) * LAM**2 / (1 - (k * LAM) ** 2)
        return float(L / eta + eta * N * T * second + gamma * E * T)


PROPORTIONS = {
    "moments": (moments, N * (M**2 + 7 / 3 * LAM**2) + 4 * M * REACH * LAM, 2 * REACH * LAM, 0.5),
    "rigorous": (rigorous, 2 * N * (M**2 + 2 * LAM**2) + 2 * M * REACH * CUT, REACH * CUT, 0.5),
    "paper": (paper, 2 * N * SPREAD, N * math.sqrt(SPREAD), 1.0),
}


@pytest.mark.parametrize("name", PROPORTIONS)
def test_rates_in_proportion_and_their_bounds_are_the_formulas(name):
    bound, cost, proportion, most = PROPORTIONS[name]
    tuning = TUNINGS[name]
    eta, gamma = tuning.rates(GAME, None)
    assert eta == pytest.approx(math.sqrt(L / (T * cost)), rel=1e-12)
    assert gamma == pytest.approx(proportion * eta, rel=1e-12) and gamma < most
    assert tuning.bound(GAME, eta, gamma) == pytest.approx(bound(eta, gamma), rel=1e-12)
    assert math.isinf(tuning.bound(GAME, eta, gamma * (1 - 1e-8)))  # exploration does not suffice
    assert f"needs exploration of {gamma:.4g}" in tuning.reason(GAME, eta, gamma / 2) or name == "paper"
    short = replace(GAME, horizon=2)
    eta, gamma = tuning.rates(short, None)
    assert gamma == most and eta == pytest.approx(most / tuning._mixing_per_rate(short), rel=1e-12)
    assert tuning.rates(GAME, 3.0) == (3.0, most)


@pytest.mark.parametrize(("horizon", "rounds"), [(1, 2), (2, 2), (3, 3), (10**7, 10**7)])
def test_noise_is_cut_at_twice_its_scale_times_the_logarithm_of_the_rounds(horizon, rounds):
    assert replace(GAME, horizon=horizon).cut == pytest.approx(M + 2 * LAM * math.log(rounds), rel=1e-14)


def test_the_sharp_bound_is_its_formula_and_no_rate_has_a_much_smaller_one():
    tuning = TUNINGS["sharp"]
    eta, gamma = tuning.rates(GAME, None)
    found = tuning.bound(GAME, eta, gamma)
    assert found == pytest.approx(sharp(eta, gamma), rel=1e-12)
    tried = [sharp(eta * 1.05**i, gamma * 1.05**j) for i in range(-20, 21) for j in range(-20, 21) if j >= i - 5]
    assert found <= min(tried) * (1 + 1e-3)
    own = tuning.rates(GAME, eta / 3)
    assert own[0] == eta / 3 and tuning.bound(GAME, *own) <= min(sharp(eta / 3, gamma * 1.1**j) for j in range(-9, 9))
    edge = replace(GAME, reach=8.0, noise_scale=2.0)  # with k lam = 1, exactly
    assert math.isinf(tuning.bound(edge, 2.0**-10, 2.0**-6)) and math.isinf(tuning.bound(edge, 2.0**-10, 0.0))
    assert math.isfinite(tuning.bound(edge, 2.0**-10, 2.0**-6 * (1 + 1e-9)))
    assert "too large for exploration of 0.01562" in tuning.reason(edge, 2.0**-10, 2.0**-6)


@pytest.mark.parametrize("s", [1e-9, 9e-5, 1.1e-4, 0.5, 49.9])
def test_the_second_moment_without_noise_is_never_below_the_truth(s):
    quiet = replace(GAME, noise_scale=0.0, regret=0.0)
    eta = 1e-3
    found = (TUNINGS["sharp"].bound(quiet, eta, eta * REACH * M / s) - L / eta) / (eta * N * T * M**2)
    with mpmath.workdps(40):
        true = float((mpmath.exp(mpmath.mpf(s)) - 1 - s) / mpmath.mpf(s) ** 2)
    assert true * (1 - 1e-9) <= found <= true * (1 + 1e-5)
    assert math.isinf(TUNINGS["sharp"].bound(quiet, eta, eta * REACH * M / 50.1))


@pytest.mark.parametrize("name", TUNINGS)
@pytest.mark.parametrize("nothing", [{"log_count": 0.0}, {"rank": 0}, {"magnitude": 0.0, "noise_scale": 0.0}])
def test_where_nothing_is_to_choose_or_to_lose_no_round_explores(name, nothing):
    game = replace(GAME, **nothing)
    assert TUNINGS[name].rates(game, None) == (1.0, 0.0) and TUNINGS[name].rates(game, 0.3) == (0.3, 0.0)
    assert TUNINGS[name].bound(game, 0.3, 0.0) == (math.inf if name == "paper" else 0.0)
