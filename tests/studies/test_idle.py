"""The idle player: its regret is that of the center against the best point in hindsight."""

import numpy as np
import pytest

import decision_sets as ds
from dpcvx.studies.idle import idle_regret, regret_of_point


def test_on_arms_the_idle_player_pays_the_mean_less_the_least():
    total = np.array([3.0, -1.0, 4.0, 2.0])
    assert idle_regret(ds.simplex(4), total) == pytest.approx(2.0 + 1.0)


def test_the_regret_of_a_point_is_zero_at_the_best_and_largest_at_the_worst():
    X, total = ds.cube(3), np.array([1.0, -2.0, 0.5])
    assert regret_of_point(X, total, X.argmin(total)) == pytest.approx(0.0)
    assert regret_of_point(X, total, X.argmin(-total)) == pytest.approx(2 * 3.5)
    assert idle_regret(X, total) == pytest.approx(3.5)
