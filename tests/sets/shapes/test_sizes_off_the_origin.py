"""Sizes of sets around another point than the origin: between the farthest points that a search finds and a formula."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.shapes.ellipsoid import Ellipsoid
from dpcvx.sets.shapes.matrix_ball import MatrixBall
from dpcvx.sets.shapes.norm_ball import NormBall
from dpcvx.sets.shapes.outline import _dual_vector

NORMS = (1, 1.5, 2, 3, np.inf)
AWAY = np.array([2.0, -1.0, 0.5])
AXES = np.array([3.0, 1.5, 0.6])


def _declared(size, make):
    x = cp.Variable(size)
    return DecisionSet(x, make(x)).recognised


def _tilted(away):
    M = np.random.default_rng(2).standard_normal((3, 3))
    return lambda: _declared(3, lambda x: [cp.norm2(M @ (x - away)) <= 2])


def _aligned(away):
    return lambda: _declared(3, lambda x: [cp.sum_squares(cp.multiply(1 / AXES, x - away)) <= 1])


def _matrices(norm, away):
    return lambda: _declared(away.shape, lambda x: [norm(x - away) <= 1.5])


def _ball(q, axes, away):
    return lambda: _declared(3, lambda x: [cp.pnorm(cp.multiply(1 / axes, x - away), q, approx=False) <= 1])


WIDE, SQUARE = np.array([[1.0, 0, -2], [0.5, 3, 0]]), np.array([[1.0, -2], [0.5, 0]])
NONE, ALL = (), NORMS
SETS = {  # (shape, its kind, for which norms its radius is exact, and its diameter, looseness of what is not)
    "tilted ellipsoid": (_tilted(0 * AWAY), Ellipsoid, (1, 2, np.inf), (1, 2, np.inf), 1.02),
    "tilted ellipsoid away": (_tilted(AWAY), Ellipsoid, (2, np.inf), (1, 2, np.inf), 1.02),
    "aligned ellipsoid": (_aligned(0 * AWAY), Ellipsoid, ALL, ALL, 1.0),
    "aligned ellipsoid away": (_aligned(AWAY), Ellipsoid, (2, np.inf), ALL, 1.02),
    "nuclear ball": (_matrices(cp.normNuc, 0 * WIDE), MatrixBall, ALL, ALL, 1.0),
    "nuclear ball away": (_matrices(cp.normNuc, SQUARE), MatrixBall, NONE, ALL, 1.02),
    "spectral ball": (_matrices(cp.sigma_max, 0 * SQUARE), MatrixBall, (2, np.inf), (2, np.inf), 1.02),
    "spectral ball away": (_matrices(cp.sigma_max, SQUARE), MatrixBall, NONE, (2, np.inf), 1.02),
    "3-ball away": (_ball(3, AXES, AWAY), NormBall, (1, np.inf), ALL, 1.02),
    "even 3-ball away": (_ball(3, np.full(3, 2.0), AWAY), NormBall, (1, 3, np.inf), ALL, 1.02),
    "1-ball away": (_ball(1, AXES, AWAY), NormBall, ALL, ALL, 1.0),
}  # fmt: skip


def _farthest(shape, p, rng, of):
    """The largest |of(c)|_p that linear maximisation finds, each time along the covector of the last."""
    found = 0.0
    for c in rng.standard_normal((6, shape.layout.size)):
        for _ in range(8):
            d = of(c)
            found = max(found, float(np.linalg.norm(d, p)))
            c = np.eye(len(d))[np.abs(d).argmax()] * np.sign(d) if p == np.inf else _dual_vector(d, p)
    return found


@pytest.mark.parametrize("name", SETS)
def test_sizes_are_above_what_a_search_finds_and_by_little_and_exact_where_they_say_so(name):
    make, kind, radii, diameters, loose = SETS[name]
    shape, rng = make(), np.random.default_rng(0)
    assert type(shape) is kind
    for p in (1, 2, np.inf) if kind is MatrixBall else NORMS:  # of which solvers find the farthest points
        away = _farthest(shape, p, rng, shape.farthest)
        apart = _farthest(shape, p, rng, lambda c: shape.farthest(c) - shape.farthest(-c))
        radius, diameter = shape.radius(p), shape.diameter(p)
        for size, truth, exact in ((radius, away, radii), (diameter, apart, diameters)):
            assert truth * (1 - 4e-16) <= size <= truth * (1 + 1e-5 if p in exact else loose)
            assert size.kind == ("exact" if p in exact else "bound")
        assert away * (1 - 4e-16) <= shape.norm_bound(p) <= float(radius) * (1 + 1e-11 if p in radii else 1.01)
    reach = max(np.linalg.norm(shape.farthest(c) - shape.middle) for c in rng.standard_normal((200, shape.layout.size)))
    assert reach <= shape.reach <= float(shape.diameter(2)) / 2 * (1 + 1e-9)


@pytest.mark.parametrize("name", ["tilted ellipsoid away", "aligned ellipsoid"])
def test_what_is_computed_of_the_axes_of_an_ellipsoid_is_rounded_outward(name):
    shape = SETS[name][0]()
    body = shape.body
    assert body.farthest() * (1 + 1e-13) < shape.radius(2) < body.farthest() * (1 + 1e-11)
    assert body.lengths.max() * (1 + 1e-13) < shape.reach < body.lengths.max() * (1 + 1e-11)
    for p in (2, np.inf):
        assert 2 * body.stretch(p)[0] * (1 + 1e-13) < shape.diameter(p) < 2 * body.stretch(p)[0] * (1 + 1e-11)
