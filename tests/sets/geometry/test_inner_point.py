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
