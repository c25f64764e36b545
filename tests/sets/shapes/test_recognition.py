"""Which shape a declaration is taken for: what is one up to rounding, and what is not one by little more."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.shapes.box import Box
from dpcvx.sets.shapes.ellipsoid import Ellipsoid
from dpcvx.sets.shapes.euclidean_ball import EuclideanBall, FlatBall
from dpcvx.sets.shapes.hull import Hull
from dpcvx.sets.shapes.matrix_ball import MatrixBall
from dpcvx.sets.shapes.norm_ball import NormBall
from dpcvx.sets.shapes.polytope import Polytope
from dpcvx.sets.shapes.shape import Shape
from dpcvx.sets.shapes.simplex import CappedSimplex, Simplex
from dpcvx.sets.shapes.simplex_product import SimplexProduct
from dpcvx.sets.shapes.spectrahedron import Spectrahedron

CENTER = np.array([1.0, -2.0, 0.5])


def _shape(size, make, **attributes):
    x = cp.Variable(size, name="x", **attributes)
    return DecisionSet(x, make(x)).recognised


# the same ball of radius 2 around (1, -2, 0.5), in the words of cvxpy
WAYS = {
    "plain": lambda n: n <= 2,
    "from the other side": lambda n: 2 >= n,
    "times a number": lambda n: 3 * n <= 6,
    "a number times": lambda n: n * 3 <= 6,
    "divided": lambda n: n / 4 <= 0.5,
    "moved": lambda n: n - 5 <= -3,
    "moved on both sides": lambda n: 1 + 2 * n + 3 <= 8,
    "negated": lambda n: -n >= -2,
    "negated and moved": lambda n: 7 - 2 * n >= 3,
    "behind a sum": lambda n: cp.sum(2 * n - 1) <= 3,
    "on both sides": lambda n: n - 2 <= 0,
    "as a vector of one entry": lambda n: cp.reshape(n, (1,), order="F") <= 2,
    "nested": lambda n: -(1 - 2 * (n / 2 + 1)) / 2 <= 1.5,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("q", [1, 3])
def test_a_ball_is_the_same_however_its_norm_is_bounded(way, q):
    shape = _shape(3, lambda x: [WAYS[way](cp.pnorm(x - CENTER, q, approx=False))])
    assert type(shape) is NormBall and shape.q == q
    assert shape.center == pytest.approx(CENTER, rel=1e-12)
    assert shape.axes == pytest.approx(np.full(3, 2.0), rel=1e-12)


@pytest.mark.parametrize("way", ["plain", "moved", "negated and moved", "divided"])
def test_entries_in_units_of_their_own_are_axes(way):
    """|w * x + b| <= 2 is centered at -b/w, and its axes are 2/|w|."""
    w, b = np.array([1.0, -4.0, 0.5]), np.array([3.0, 1.0, -2.0])
    shape = _shape(3, lambda x: [WAYS[way](cp.pnorm(cp.multiply(w, x) + b, 3, approx=False))])
    assert type(shape) is NormBall and not shape.is_uniform
    assert shape.center == pytest.approx(-b / w, rel=1e-12)
    assert shape.axes == pytest.approx(2 / np.abs(w), rel=1e-12)
    assert shape.scale == pytest.approx(4.0)


def test_a_matrix_is_a_ball_in_its_entries_column_by_column():
    middle = np.array([[1.0, 2, 3], [4, 5, 6]])
    shape = _shape((2, 3), lambda x: [cp.pnorm(x - middle, 3, approx=False) <= 2])
    assert type(shape) is NormBall and shape.center.tolist() == [1, 4, 2, 5, 3, 6]
    shape = _shape((2, 3), lambda x: [cp.normNuc(2 * x - middle) <= 3])
    assert type(shape) is MatrixBall and shape.scale == 1.5 and shape.q == 1
    assert shape.center.tolist() == [0.5, 2, 1, 2.5, 1.5, 3]


OTHERS = {  # what is no ball of the norm, though the norm stands in it
    "another constraint": lambda x: [cp.pnorm(x, 3) <= 2, x[0] <= 1],
    "a norm of a part": lambda x: [cp.pnorm(x[:2], 3) <= 2, cp.abs(x[2]) <= 1],
    "a norm of sums": lambda x: [cp.pnorm(np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]]) @ x, 3) <= 2],
    "a norm of more entries": lambda x: [cp.pnorm(cp.hstack([x, x[0]]), 3) <= 2],
    "two norms": lambda x: [cp.pnorm(x, 3) + cp.pnorm(x, 4) <= 2],
    "a linear term beside it": lambda x: [cp.pnorm(x, 3) + x[0] / 4 <= 2],
    "a norm of a convex function": lambda x: [cp.pnorm(cp.square(x), 3) <= 2],
}


@pytest.mark.filterwarnings("ignore:.*SOC approximation:UserWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_said_of_more_than_the_entries_is_no_norm_ball(name):
    shape = _shape(3, OTHERS[name])
    assert type(shape) is Shape


def test_attributes_and_auxiliary_variables_make_a_ball_another_set():
    assert type(_shape(3, lambda x: [cp.pnorm(x, 3, approx=False) <= 2], nonneg=True)) is Shape
    shape = _shape((2, 2), lambda x: [cp.pnorm(x, 3, approx=False) <= 2], symmetric=True)
    assert type(shape) is Shape and shape.diameter(3) >= 4
    y = cp.Variable()
    assert type(_shape(3, lambda x: [cp.pnorm(x, 3, approx=False) <= 2 + 0 * y])) is not NormBall


def test_a_variable_keeps_its_value_and_gets_no_other():
    x = cp.Variable(3)
    x.value = np.array([7.0, 8.0, 9.0])
    DecisionSet(x, [cp.pnorm(x, 3, approx=False) <= 2])
    assert x.value.tolist() == [7, 8, 9]
    DecisionSet((y := cp.Variable(3)), [cp.pnorm(y, 3, approx=False) <= 2])
    assert y.value is None


def _stretched(by):
    return np.array([1.0, 1.0 + by, 1.0])


# name: (shape, by which it is one up to rounding, the shape of what is not)
NEARLY = {
    "ball": (lambda by: _shape(3, lambda x: [cp.norm2(cp.multiply(_stretched(by), x)) <= 2]), EuclideanBall, Ellipsoid),
    "skewed ball": (
        lambda by: _shape(3, lambda x: [cp.norm2((np.eye(3) + by * np.eye(3, k=1)) @ x) <= 2]),
        EuclideanBall,
        Ellipsoid,
    ),
    "spectrahedron": (
        lambda by: _shape((3, 3), lambda x: [cp.trace(np.diag(_stretched(by)) @ x) == 2], PSD=True),
        Spectrahedron,
        Shape,
    ),
    "nuclear ball": (
        lambda by: _shape((2, 2), lambda x: [cp.normNuc(cp.multiply(np.array([[1.0, 1 + by], [1, 1]]), x)) <= 2]),
        MatrixBall,
        Shape,
    ),
}


@pytest.mark.parametrize("name", NEARLY)
def test_a_set_that_differs_by_rounding_is_taken_for_the_shape_and_by_more_is_not(name):
    make, near, far = NEARLY[name]
    assert type(make(0.0)) is near
    assert type(make(1e-14)) is near
    for by in (1e-8, 0.5):
        assert type(make(by)) is far


def test_bounds_of_simplices_that_cut_off_a_corner_make_them_capped():
    assert type(_shape(3, lambda x: [x >= 0, cp.sum(x) == 2, x <= 2])) is Simplex
    assert type(_shape(3, lambda x: [x >= 0, cp.sum(x) == 2, x <= 2 + 1e-9])) is Simplex
    capped = _shape(3, lambda x: [x >= 0, cp.sum(x) == 2, x <= [2, 2, 2 - 1e-6]])
    assert (
        type(capped) is CappedSimplex and "capped" in capped.argmin_name and capped.project_name == capped.argmin_name
    )
    assert type(_shape(3, lambda x: [x >= [0, 0, 0.1], cp.sum(x) == 2])) is CappedSimplex
    weighted = _shape(3, lambda x: [x >= 0, np.array([1.0, 2, 1]) @ x == 2])
    assert type(weighted) is CappedSimplex and not weighted.is_simplex


def test_products_of_simplices_need_even_weights_disjoint_groups_and_room_for_each_corner():
    def product(*more):
        return lambda x: [x >= 0, cp.sum(x[2:]) == 3, *(one(x) for one in more)]

    first = lambda x: x[0] + x[1] == 1  # noqa: E731
    assert type(_shape(4, product(first))) is SimplexProduct
    assert type(_shape(4, product(first, lambda x: x <= [1, 1, 3, 3]))) is SimplexProduct
    assert type(_shape(4, product(first, lambda x: x[3] <= 3 - 1e-6))) is Polytope
    assert type(_shape(4, product(lambda x: x[0] + (1 + 1e-9) * x[1] == 1))) is Polytope
    assert type(_shape(4, product(lambda x: x[0] + x[1] + x[2] == 1))) is Polytope
    assert type(_shape(4, product(lambda x: x[:2] <= [1, 2]))) is SimplexProduct
    assert type(_shape(4, product(first, lambda x: x[0] >= 0.1))) is Polytope
    found = _shape(4, product(lambda x: x[:2] <= [1, 2]))
    assert [g.tolist() for g in found.parts.groups] == [[2, 3]] and found.parts.totals == [3.0]
    assert found.box[1].tolist() == [1, 2, 3, 3]


def test_a_hull_is_declared_by_weights_that_sum_to_one_number():
    points = np.array([[-1.0, 4, 0.5, 1], [-1, 0.25, 3, 5]])

    def hull(weights=1.0, total=1.0, more=lambda x, w: []):
        x, w = cp.Variable(2), cp.Variable(4, nonneg=True)
        return DecisionSet(x, [x == points @ w, weights * cp.sum(w) == total, *more(x, w)]).recognised

    assert type(hull()) is Hull
    assert sorted(map(tuple, hull().points.round(9))) == sorted(map(tuple, points.T))
    assert sorted(map(tuple, hull(2.0, 6.0).points.round(9))) == sorted(map(tuple, 3 * points.T))
    assert sorted(map(tuple, hull(-1.0, -2.0).points.round(9))) == sorted(map(tuple, 2 * points.T))
    assert type(hull(more=lambda x, w: [w[0] <= 0.5])) is Polytope
    assert type(hull(more=lambda x, w: [w[0] >= 0.1])) is Polytope
    assert type(hull(more=lambda x, w: [x[0] <= 3])) is Polytope
    weighted = DecisionSet(
        (x := cp.Variable(2)), [x == points @ (w := cp.Variable(4, nonneg=True)), np.array([1.0, 2, 4, 1]) @ w == 1]
    ).recognised
    assert type(weighted) is Hull
    assert sorted(map(tuple, weighted.points.round(9))) == sorted(map(tuple, points.T / [[1], [2], [4], [1]]))


def test_boxes_are_recognised_in_other_units_and_with_tied_entries():
    assert type(_shape(2, lambda x: [cp.multiply([2, -3], x) <= 6, x >= [-1, -2], x <= [9, 1]])) is Box
    tied = _shape((2, 2), lambda x: [x >= -1, x <= 2], symmetric=True)
    assert type(tied) is Box and not tied.by_entry and tied.geometry.dim == 3
    assert _shape(2, lambda x: [x >= 0, x <= 1]).by_entry
    flat = _shape((2, 2), lambda x: [cp.norm(x - 1, "fro") <= 2], symmetric=True)
    assert type(flat) is FlatBall


def test_weighted_sums_of_distances_are_balls_of_the_one_norm():
    w, c = np.array([1.0, 2.0, 0.5]), CENTER
    for make in (
        lambda x: [w @ cp.abs(x - c) <= 3],
        lambda x: [cp.sum(cp.multiply(w, cp.abs(x - c))) <= 3],
        lambda x: [2 * (w @ cp.abs(c - x)) - 1 <= 5],
    ):
        shape = _shape(3, make)
        assert type(shape) is NormBall and shape.q == 1
        assert shape.center == pytest.approx(c, rel=1e-9) and shape.axes == pytest.approx(3 / w, rel=1e-9)
    for make in (
        lambda x: [w @ cp.abs(x - c) <= 3, x[0] <= 2],
        lambda x: [w @ cp.abs(x - c) <= 3, cp.sum(x) == 0],
        lambda x: [w @ cp.abs(x - c) + x[0] / 2 <= 3],
        lambda x: [cp.abs(x[0] - 1) + cp.abs(x[1]) + cp.abs(x[2] - x[0]) <= 3],
        lambda x: [w[:2] @ cp.abs(x[:2]) <= 3, cp.abs(x[2]) <= 1],
    ):
        assert type(_shape(3, make)) is not NormBall


@pytest.mark.parametrize("trace", [1e-8, 1.0, 1e8])
def test_density_matrices_are_recognised_in_any_unit(trace):
    assert type(_shape((3, 3), lambda x: [cp.trace(x) == trace], PSD=True)) is Spectrahedron
