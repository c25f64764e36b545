"""Projections onto q-norm balls: optimal by duality, inside, and in a number of steps that is enough everywhere."""

import numpy as np
import pytest

import decision_sets as ds
from dpcvx.sets.shapes import power_projection
from dpcvx.sets.shapes.power_projection import onto_power_ball

ORDERS = (1.02, 1.1, 1.5, 1.9, 2.0, 2.1, 3.0, 3.3, 10.0, 50.0)


def excess(points, found, radius, q):
    """max <p - v, u> - <p - v, v> over the ball, of size 1, the residual being brought to a size of at most 1."""
    residual = (points - found) / radius
    residual = residual / np.maximum(np.abs(residual).max(axis=-1, keepdims=True), 1.0)
    with np.errstate(under="ignore"):
        dual = np.linalg.norm(residual, q / (q - 1), axis=-1)
    return dual - (residual * found / radius).sum(axis=-1)


def points_around(rng, n, q, radius):
    """From just outside to very far, with entries of like and of very different sizes, one alone among them."""
    shape = np.exp(rng.uniform(0, 8, (12, 1)) * rng.standard_normal((12, n))) * rng.choice([-1.0, 1.0], (12, n))
    shape[0, 1:] = 0.0
    shape[1] = 1.0
    shape /= np.abs(shape).max(axis=-1, keepdims=True)
    shape /= np.linalg.norm(shape, q, axis=-1, keepdims=True)
    far = np.array([1 + 1e-9, 1.001, 1.5, 1e3, 1e9, 1e290])
    return (radius * far[:, None, None] * shape).reshape(-1, n)


@pytest.mark.parametrize("q", ORDERS)
@pytest.mark.parametrize("n", [1, 2, 5, 60])
def test_projections_are_inside_and_no_point_of_the_ball_is_nearer(q, n):
    rng = np.random.default_rng(0)
    radius = 10.0 ** rng.uniform(-3, 3)
    points = points_around(rng, n, q, radius)
    found = onto_power_ball(points, radius, q)
    assert np.linalg.norm(found / radius, q, axis=-1).max() <= 1 + 1e-14
    assert excess(points, found, radius, q).max() <= 1e-12
    inside = 0.999 * found
    assert np.array_equal(onto_power_ball(inside, radius, q), inside)


def test_fewer_steps_would_not_do(monkeypatch):
    points = points_around(np.random.default_rng(0), 5, 1.02, 1.0)
    monkeypatch.setattr(power_projection, "_OUTER", 5)
    assert excess(points, onto_power_ball(points, 1.0, 1.02), 1.0, 1.02).max() > 1e-6


@pytest.mark.parametrize("q", [1.5, 3.0])
def test_balls_of_the_catalogue_project_by_formula_one_by_one_and_together(q):
    X = ds.norm_ball(4, q, 1.5, [1, 2, 3, 4])
    points = np.random.default_rng(1).uniform(-9, 9, (20, 4))
    together = X.project(points)
    assert np.allclose(together, [X.project(point) for point in points], atol=1e-13)
    assert all(X.contains(point, 1e-12) for point in together) and "closed form" in X.summary()
    assert excess(points - X.center, together - X.center, 1.5, q).max() <= 1e-12
