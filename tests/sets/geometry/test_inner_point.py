"""The package's own path of barriers: strict points where there are some, and duals that prove where there are none."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry.certificates import certify
from dpcvx.sets.geometry.hull import Hull
from dpcvx.sets.geometry.inner_point import inner_point
from dpcvx.sets.geometry.phase_one import holds_strictly


def _conic(make, n=3):
    x = cp.Variable(n, name="x")
    return lift(declare(x, make(x)))


ROOMY = {
    "ball": lambda x: [cp.norm2(x) <= 1, x[0] >= 0.5],
    "exponentials": lambda x: [cp.sum(cp.exp(x)) <= 4, x >= -2],
    "powers on a plane": lambda x: [cp.pnorm(x, 3.3, approx=False) <= 1, cp.sum(x) == 0.5],
}
EMPTY = {
    "half-space beyond a ball": lambda x: [cp.norm2(x) <= 1, cp.sum(x) >= 2],
    "ball off a plane": lambda x: [cp.norm2(x) <= 1, cp.sum(x) == 2],
    "exponentials": lambda x: [cp.sum(cp.exp(x)) <= 2.9, cp.sum(x) >= 0, cp.norm_inf(x) <= 5],
    "powers": lambda x: [cp.pnorm(x, 3.3, approx=False) <= 1, x[0] >= 1.1],
    "eigenvalues": lambda x: [cp.lambda_max(cp.bmat([[x[0], x[1]], [x[1], x[2]]])) <= 1, x[0] + x[2] >= 2.5, x <= 9],
}


@pytest.mark.parametrize("name", list(ROOMY))
def test_the_path_ends_strictly_inside_a_set_with_room(name):
    conic = _conic(ROOMY[name])
    start = np.linalg.lstsq(conic.E.toarray(), conic.e, rcond=None)[0] if len(conic.e) else np.zeros(conic.columns)
    end = inner_point(conic, start)
    assert end is not None and end.short < 0
    assert holds_strictly(conic, end.v)


@pytest.mark.parametrize("name", list(EMPTY))
def test_the_dual_of_the_path_proves_that_a_set_is_empty(name):
    conic = _conic(EMPTY[name])
    start = np.linalg.lstsq(conic.E.toarray(), conic.e, rcond=None)[0] if len(conic.e) else np.zeros(conic.columns)
    end = inner_point(conic, start)
    assert end is not None and end.short > 0
    normal = Hull(conic, end.v).projected(end.dual / np.abs(end.dual).max())
    assert certify(conic, normal, 1e3).proves_empty


@pytest.mark.parametrize("name", list(ROOMY))
def test_the_dual_of_the_path_proves_nothing_against_a_set_with_room(name):
    conic = _conic(ROOMY[name])
    start = np.linalg.lstsq(conic.E.toarray(), conic.e, rcond=None)[0] if len(conic.e) else np.zeros(conic.columns)
    end = inner_point(conic, start)
    assert end is not None
    normal = Hull(conic, end.v).projected(end.dual / np.abs(end.dual).max())
    assert not certify(conic, normal, 1.0).proves_empty


@pytest.mark.parametrize(("kind", "name"), [*(("roomy", name) for name in ROOMY), *(("empty", name) for name in EMPTY)])
@pytest.mark.parametrize("far", [0.0, 50.0])
def test_the_end_is_inside_of_the_set_enlarged_by_what_is_short_and_the_dual_in_the_dual_cone(kind, name, far):
    """The set is enlarged along d, with which the slack at the start is that of the identity, twice the size of it."""
    conic = _conic((ROOMY if kind == "roomy" else EMPTY)[name])
    v = np.random.default_rng(0).standard_normal(conic.columns) * far
    start = v - np.linalg.lstsq(conic.E.toarray(), conic.E @ v - conic.e, rcond=None)[0] if len(conic.e) else v
    end, slack = inner_point(conic, start), conic.slack(start)
    push = 2 * max(1.0, np.abs(slack).max()) * conic.cones.identity() - slack
    assert conic.E @ end.v == pytest.approx(conic.e, abs=1e-6 * (1 + far))
    assert conic.cones.interior(conic.slack(end.v) + (end.short + 1e-9) * push)
    assert (end.short < 0) == (kind == "roomy") and -1 <= end.short <= 2
    assert conic.cones.dual_interior(end.dual) and end.dual.shape == conic.b.shape
    if kind == "empty":
        assert Hull(conic, end.v).residual(end.dual / np.abs(end.dual).max()) <= 1e-4
        weight = end.dual @ push
        assert end.dual @ conic.slack(end.v) < 0 and weight > 0
        assert -(end.dual @ conic.slack(end.v)) == pytest.approx(end.short * weight, rel=0.2)
