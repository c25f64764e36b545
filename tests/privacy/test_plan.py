"""Private sums before they run: sensitivity of what is really summed, calibration, certificates of groups."""

import math
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from varied_losses import LOSS_SETS

from dpcvx import LossSet
from dpcvx.privacy import PrivateSums, compose, plan
from dpcvx.privacy.certificate_words import counted
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon
from dpcvx.privacy.neighbours import RELATIONS
from dpcvx.privacy.noise import Laplace
from dpcvx.privacy.sensitivity import Grid, changed_units, choose_grid, sensitivity


@pytest.mark.parametrize("name", LOSS_SETS)
@pytest.mark.parametrize("neighbours", ["replace", "zero-out"])
@pytest.mark.parametrize("exponent", [-3, -6, -20])
def test_rounded_losses_never_move_further_than_the_certified_sensitivity(name, neighbours, exponent):
    Y, grid, rng = LOSS_SETS[name], Grid(exponent), np.random.default_rng(1)
    one, two = (sensitivity(Y, norm, RELATIONS[neighbours], grid) for norm in (1, 2))
    ends = [Y.argmin(rng.standard_normal(4)) for _ in range(60)]
    losses = np.array([*ends, *(Y.clip(Y.center + rng.standard_normal(4)) for _ in range(60))])
    units = grid.round(losses, one.toward_zero)
    others = units if neighbours == "replace" else np.zeros((1, 4), dtype=np.int64)
    difference = (units[:, None] - others[None]).reshape(-1, 4)
    assert np.abs(difference).sum(axis=1).max() <= one.units
    assert np.linalg.norm(difference, axis=1).max() <= two.units
    assert isinstance(one.units, int)


def test_boxes_and_centered_balls_pay_nothing_for_rounding():
    grid = Grid(-10)
    assert sensitivity(LOSS_SETS["unit box"], 1, RELATIONS["replace"], grid).value == 4.0
    assert sensitivity(LOSS_SETS["ball"], 2, RELATIONS["replace"], grid).value == pytest.approx(1.4, rel=1e-8)
    general = sensitivity(LOSS_SETS["simplex"], 1, RELATIONS["replace"], grid)
    assert general.value == pytest.approx(2 + 4 * 2**-10, abs=2**-10)


def test_the_grid_excludes_overflow():
    Y = LOSS_SETS["unit box"]
    grid = choose_grid(Y, 2**20, 100.0)
    assert 2**20 / grid.step < 2**58
    with pytest.raises(OverflowError, match="64-bit"):
        choose_grid(Y, 2**59, 1.0)


def test_euclidean_lengths_of_units_are_rounded_up():
    for units in np.random.default_rng(0).integers(0, 2**20, (200, 5)):
        found = changed_units(units.astype(float), 1e9, -np.ones(5), np.ones(5), 1.0, 2)
        true = sum(int(w) ** 2 for w in units)
        assert true <= Fraction(found) ** 2 <= true * (1 + Fraction(1, 10**14))
    assert changed_units(np.zeros(5), 1e9, -np.ones(5), np.ones(5), 1.0, 2) == 0


@pytest.mark.parametrize("horizon", [1, 2, 5, 8, 1000, 1024])
@pytest.mark.parametrize("name", ["unit box", "ball", "skew polytope"])
def test_the_plan_pays_for_every_release(horizon, name):
    Y = LOSS_SETS[name]
    for counter in ("tree", "smooth"):
        p = plan(Y, horizon, 0.7, counter=counter, noise="laplace")
        assert p.touches * p.sensitivity.units / p.law.scale <= 0.7
        assert p.touches * p.sensitivity.units / p.law.scale >= 0.7 * (1 - 1e-9) or horizon == 1
        g = plan(Y, horizon, 0.7, 1e-6, counter=counter)
        assert g.touches * (g.sensitivity.units / g.law.scale) ** 2 / 2 <= g.rho
    assert plan(Y, horizon, 0.7).counter.key == "smooth"
    assert plan(Y, horizon, 0.7, 1e-6).counter.key == "toeplitz"


