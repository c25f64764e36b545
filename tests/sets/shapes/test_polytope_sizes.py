"""Sizes of polytopes from their vertices: exact for listed points, with a margin for those that Qhull found."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.shapes import polytope
from dpcvx.sets.shapes.hull import Hull
from dpcvx.sets.shapes.polytope import Polytope

POINTS = np.random.default_rng(0).standard_normal((7, 3)) * [1.0, 0.1, 30.0] + [5.0, 0.0, -2.0]
NORMS = (1, 1.5, 2, np.inf)


def _hull():
    x, w = cp.Variable(3), cp.Variable(7, nonneg=True)
    return DecisionSet(x, [x == POINTS.T @ w, cp.sum(w) == 1]).recognised


def _cut_box():
    x = cp.Variable(3)
    return DecisionSet(x, [x >= 2, x <= 3, cp.sum(x) <= 8, x[0] - x[1] <= 0.5]).recognised


def _dots(x, points):
    return [sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, point, strict=True)) for point in points]


@pytest.mark.parametrize("make", [_hull, _cut_box])
def test_ends_of_linear_functions_are_outside_those_of_the_points_by_rounding_and_a_margin(make):
    shape = make()
    assert type(shape) is (Hull if make is _hull else Polytope) and shape.points is not None
    margin = 0.0 if make is _hull else 1e-9
    x = np.random.default_rng(1).standard_normal((4, 10, 3)) * 10.0 ** np.arange(-2, 2)[:, None, None]
    low, high = shape.interval(x)
    for index in np.ndindex(4, 10):
        values = _dots(x[index], shape.points)
        size = max(float(np.abs(x[index]) @ np.abs(point)) for point in shape.points)
        slack = Fraction((margin + 1e-14) * size)
        for end, truth in ((Fraction(float(high[index])), max(values)), (-Fraction(float(low[index])), -min(values))):
            assert truth + Fraction((0.999 * margin + 1e-16) * size) <= end <= truth + slack


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("make", [_hull, _cut_box])
def test_radii_and_diameters_are_those_of_the_points_and_a_margin_makes_them_bounds(make, p, monkeypatch):
    shape = make()
    away = np.linalg.norm(shape.points, p, axis=1).max()
    apart = max(np.linalg.norm(a - b, p) for a in shape.points for b in shape.points)
    low, high = (1.0, 1 + 1e-14) if make is _hull else (1 + 0.99e-9, 1 + 1.01e-9)
    for found, truth in ((shape.radius(p), away), (shape.diameter(p), apart)):
        assert low * truth * (1 - 1e-15) <= found <= high * truth
        assert found.kind == ("exact" if make is _hull else "bound")
    entries = shape.points.size * len(shape.points)
    monkeypatch.setattr(polytope, "_PAIRS", entries)
    assert shape.diameter(p) == pytest.approx(low * apart, rel=1e-10)
    monkeypatch.setattr(polytope, "_PAIRS", entries - 1)
    around = 2 * np.linalg.norm(shape.points - shape.points.mean(axis=0), p, axis=1).max()
    found = shape.diameter(p)
    assert found.kind == "bound" and low * around * (1 - 1e-15) <= found <= high * around


@pytest.mark.parametrize("make", [_hull, _cut_box])
def test_the_reach_is_that_of_the_farthest_point_rounded_outward(make):
    shape = make()
    truth = np.linalg.norm(shape.points - shape.middle, axis=1).max()
    assert truth * (1 + 0.9e-8) <= shape._reaches()[-1] <= truth * (1 + 1.1e-8)
    assert truth <= shape.reach <= truth * (1 + 1.1e-8)


def _weights(total=1.0, value=1.0, columns=None, **more):
    x, w = cp.Variable(2), cp.Variable(4, nonneg=True)
    columns = np.array([[1.0, 0, 2, -1], [0, 1.0, 2, 3]]) if columns is None else columns
    return DecisionSet(x, [x == columns @ w, total * cp.sum(w) == value]).recognised


def test_the_points_of_a_hull_are_its_columns_times_the_sum_of_weights_to_the_digit():
    columns = np.array([[1.0, 0, 2, -1], [0, 1.0, 2, 3]])
    for total, value in ((1.0, 1.0), (2.0, 6.0), (-4.0, -2.0), (1e-3, 1e3)):
        shape = _weights(total, value)
        assert type(shape) is Hull
        found = sorted(map(tuple, shape.points / (value / total)))
        assert np.abs(np.array(found) - sorted(map(tuple, columns.T))).max() <= 1e-13
    assert type(_weights(columns=1e3 * columns)) is Hull and type(_weights(columns=1e-3 * columns)) is Hull
    repeated = _weights(columns=columns[:, [0, 0, 1, 2]])
    assert type(repeated) is Hull and len(repeated._listed(None, 100)) == 3
