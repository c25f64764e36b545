"""The linear minimiser over entropy and Kullback-Leibler balls, at its extremes."""

import numpy as np
import pytest
from scipy.special import rel_entr

import decision_sets as ds
from decision_sets.entropies import cheapest_distribution

CENTER = np.array([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_minimiser_lies_on_the_sphere_whatever_the_scale_of_the_costs(scale):
    costs = scale * np.random.default_rng(1).normal(size=(20, 4))
    for c in costs:
        x = cheapest_distribution(CENTER, 0.3, c)
        assert x.sum() == pytest.approx(1, abs=1e-15)
        assert rel_entr(x, CENTER).sum() == pytest.approx(0.3, abs=1e-12)


def test_a_large_ball_is_the_whole_simplex():
    assert cheapest_distribution(CENTER, 10.0, np.array([3.0, 1.0, 2.0, 4.0])).tolist() == [0, 1, 0, 0]


def test_tied_costs_share_as_the_center_does():
    assert cheapest_distribution(CENTER, 2.0, np.array([0.0, 0.0, 1.0, 1.0])) == pytest.approx([1 / 3, 2 / 3, 0, 0])


def test_nearly_tied_costs_stay_inside():
    x = cheapest_distribution(CENTER, 1.4, np.array([0.0, 1e-14, 1.0, 1.0]))
    assert rel_entr(x, CENTER).sum() <= 1.4 + 1e-12


def test_an_entropy_ball_is_a_divergence_ball_around_the_uniform_distribution():
    around_uniform, by_entropy = ds.kl_ball(np.full(4, 0.25), np.log(4) - 1.0), ds.entropy_ball(4, 1.0)
    for c in np.random.default_rng(2).normal(size=(10, 4)):
        assert by_entropy.support(c) == pytest.approx(around_uniform.support(c), abs=1e-9)
        assert around_uniform.contains(by_entropy.argmin(c), 1e-9)
