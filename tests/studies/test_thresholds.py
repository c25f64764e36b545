"""When privacy is free: thresholds of the counters against each other and against the theory."""

from functools import partial

import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import FTRL
from dpcvx.experiments.losses import altdrift
from dpcvx.experiments.simulation import simulate
from dpcvx.studies.thresholds import free_epsilon, mean_maximum


@pytest.mark.parametrize("horizon", [pytest.param(2**14, marks=pytest.mark.slow), 2**20])
def test_the_default_counter_is_free_at_a_much_smaller_epsilon_than_the_tree(horizon):
    X, Y = ds.simplex(10), box_losses(10)
    tree, laplace, k_norm, gaussian = (
        free_epsilon(partial(FTRL, X, Y, horizon, regularizer="entropy", seed=0, **options))
        for options in ({"counter": "tree"}, {"noise": "laplace"}, {}, {"delta": 1e-6})
    )
    assert tree / laplace >= 2.5 and laplace / k_norm >= 2
    assert gaussian < min(laplace / 3, k_norm)
    if horizon == 2**20:
        assert k_norm <= 0.32 and laplace == pytest.approx(0.618, rel=0.02)


def test_at_the_threshold_noise_costs_as_much_as_learning():
    X, Y = ds.simplex(4), box_losses(4)
    private = partial(FTRL, X, Y, 1000, regularizer="entropy", seed=0)
    at = private(free_epsilon(private))
    assert mean_maximum(X, at.noise) == pytest.approx(at.regret_bound.learning, rel=0.02)


@pytest.mark.slow
def test_altdrift_attains_the_learning_bound():
    """Without noise, T = 2^8 to 2^16: within 10 % of sqrt(2 T ln N), log-log slope between 0.45 and 0.58."""
    X, Y = ds.simplex(10), box_losses(10)
    horizons = [2**8, 2**10, 2**12, 2**14, 2**16]
    regrets = [simulate(FTRL(X, Y, T), altdrift(X, Y, T), checkpoints=1).final for T in horizons]
    bounds = np.sqrt(2 * np.array(horizons) * np.log(10))
    assert np.all(np.abs(np.array(regrets) / bounds - 1) <= 0.1)
    assert 0.45 <= np.polyfit(np.log(horizons), np.log(regrets), 1)[0] <= 0.58


def test_thresholds_that_do_not_exist_are_refused():
    X, Y = ds.simplex(4), box_losses(4)
    with pytest.raises(ValueError, match="known horizon"):
        free_epsilon(partial(FTRL, X, Y, None, seed=0))
    with pytest.raises(ValueError, match="No epsilon"):
        free_epsilon(partial(FTRL, X, Y, 1, seed=0))
