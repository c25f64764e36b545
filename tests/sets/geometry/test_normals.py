"""Normals of faces: from what a solver gives to all of their digits, together with a point of the face."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry.hull import Hull
from dpcvx.sets.geometry.normals import distance_off, refined

N = np.array([0.6, 0.0, 0.8])


def _touching(size):
    """<N, x> >= size and x <= 5 size touch |x| <= size at size N; the normal, the point, and rows 0, 1..3, 4..7."""
    x = cp.Variable(3, name="x")
    conic = lift(declare(x, [N @ x >= size, x <= 5 * size, cp.SOC(cp.Constant(size), x)]))
    assert conic.columns == 3 and conic.polyhedral.tolist() == [True] * 4 + [False] * 4
    return conic, np.concatenate([[1.0, 0, 0, 0, 1], -N]) / np.sqrt(3), size * N


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("noise", [1e-8, 1e-5])
def test_a_normal_of_a_few_digits_gets_all_of_them_and_loses_its_noise(size, noise):
    conic, exact, point = _touching(size)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        z = 7 * (exact + noise * rng.standard_normal(8))
        z[1:4] = 7 * noise * rng.random(3)  # at rows that say nothing of the face
        hull = Hull(conic, point + noise * size * rng.standard_normal(3))
        found = refined(conic.cones, hull, z, 1e-3, 0.01)
        assert found.z == pytest.approx(exact, abs=1e-12) and not found.z[1:4].any()
        assert hull.residual(found.z) <= 1e-13 and distance_off(hull, found) <= 1e-12
        assert found.slack == pytest.approx(conic.slack(point), abs=1e-9 * size)
        assert [(rows.start, rows.stop) for rows, _ in found.faces] == [(0, 1), (4, 8)]
        gap, touching = hull.gap(found.z)
        assert abs(gap) <= touching


def test_a_normal_is_left_where_it_is_if_it_would_have_to_go_too_far():
    conic, exact, point = _touching(1.0)
    z = exact + 1e-3 * np.concatenate([np.zeros(5), [0.8, 0, -0.6]])  # turned, no entry is small
    hull = Hull(conic, point)
    near, far = (refined(conic.cones, hull, z, 1e-2, most) for most in (1e-6, 0.1))
    assert np.linalg.norm(near.z - exact) > 1e-4 and hull.residual(near.z) > 1e-4
    assert far.z == pytest.approx(exact, abs=1e-12)
    assert refined(conic.cones, hull, np.concatenate([np.zeros(4), -exact[4:]]), 1e-2, 0.1) is None  # of no face


def test_how_far_a_normal_is_off_is_what_changes_along_the_hull_and_what_leaves_the_faces():
    """The ray of the ball that -N exposes is along (1, N): what of a slack is across it, in sizes of the set."""
    conic, exact, point = _touching(2.0)
    hull = Hull(conic, point)
    found = refined(conic.cones, hull, exact, 1e-3, 0.01)
    away = np.array([0.0, 0.3, 0.0])
    slack = conic.slack(point + away)
    other = type(found)(found.z, found.faces, slack)
    assert distance_off(hull, other) == pytest.approx(0.3 / hull.sizes[4:].max(), rel=1e-9)
    turned = type(found)(exact + np.concatenate([[0.1], np.zeros(7)]), found.faces, found.slack)
    assert distance_off(hull, turned) == pytest.approx(hull.residual(turned.z), rel=1e-6)
    assert hull.residual(turned.z) > 0.01
