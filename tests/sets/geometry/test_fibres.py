"""The fibre over a point is over that point to the digit, and singular Hessians have a least solution."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.geometry.fibre import _solved, fibre


def test_a_fibre_is_over_its_point_to_the_digit_and_centered():
    x = cp.Variable(3)
    X = DecisionSet(x, [cp.norm1(x) + cp.norm2(x) <= 2])
    chart = X.geometry.chart
    k = chart.auxiliaries
    assert k
    rng = np.random.default_rng(0)
    for d in rng.standard_normal((12, 3)):
        y = chart.coordinates(X.flatten(0.9 * 2 * d / (np.abs(d).sum() + np.linalg.norm(d))))
        z = fibre(chart, y)
        assert z is not None and np.array_equal(z[k:], y)
        assert np.abs(chart.gradient(z)[:k]).max() <= 1e-6 * np.sqrt(np.diagonal(chart.hessian(z))[:k].max())


@pytest.mark.parametrize("unit", [1.0, 2.0**13, 2.0**-13])
def test_a_singular_hessian_has_the_least_solution_in_coordinates_of_equal_size(unit):
    """H = S M S with M = [[1, 1], [1, 1]] and S = (1, unit): of all S u with sum 3 the least is (3/2, 3/2)."""
    size = np.array([1.0, unit])
    H, g = np.outer(size, size), 3 * size
    assert _solved(H, g) == pytest.approx(1.5 / size, rel=1e-9)


def test_a_regular_hessian_is_solved():
    H, g = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    assert _solved(H, g) == pytest.approx([1 / 11, 7 / 11], rel=1e-12)


def test_there_is_a_fibre_over_every_point_inside_and_over_none_outside():
    """The length of d in the norm |d|_1 + |d|_2, of which the ball of size 2 is declared."""
    x = cp.Variable(3)
    chart = (X := DecisionSet(x, [cp.norm1(x) + cp.norm2(x) <= 2])).geometry.chart
    box = DecisionSet(x, [x >= -1, x <= 1]).geometry.chart
    for d in np.random.default_rng(1).standard_normal((2, 3)):
        edge = X.flatten(2 * d / (np.abs(d).sum() + np.linalg.norm(d)))
        for share in (1e-6, 0.5, 0.999, 1 - 1e-6):
            assert fibre(chart, chart.coordinates(share * edge)) is not None
        for share in (1 + 1e-6, 1.5, 1e3):
            assert fibre(chart, chart.coordinates(share * edge), exact=False) is None
        inside = box.coordinates(0.999 * d / np.abs(d).max())
        assert np.array_equal(fibre(box, inside), inside)
        assert fibre(box, box.coordinates(1.001 * d / np.abs(d).max())) is None
