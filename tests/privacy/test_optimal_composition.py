"""The parts of optimal composition: laws of randomised responses by enumeration, curves in fifty digits, bisection."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.special import expit

from dpcvx.privacy.optimal_composition import (
    _curve,
    _least,
    _on_a_lattice,
    _responses,
    composed_epsilon,
    integer_slack,
)


def enumerated(epsilons):
    """The law of the sum of the losses, by all outcomes: rounded loss to probability."""
    found = {}
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        losses = [s * e for s, e in zip(signs, epsilons, strict=True)]
        at = round(math.fsum(losses), 9)
        found[at] = found.get(at, 0.0) + math.prod(float(expit(loss)) for loss in losses)
    return found


def law(losses, chances):
    found = {}
    for loss, chance in zip(losses.tolist(), chances.tolist(), strict=True):
        found[round(loss, 9) + 0.0] = found.get(round(loss, 9) + 0.0, 0.0) + chance
    return found


def same(found, epsilons):
    """The same law, but for what no outcome has."""
    found, truth = law(*found), enumerated(epsilons)
    assert set(truth) <= set(found)
    assert found == pytest.approx({at: truth.get(at, 0.0) for at in found}, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("epsilons", [[0.7], [0.3, 0.3, 0.3], [0.2, 1.5, 0.2, 0.05], [1.0, 2.0, 4.0]])
def test_few_responses_have_the_law_of_all_their_outcomes(epsilons):
    losses, chances = _responses(epsilons, 64)
    assert len(losses) == math.prod(epsilons.count(one) + 1 for one in set(epsilons))
    same((losses, chances), epsilons)


@pytest.mark.parametrize("steps", [[1], [3], [1, 1, 1, 1], [1, 3, 2], [5, 2, 2, 7]])
@pytest.mark.parametrize("step", [0.4, 1.7])
def test_responses_on_a_lattice_have_the_law_of_all_their_outcomes(steps, step):
    losses, chances = _on_a_lattice(steps, step)
    assert len(losses) == len(chances) == sum(steps) + 1
    assert losses[0] == -losses[-1] and chances.sum() == pytest.approx(1, rel=1e-14)
    same((losses, chances), [step * one for one in steps])


def test_responses_are_told_apart_as_long_as_there_are_states_for_them():
    few = [0.1, 0.1, 0.1, 0.2]  # (3 + 1)(1 + 1) sums
    same(_responses(few, 8), few)
    same(_responses(few, 7), [0.2] * 4)  # too few for a step: all count as the largest
    many = [0.1 * 1.1**k for k in range(7)]
    same(_responses(many, 128), many)
    for most, count in ((64, 7), (64, 15), (127, 7)):  # fewer than a quarter of the states
        many = [0.1 * 1.01**k for k in range(count)]
        step = math.fsum(many) / (most // 2 - count)
        losses, chances = _responses(many, most)
        assert len(losses) <= most // 2 + 1
        if count == 7:
            same((losses, chances), [math.ceil(one / step) * step for one in many])
        assert losses[-1] == pytest.approx(step * sum(math.ceil(one / step) for one in many), rel=1e-12)
        assert math.fsum(many) <= losses[-1] < math.fsum(many) + count * step
    losses, chances = _responses([0.1 * 1.01**k for k in range(16)], 64)
    assert len(losses) == 17 and losses[-1] == pytest.approx(16 * 0.1 * 1.01**15)


def truth(mu, epsilon):
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("mu", [1e-3, 0.2, 1.0, 2.5, 7.0])
def test_the_curve_of_a_gaussian_is_above_the_truth_and_near_it_on_both_sides_of_zero(mu):
    epsilons = mu * np.array([-9.0, -3.0, -0.7, -1e-3, 0.0, 1e-3, 0.4, 1.0, 3.0, 9.0, 20.0])
    for epsilon, found in zip(epsilons, _curve(mu, epsilons), strict=True):
        exact = truth(mu, float(epsilon))
        room = 4e-16 if epsilon < 0 else 0  # e^epsilon and what is taken from 1 are rounded
        assert exact - room <= mpmath.mpf(float(found)) <= exact * (1 + mpmath.mpf("1e-8")) + room


def test_the_curve_of_pure_privacy_is_that_of_two_answers():
    epsilons = np.array([-800.0, -2.0, -1e-9, 0.0, 0.3, 900.0])
    expected = [1.0, 1 - math.exp(-2.0), 1e-9, 0.0, 0.0, 0.0]
    assert _curve(0, epsilons) == pytest.approx(expected, rel=1e-8, abs=0)
    assert (np.abs(_curve(1e-200, epsilons) - _curve(0, epsilons)) < 1e-12).all()  # e / mu overflows a square


@pytest.mark.parametrize("mu", [1e-12, 1e-9])
def test_the_curve_falls_to_nothing_where_it_has_no_digits(mu):
    assert (_curve(mu, np.array([1e-3, 1.0, 30.0])) == 0).all()


@pytest.mark.parametrize("root", [1e-9, 0.75, 4.999])
def test_bisection_ends_just_above_the_root(root):
    for spent in (lambda e: root - e, lambda e: 0.0 if e >= root else 1.0):
        assert root <= _least(spent, 0.0, 5.0) <= root * (1 + 1.1e-12)
    assert _least(lambda e: 0.5 if e >= root else 1.0, 0.5, 5.0) < root * (1 + 1.1e-12)


def test_noise_on_integers_is_apart_from_continuous_noise_by_201_over_the_square_of_its_scale():
    assert integer_slack(3, 2.0) == 201 * 3 / 4 and integer_slack(7, 100.0) == pytest.approx(0.1407, rel=1e-12)
    assert integer_slack(1, 1.999) == math.inf and integer_slack(0, 2.0) == 0


def test_compositions_at_the_ends_of_delta():
    assert composed_epsilon([0.3, 0.4], 0.0, 0.0) == pytest.approx(0.7, rel=1e-15)
    assert composed_epsilon([0.3, math.inf], 0.7, 0.1) == math.inf
    assert composed_epsilon([], 0.0, 0.1) == composed_epsilon([0.0, 0.01], 0.0, 0.2) == 0.0
    assert composed_epsilon([], 0.3, 0.2) == 0.0
    assert composed_epsilon([1e-250], 0.0, 1e-270) <= 1e-250  # smaller than any high end that is not its own
    with pytest.raises(ValueError, match="Gaussian noise has no epsilon at delta = 0; give delta > 0"):
        composed_epsilon([0.3], 0.1, 0.0)


@pytest.mark.parametrize(("epsilons", "mu"), [([0.3] * 4, 0.0), ([0.3, 1.1], 0.0), ([0.2, 0.5], 0.6), ([], 1.3)])
@pytest.mark.parametrize("delta", [1e-7, 0.05])
def test_compositions_spend_delta_up_to_what_they_round_up(epsilons, mu, delta):
    """1e-10 of delta is kept for rounding, and the bisection ends within 1e-12 of epsilon."""

    def spent(epsilon):
        total = mpmath.mpf(0)
        with mpmath.workdps(50):
            for signs in itertools.product((1, -1), repeat=len(epsilons)):
                losses = [s * mpmath.mpf(e) for s, e in zip(signs, epsilons, strict=True)]
                chance = mpmath.fprod(1 / (1 + mpmath.exp(-loss)) for loss in losses)
                left = mpmath.mpf(epsilon) - mpmath.fsum(losses)
                total += chance * (truth(mu, left) if mu else max(mpmath.mpf(0), 1 - mpmath.exp(left)))
            return total

    found = composed_epsilon(epsilons, mu, delta)
    assert spent(found) <= delta * (1 - mpmath.mpf("0.9e-10"))
    assert spent(found * (1 - mpmath.mpf("1.1e-12"))) >= delta * (1 - mpmath.mpf("1e-9"))
