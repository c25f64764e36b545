"""Projections onto polytopes by an active-set method: nearest to rounding, inside, and the same bits in any order."""

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import DecisionSet
from dpcvx.sets.oracles import active_sets
from dpcvx.sets.oracles.active_sets import ActiveSetProjection

ROWS = np.random.default_rng(7).standard_normal((30, 8))


def polytope():
    x = cp.Variable(8, name="x")
    return DecisionSet(x, [ROWS @ x <= 1, x <= 3, x >= -3])


def flow():
    return ds.flow_polytope(nx.DiGraph(nx.grid_2d_graph(3, 4).edges), (0, 0), (2, 3))


def slabs():
    """Thin in some directions, and far from the origin."""
    x = cp.Variable(5, name="x")
    return DecisionSet(x, [x[:2] <= 1001, x[:2] >= 1000, cp.abs(x[2:]) <= 1e-4, cp.sum(x) <= 2001.5])


def portfolio():
    """Its turnover is written with auxiliary coordinates, which are not unique where it is not binding."""
    return ds.portfolio(8, sectors=3, turnover=0.5)


def hull():
    return ds.convex_hull(np.random.default_rng(3).standard_normal((12, 3)))


def permutahedron():
    return ds.permutahedron(6)


def worst_loss():
    """The mean of the two largest entries, by auxiliary coordinates, on a plane."""
    x = cp.Variable(7, name="x")
    return DecisionSet(x, [cp.sum_largest(x, 2) <= 1, cp.sum(x) == 0.3, cp.norm1(x - 0.1) <= 4, x >= -1])


SETS = {f.__name__: f for f in (polytope, flow, slabs, portfolio, hull, permutahedron, worst_loss)}


def points_around(X, seed, count):
    """Near and far, in units of the set's size; some of them far off its affine hull."""
    rng = np.random.default_rng(seed)
    far = np.exp(rng.normal(scale=2, size=(count, 1)))
    return X.flatten(X.center) + X.geometry.extent * far * rng.standard_normal((count, X.size))


def gap(X, p, x):
    """max <p - x, z - x> over the set, which is 0 at the projection and at least |x - x*|^2, relative to sizes."""
    best = X.argmin(x - p)
    return float((p - x) @ (best - x)) / (X.geometry.extent * max(X.geometry.extent, float(np.linalg.norm(p - x))))


def projection_of(X):
    """From a point to its projection, or None, by a method that was asked nothing before."""
    method = ActiveSetProjection.of(X.geometry.chart)

    def project(p):
        (x,), (found,) = method.project(p[None])
        return x if found else None

    return project


@pytest.mark.parametrize("name", SETS)
def test_projections_are_nearest_and_inside(name):
    X = SETS[name]()
    projection = projection_of(X)
    for p in points_around(X, 1, 40):
        x = projection(p)
        assert x is not None and X.contains(x)
        assert gap(X, p, x) <= 1e-10


@pytest.mark.parametrize("name", ["portfolio", "hull", "worst_loss"])
def test_one_proximal_step_is_too_few(name, monkeypatch):
    """The teeth: what is left over along auxiliary coordinates moves the point."""
    monkeypatch.setattr(active_sets, "_STATIONARY", np.inf)
    X = SETS[name]()
    projection = projection_of(X)
    assert max(gap(X, p, projection(p)) for p in points_around(X, 1, 40)) > 1e-7


def test_proximal_steps_that_do_not_end_are_not_an_answer(monkeypatch):
    monkeypatch.setattr(active_sets, "_STEPS", 0)
    X = hull()
    projection = projection_of(X)
    points = points_around(X, 1, 20)
    assert sum(projection(p) is None for p in points) >= 5
    for p in points[:5]:  # who asks the set is answered all the same
        assert gap(X, p, X.project(p)) <= 1e-8


@pytest.mark.parametrize("name", SETS)
def test_an_answer_does_not_depend_on_what_was_asked_before(name):
    X = SETS[name]()
    points = points_around(X, 2, 30)
    projection = projection_of(X)
    first = [projection(p) for p in points]
    for p, expected in zip(points[::-1], first[::-1], strict=True):
        assert np.array_equal(projection(p), expected)
        assert np.array_equal(projection_of(X)(p), expected)


@pytest.mark.parametrize("name", SETS)
def test_an_answer_does_not_depend_on_the_points_beside_it(name):
    """To the bit, for batches of every size, and through the set as well."""
    X = SETS[name]()
    points = points_around(X, 5, 41)
    whole = X.project(points)
    for few in (points[3:4], points[7:9], points[::-1], points[10:40:3]):
        kept = [int(np.flatnonzero((points == p).all(axis=1))[0]) for p in few]
        assert np.array_equal(X.project(few), whole[kept])
    assert np.array_equal(np.array([X.project(p) for p in points]), whole)
    assert np.array_equal(X.project(points[:40].reshape(4, 10, X.size)), whole[:40].reshape(4, 10, X.size))
    assert X.project(points[:0]).shape == (0, X.size)


@pytest.mark.parametrize("name", ["portfolio", "polytope"])
def test_a_method_that_goes_on_from_its_last_answer_is_found_out(name):
    """The teeth: with the active rows of the point before, other digits come out."""
    X = SETS[name]()
    points = points_around(X, 2, 60)
    method, other = (ActiveSetProjection.of(X.geometry.chart) for _ in range(2))
    other._idle = None
    assert not np.array_equal(method.project(points)[0], other.project(points)[0])


@pytest.mark.parametrize("name", SETS)
def test_projections_bring_no_two_points_farther_apart(name):
    X = SETS[name]()
    projection = projection_of(X)
    points = points_around(X, 3, 30)
    for p, q in zip(
        points, points + 0.1 * X.geometry.extent * np.random.default_rng(4).standard_normal(points.shape), strict=True
    ):
        moved = np.linalg.norm(projection(p) - projection(q))
        assert moved <= np.linalg.norm(p - q) + 1e-9 * X.geometry.extent


def test_polytopes_with_too_many_coordinates_are_left_to_others():
    hull = ds.convex_hull(np.random.default_rng(0).standard_normal((250, 3)))
    for X in (hull, ds.portfolio(120)):
        assert ActiveSetProjection.of(X.geometry.chart) is None
    assert ds.portfolio(120).recognised.project_name.startswith("interior-point")
    assert portfolio().recognised.project_name.startswith("active-set")