def test_default_deviations_are_those_of_the_theory():
    Y = LOSS_SETS["unit box"]
    assert plan(Y, 2**20, 1.0, counter="tree").prefix_deviation / 4 == pytest.approx(126.5, rel=1e-3)
    assert plan(Y, 2**20, 1.0, noise="laplace").prefix_deviation / 4 == pytest.approx(44.1, rel=1e-3)
    with_k = plan(Y, 1024, 1.0, rounds_per_person=3)
    assert with_k.law.scale == pytest.approx(3 * plan(Y, 1024, 1.0).law.scale)


def test_the_paper_is_short_by_two_for_symmetric_losses_and_says_so():
    l = cp.Variable(3, name="l")  # noqa: E741
    symmetric = LossSet(l, [cp.abs(l) <= 1])
    p = plan(symmetric, 1024, 1.0, calibration="paper")
    assert p.epsilon == pytest.approx(2.0, rel=1e-9)
    assert plan(LossSet(l, [l >= 0, l <= 1]), 1024, 1.0, calibration="paper").epsilon == pytest.approx(1.0, rel=1e-9)
    assert plan(symmetric, 1000, 1.0, calibration="paper").epsilon > 2.0  # levels is an integer, log T is not
    zero_out = plan(symmetric, 1024, 1.0, calibration="paper", neighbours="zero-out")
    assert zero_out.epsilon == pytest.approx(1.0, rel=1e-9)
    gaussian = plan(symmetric, 1024, 1.0, 1e-6, counter="tree", calibration="paper")
    assert gaussian.epsilon < 1  # two to ten times too much noise there
    sums = PrivateSums(symmetric, 1024, 1.0, calibration="paper")
    assert sums.certificate.epsilon == pytest.approx(2.0, rel=1e-9) and "paper" in str(sums.certificate)


def test_whole_numbers_may_be_numpy_integers():
    p = plan(LOSS_SETS["unit box"], np.int64(100), 1.0, counter="tree", rounds_per_person=np.int32(2))
    assert p.horizon == 100 and p.touches == 7
    with pytest.raises(ValueError, match="horizon"):
        plan(LOSS_SETS["unit box"], 1e2, 1.0)


def test_long_horizons_are_planned_at_once():
    p = plan(LOSS_SETS["unit box"], 2**36, 1.0)
    assert math.comb(p.touches + p.terms, p.terms) >= 2**36


@pytest.mark.parametrize("exponent", [20, 25, 28, 36, 45])
def test_the_default_gaussian_counter_has_the_least_noise_at_every_horizon(exponent):
    loss = cp.Variable(2, name="loss")
    Y = LossSet(loss, [cp.abs(loss) <= 1])
    default = plan(Y, 2**exponent, 1.0, 1e-6)
    assert default.prefix_deviation <= plan(Y, 2**exponent, 1.0, 1e-6, counter="smooth").prefix_deviation
    if exponent <= 25:
        assert default.counter.key == "toeplitz"


@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("counter", ["smooth", "tree"])
def test_the_certified_scale_is_that_of_the_formula(counter, people):
    """k D_1/epsilon, and D_2 sqrt(k/(2 rho)): of k releases that a person moves by D in each of the rounds."""
    Y = LOSS_SETS["unit box"]
    pure = PrivateSums(Y, 64, 0.5, counter=counter, noise="laplace", rounds_per_person=people).certificate
    assert pure.scale == pytest.approx(pure.releases_per_loss * people * 4 / 0.5, rel=1e-5)
    assert [Laplace.per_unit(count, 0.5, 0.0) for count in (0, 1, 3)] == [2.0, 2.0, 6.0]  # of none the scale of one
    gauss = PrivateSums(Y, 64, 0.5, 1e-6, counter=counter, rounds_per_person=people).certificate
    assert gauss.scale == pytest.approx(people * 2 * math.sqrt(gauss.releases_per_loss / (2 * gauss.rho)), rel=1e-5)


