"""Lists of vertices: how many there can be, which are one, which are lost, and where a list is refused."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet, UnsupportedConeError
from dpcvx.sets.oracles import enumeration
from dpcvx.sets.oracles.enumeration import (
    _largest_count,
    distinct,
    is_quick,
    listed,
    reach_far_enough,
    reach_in_every_direction,
)


def test_the_most_vertices_are_those_of_polygons_of_planar_graphs_and_of_duals_of_cyclic_polytopes():
    for rows in range(7, 40):
        assert _largest_count(rows, 1) == 2
        assert _largest_count(rows, 2) == rows
        assert _largest_count(rows, 3) == 2 * rows - 4
        assert _largest_count(rows, 4) == rows * (rows - 3) // 2
        assert _largest_count(rows, 5) == (rows - 3) * (rows - 4)
        assert _largest_count(rows, 6) == rows * (rows - 4) * (rows - 5) // 6
    for n in range(1, 12):
        assert _largest_count(n + 1, n) == n + 1  # a simplex


@pytest.mark.parametrize(("dim", "most"), [(2, 2000), (3, 600), (4, 200), (5, 60), (6, 40), (7, 24), (8, 20)])
def test_up_to_so_many_rows_vertices_take_no_time(dim, most):
    def geometry(rows, auxiliaries=0):
        return SimpleNamespace(chart=SimpleNamespace(auxiliaries=auxiliaries, s0=np.ones(rows)), dim=dim)

    assert is_quick(geometry(most)) and not is_quick(geometry(most + 1))
    assert not is_quick(geometry(most, auxiliaries=1))
    beside = SimpleNamespace(chart=SimpleNamespace(auxiliaries=0, s0=np.ones(1)), dim=9 if dim == 8 else 1)
    assert not is_quick(beside)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_points_that_lie_close_together_are_one_and_the_first_of_them_stays(unit):
    far = np.array([[0.3, 0.7], [5.3, 0.7], [0.3, 4.7]])
    near = far[:2] + np.array([[1.9e-7 * 5, 0], [0, 2.1e-7 * 5]])
    found = distinct(unit * np.concatenate([far, near]))
    assert found.tolist() == (unit * np.concatenate([far, near[1:]])).tolist()
    assert distinct(unit * np.concatenate([near, far])).tolist() == (unit * np.concatenate([near, far[1:]])).tolist()


def test_entries_next_to_whole_numbers_are_these_and_no_zero_has_a_sign():
    corners = np.array([[0.9e-10 * 10, 10], [3 - 1.1e-10 * 10, -0.9e-10 * 10], [10, -0.0], [0, 7 + 0.9e-10 * 10]])
    found = distinct(corners)
    assert found.tolist() == [[0, 10], [3 - 1.1e-10 * 10, 0], [10, 0], [0, 7]]
    assert not np.signbit(found).any()
    assert distinct(np.array([[2.0, 3.0]])).tolist() == [[2.0, 3.0]]


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


@pytest.mark.parametrize("thin", [1e-6, 1.0])
def test_along_a_thin_direction_the_width_there_counts(thin):
    """By how much a bound may be beyond the corners: 1e-7 of the width along the same covector."""
    corners = SQUARE * [1.0, thin]

    def beyond(share):
        return lambda c: float((corners @ c).max() + share * np.ptp(corners @ c))

    assert reach_in_every_direction(corners, beyond(0.9e-7)) and not reach_in_every_direction(corners, beyond(1.2e-7))
    assert reach_far_enough(corners, beyond(0.4e-7)) and not reach_far_enough(corners, beyond(3e-7))

    def lost(c):  # along the thin direction alone
        return float((corners @ c).max() + (5e-7 * thin if abs(c[0]) < 1e-12 and c[1] > 0 else 0.0))

    assert not reach_in_every_direction(corners, lost) and reach_far_enough(corners, lost) == (thin < 1)


def test_far_from_the_origin_the_digits_there_count():
    corners = SQUARE + 1e4  # digits of 1e-9 of the reach are 1e-5
    within, beyond = (lambda s: lambda c: float((corners @ c).max() + s * abs((corners @ c).max())))(0.9e-9), None
    assert reach_in_every_direction(corners, within)
    beyond = lambda c: float((corners @ c).max() + 1.2e-9 * abs((corners @ c).max()) + 1e-7 * np.ptp(corners @ c))  # noqa: E731
    assert not reach_in_every_direction(corners, beyond)
    most = 1e-7 * (1 + 1e-2 * (1e4 + 1))
    for share, enough in ((0.99, True), (1.01, False)):
        assert (
            reach_far_enough(corners, lambda c, s=share: float((corners @ c).max() + s * most * np.linalg.norm(c)))
            == enough
        )


def test_the_two_ends_of_a_segment_are_its_vertices():
    x = cp.Variable(3)
    X = DecisionSet(x, [x[0] == 2 * x[1], x[2] == 1, x[1] >= -1, x[1] <= 3])
    asked = []

    def minimise(c):
        asked.append(c)
        return np.array([X.argmin(one) for one in c])

    found = listed(X.geometry, minimise, 10)
    assert sorted(found.round(9).tolist()) == [[-2, -1, 1], [6, 3, 1]] and len(asked) == 1


def _cross(n):
    x = cp.Variable(n)
    return DecisionSet(x, [cp.norm1(x) + cp.max(x) <= 2])  # with auxiliary variables


def test_vertices_behind_auxiliary_variables_grow_from_the_minimiser_up_to_eight_dimensions():
    X = _cross(3)
    found = X.vertices()
    truth = np.concatenate([np.eye(3), -2 * np.eye(3)])
    assert len({tuple(v) for v in found.round(7) + 0.0} & {tuple(v) for v in truth}) == 6
    assert all(X.contains(v, 1e-7) for v in found)
    with pytest.raises(
        UnsupportedConeError, match="auxiliary variables and dimension 9; its vertices are listed up to 8"
    ):
        _cross(9).vertices()


def test_too_many_rows_are_refused_by_how_many_vertices_they_can_have():
    rows = np.random.default_rng(0).standard_normal((40, 10))
    x = cp.Variable(10)
    X = DecisionSet(x, [rows @ x <= 1, x <= 3, x >= -3])
    with pytest.raises(
        UnsupportedConeError,
        match=f"of dimension 10 with 60 .* may have {_largest_count(60, 10):.3g} vert".replace("+", r"\+"),
    ):
        X.vertices()


def test_more_vertices_than_asked_for_are_refused_and_just_as_many_are_listed(monkeypatch):
    x = cp.Variable(3)
    X = DecisionSet(x, [x >= 0, x <= 1, cp.sum(x) <= 2.5])  # a cube without a corner: 7 and 3
    assert len(X.vertices(10)) == 10
    with pytest.raises(UnsupportedConeError, match="has at least 10 vertices; they are listed up to 9"):
        X.vertices(9)
    monkeypatch.setattr(enumeration, "reach_far_enough", lambda corners, bound: False)
    with pytest.raises(UnsupportedConeError, match="were not found: it is too thin"):
        X.vertices()


@pytest.mark.parametrize("size", [1e-4, 0.75, 1e6])
def test_entries_are_the_nearest_integer_up_to_rounding_of_the_size_of_the_set(size):
    rounding = 1e-10 * size
    found = distinct(np.array([[0.0, rounding / 2], [size, 2 * rounding], [0.0, size]]))
    assert found[0].tolist() == [0, 0] and found[1, 1] == 2 * rounding
