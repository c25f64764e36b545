"""Nearest points along the central path: as near as the gap promises, in any units."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.geometry.nearest import _solved, nearest

x = cp.Variable(3, name="x")
UNITS = np.array([1e-4, 1.0, 1e4])


def _onto_disc(p):
    """Onto { sum x = 3, |x - 1| <= 2 }: around the ones, along the plane."""
    along = p - p.mean()
    return 1 + along * min(1.0, 2 / np.linalg.norm(along))


def _onto_simplex(p):
    """The positive part of p less a level, so that the sum is 1."""
    low, high = p.min() - 1, p.max()
    for _ in range(200):
        level = (low + high) / 2
        low, high = (level, high) if np.maximum(p - level, 0).sum() > 1 else (low, level)
    return np.maximum(p - level, 0)


SETS = {
    "simplex": (lambda: DecisionSet(x, [x >= 0, cp.sum(x) == 1]), _onto_simplex, 1.0),
    "box": (lambda: DecisionSet(x, [x >= -1, x <= 2]), lambda p: np.clip(p, -1, 2), 1.0),
    "box in units far apart": (
        lambda: DecisionSet(x, [x >= -UNITS, x <= 2 * UNITS]),
        lambda p: np.clip(p, -UNITS, 2 * UNITS),
        UNITS,
    ),
    "ball": (
        lambda: DecisionSet(x, [cp.norm2(x) <= 1.5]),
        lambda p: p * min(1.0, 1.5 / np.linalg.norm(p)),
        1.0,
    ),
    "disc": (lambda: DecisionSet(x, [cp.norm2(x - 1) <= 2, cp.sum(x) == 3]), _onto_disc, 1.0),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8])
def test_the_distance_is_above_the_least_by_no_more_than_the_gap(name, gap):
    make, onto, unit = SETS[name]
    X = make()
    chart = X.geometry.chart
    for p in unit * 4 * np.random.default_rng(0).standard_normal((4, 3)):
        z = nearest(chart, p, gap)
        assert chart.interior(z)
        found, least = chart.point(z), onto(p)
        assert ((found - p) ** 2).sum() / 2 <= ((least - p) ** 2).sum() / 2 * (1 + 1e-12) + 1.1 * gap
        assert ((found - least) ** 2).sum() <= 2.2 * gap + 1e-11 * (p @ p)


def test_newton_equations_in_units_far_apart_are_solved_to_most_digits():
    """Teeth: without units of their own, the small coordinates would be lost."""
    rng = np.random.default_rng(1)
    M = rng.standard_normal((5, 5))
    units = 10.0 ** np.array([-8, -3, 0, 4, 8])
    H, wanted = units[:, None] * (M @ M.T + np.eye(5)) * units, rng.standard_normal(5) / units
    assert _solved(H, H @ wanted) == pytest.approx(wanted, rel=1e-9)
    lost = np.linalg.lstsq(H, H @ wanted, rcond=1e-15)[0]
    assert np.abs(lost / wanted - 1).max() > 0.1
