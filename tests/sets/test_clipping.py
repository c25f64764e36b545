"""Clipping: into the bounding box, then to the nearest point, by the same steps for points inside and far outside.

A point inside took 0.14 ms and one far outside 0.5 s and more where a solver projects: the time showed who was clipped.
`benchmarks/clipping.py` measures it.
"""

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import CATALOGUE

from dpcvx import LossSet
from dpcvx.sets.shapes.shape import Shape
from dpcvx.sets.shapes.sorted_projection import onto_one_norm_ball, onto_simplex

FAR = (2.0, 1e3, 1e9, 1e300)
FLAT = {"simplex", "scaled simplex", "capped simplex", "spectrahedron", "entropy ball", "KL ball", "flow polytope"} | {
    "routes",
    "routes of few links",
    "permutahedron",
    "portfolio",
    "Birkhoff polytope",
    "transport polytope",
}
SOLVED = {"convex hull", "ellipsoid"}  # full sets in which no formula tells a point


def losses(name):
    declared = CATALOGUE[name][0]()
    return LossSet(declared.variable, declared.constraints)


def points(Y, rng):
    """Points inside, and far outside by each of the factors."""
    inside = [Y.center + share * (Y.argmin(rng.standard_normal(Y.shape)) - Y.center) for share in (0.0, 0.5, 0.9)]
    size = float(Y.radius(np.inf))
    outside = [Y.center + factor * size * rng.choice([-1.0, 0.3, 1.0], size=Y.shape) for factor in FAR]
    return inside, outside


@pytest.mark.parametrize("name", CATALOGUE)
def test_clipping_ends_in_the_set_and_leaves_what_is_inside(name):
    Y, rng = losses(name), np.random.default_rng(0)
    inside, outside = points(Y, rng)
    for point in inside:
        kept = Y.clip(point)
        assert np.allclose(kept, point, rtol=0, atol=1e-7 * float(Y.radius(np.inf)))
        assert name in FLAT | SOLVED or np.array_equal(kept, point)
    lower, upper = Y.bounding_box()
    for point in outside:
        clipped = Y.clip(point)
        assert Y.contains(clipped, 1e-8)
        nearest = Y._set.project(np.clip(point, lower, upper))
        assert np.allclose(clipped, nearest, rtol=0, atol=1e-5 * float(Y.radius(np.inf)))


@pytest.mark.parametrize("name", CATALOGUE)
def test_points_inside_and_far_outside_go_through_the_same_projection(name, monkeypatch):
    """The projection is asked once for any point, and only about points of the bounding box."""
    Y, rng = losses(name), np.random.default_rng(0)
    kind = type(Y.recognised)
    if kind.clip is not Shape.clip and Y.dim == Y.size:
        return  # a box: two comparisons for every entry
    asked, nearest = [], kind._nearest

    def recorded(self, near):
        asked.append(near)
        return nearest(self, near)

    monkeypatch.setattr(kind, "_nearest", recorded)
    lower, upper = Y.recognised.box
    inside, outside = points(Y, rng)
    for count, point in enumerate([*inside, *outside], 1):
        Y.clip(point)
        assert len(asked) == count and np.all(asked[-1] >= lower) and np.all(asked[-1] <= upper)


def test_the_sorted_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    v = cp.Variable(6)
    for radius in (0.1, 1.0, 30.0):
        p = rng.standard_normal((5, 6)) * 3
        for one, found in zip(p, onto_one_norm_ball(p, radius), strict=True):
            cp.Problem(cp.Minimize(cp.sum_squares(v - one)), [cp.norm1(v) <= radius]).solve(solver=cp.CLARABEL)
            assert np.allclose(found, v.value, atol=1e-5) and np.abs(found).sum() <= radius * (1 + 1e-14)


def test_points_of_the_ball_of_the_1_norm_do_not_move_by_a_digit_also_on_its_boundary():
    """Teeth: the projection onto the simplex, which others get, moves most of them by rounding."""
    points = np.random.default_rng(1).standard_normal((50, 5))
    radii = np.abs(points).sum(axis=1)
    for p, radius in zip(points, radii, strict=True):
        assert np.array_equal(onto_one_norm_ball(p, radius), p)
        assert np.array_equal(onto_one_norm_ball(p, 1.1 * radius), p)
        moved = onto_one_norm_ball(p, 0.9 * radius)
        assert np.abs(moved).sum() == pytest.approx(0.9 * radius) and np.all(moved * p >= 0)
    rounded = [np.copysign(onto_simplex(np.abs(p), radius), p) for p, radius in zip(points, radii, strict=True)]
    assert (rounded != points).any(axis=1).sum() > 25
