"""Points in the form around the center: those outside are pulled in, by as little as it takes, and others stay."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet


def _sets():
    x = cp.Variable(3)
    yield "box", DecisionSet(x, [x >= -1, x <= 2])
    yield "ball", DecisionSet(x, [cp.norm2(x) <= 1.5])
    yield "simplex", DecisionSet(x, [x >= 0, cp.sum(x) == 1])
    yield "cut", DecisionSet(x, [x >= 0, cp.sum(x) <= 1, x[0] + 2 * x[1] <= 0.7])


SETS = dict(_sets())


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("beyond", [1e-9, 1e-4, 0.05, 3.0])
def test_points_beyond_the_boundary_are_pulled_in_and_others_stay(name, beyond):
    X = SETS[name]
    form, rng = X.geometry.centered_form, np.random.default_rng(0)
    for direction in rng.standard_normal((6, form.P.shape[1])):
        w = form.along(direction)
        low, high = 0.0, 1e3
        while high - low > 1e-14 * high:  # the largest multiple of w in the set
            middle = (low + high) / 2
            low, high = (middle, high) if form.holds(-(form.A @ (middle * w))) else (low, middle)
        inside, share = form.pulled(0.9 * low * w)
        assert share == 0.0 and np.allclose(inside, form.x0 + form.P @ (0.9 * low * w), atol=1e-12)
        point, share = form.pulled((1 + beyond) * low * w)
        assert X.contains(X.unflatten(point), 1e-9)
        assert beyond / (1 + beyond) * (1 - 1e-3) <= share <= (1.0 if beyond > 0.1 else 4 * beyond)


def test_what_moves_along_equalities_is_the_nearest_to_what_was_asked():
    form = SETS["simplex"].geometry.centered_form
    for w in np.random.default_rng(1).standard_normal((5, form.P.shape[1])):
        along = form.along(w)
        assert np.allclose(form.E @ along, 0, atol=1e-12) and np.allclose(form.along(along), along, atol=1e-12)
        assert along @ (w - along) == pytest.approx(0, abs=1e-12)
        assert form.x0.sum() + (form.P @ along).sum() == pytest.approx(1, abs=1e-12)