def test_certificates_compose_and_speak_for_groups():
    Y = LOSS_SETS["unit box"]
    pure, gauss = PrivateSums(Y, 64, 0.5).certificate, PrivateSums(Y, 64, 0.5, 1e-6).certificate
    assert pure.group(3).epsilon == 1.5 and pure.group(3).rounds_per_person == 3
    assert 1.5 <= gauss.group(3).epsilon < 3 and gauss.group(3).delta == gauss.delta
    both = compose(pure, gauss)
    assert 0.5 < both.epsilon < 1.0 and both.delta == 1e-6 and both.secure
    with pytest.raises(ValueError, match="neighbouring"):
        compose(pure, PrivateSums(Y, 64, 0.5, neighbours="zero-out").certificate)
    with pytest.raises(ValueError, match="rounds per person"):
        compose(pure, pure.group(2))
    assert pure.to_dict()["epsilon"] == 0.5 and "<table>" in pure._repr_html_()
    assert PrivateSums(Y, 64, 0.5, rounds_per_person=4).certificate.protects.endswith("4 rounds")


@pytest.mark.parametrize("k", [1, 3])
def test_a_group_is_a_person_in_as_many_times_the_rounds(k):
    """A certificate that keeps the rounds of one person claims the same privacy for more rounds than it holds for."""
    Y = LOSS_SETS["unit box"]
    pure, gauss = (PrivateSums(Y, 64, 0.5, delta, rounds_per_person=2).certificate for delta in (0.0, 1e-6))
    unstated = replace(gauss, rho=None)
    assert [one.group(k).rounds_per_person for one in (pure, gauss, unstated)] == [2 * k] * 3
    assert pure.group(k).epsilon == k * pure.epsilon
    assert gauss.group(k).rho == k * k * gauss.rho
    assert unstated.group(k).epsilon == k * gauss.epsilon
    assert unstated.group(k).delta == pytest.approx(k * np.exp((k - 1) * gauss.epsilon) * 1e-6, rel=1e-12)
    assert f"{2 * k} rounds" in gauss.group(k).protects


def test_a_group_so_large_that_nothing_is_promised_has_a_delta_of_1():
    unstated = replace(PrivateSums(LOSS_SETS["unit box"], 64, 10.0, 1e-6).certificate, rho=None)
    assert unstated.group(2).delta == pytest.approx(2 * math.exp(10) * 1e-6, rel=1e-12)
    assert (unstated.group(500).epsilon, unstated.group(500).delta) == (5000.0, 1.0)  # e^4990 is no number
    for wrong in (0, 1.5):
        with pytest.raises(ValueError, match=f"k must be a whole number of at least 1, not {wrong}"):
            unstated.group(wrong)


@pytest.mark.parametrize("count", [1, 3])
def test_a_learner_continued_from_older_checkpoints_pays_for_every_continuation(count):
    """Pure epsilon, and delta without rho, add up; with rho that adds up, and delta stays what it was."""
    Y, times = LOSS_SETS["unit box"], count + 1
    pure, gauss = (PrivateSums(Y, 64, 0.5, delta).certificate for delta in (0.0, 1e-6))
    paid = pure.after_rollbacks(count)
    assert (paid.epsilon, paid.delta, paid.rho) == (times * 0.5, 0.0, None)
    paid = gauss.after_rollbacks(count)
    assert paid.rho == times * gauss.rho and paid.delta == 1e-6
    assert paid.epsilon == zcdp_epsilon(times * gauss.rho, 1e-6) > gauss.epsilon
    paid = replace(gauss, rho=None).after_rollbacks(count)
    assert (paid.epsilon, paid.delta, paid.rho) == (times * gauss.epsilon, times * 1e-6, None)
    assert replace(gauss, rho=None, delta=0.9).after_rollbacks(count).delta == 1.0
    assert f"continued {count} times" in str(paid)


def test_a_certificate_counts_in_words():
    assert [counted(number, "round") for number in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_one_round_shows_nothing_under_the_scale_of_the_paper_either(delta):
    """Its action rests on no loss; log T is 0 there, and so is the noise."""
    loss = cp.Variable(3, name="loss")
    alone = plan(LossSet(loss, [cp.abs(loss) <= 1]), 1, 1.0, delta, counter="tree", calibration="paper")
    assert alone.epsilon == 0
