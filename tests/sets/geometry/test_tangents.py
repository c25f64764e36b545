"""Half-spaces that touch curved sets: one point, to all of its digits, in any units and anywhere."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.errors import DpcvxError
from dpcvx.sets.geometry import normals


def _norm_ball(p, n, unit, offset, approx=True):
    """A ball of the p-norm around `offset`, in units, with a half-space that touches it, and the point."""
    a = np.random.default_rng(int(10 * p) + n).standard_normal(n)
    q = p / (p - 1)
    point = np.sign(a) * np.abs(a) ** (q - 1)
    point /= np.linalg.norm(point, p)
    x = cp.Variable(n, name="x")
    z = x / unit - offset
    ball = cp.pnorm(z, p) if approx else cp.pnorm(z, p, approx=False)
    return x, [ball <= 1, (a / (a @ point)) @ z >= 1], unit * (point + offset)


def _log_sum_exp(n, unit, offset, seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(n))
    point = np.log(weights)
    x = cp.Variable(n, name="x")
    z = x / unit - offset
    return x, [cp.log_sum_exp(z) <= 0, weights @ z >= weights @ point], unit * (point + offset)


def _check(x, constraints, point):
    S = DecisionSet(x, constraints)
    assert S.dim == 0 and S.contains(point, 1e-7)
    assert not S.contains(point + 1e-3 * np.abs(point).max())


UNITS, OFFSETS = (1e-6, 1.0, 1e6), (0.0, 0.7, 100.0)


@pytest.mark.parametrize(
    ("p", "unit", "offset", "approx"),
    [
        (3, 1e-6, 0.0, False),
        (3, 1.0, 0.7, True),
        (3.3, 1e6, 0.7, False),
        (1.5, 1e-6, 100.0, False),
        (2.5, 1.0, 0.0, True),
    ],
)
def test_a_half_space_touches_a_ball_of_a_norm_in_one_point(p, unit, offset, approx):
    _check(*_norm_ball(p, 2, unit, offset, approx))


@pytest.mark.parametrize(
    ("n", "unit", "offset", "seed"), [(2, 1.0, 0.0, 0), (3, 1e-6, 0.0, 0), (3, 1e6, 30.0, 0), (2, 1e6, 0.7, 1)]
)
def test_a_half_space_touches_log_sum_exp_in_one_point(n, unit, offset, seed):
    _check(*_log_sum_exp(n, unit, offset, seed))


@pytest.mark.slow
@pytest.mark.parametrize(("p", "n"), [*product([1.5, 2.5, 3, 3.3, 4], [2, 3])])
def test_tangents_of_norms_everywhere(p, n):
    for unit, offset in product(UNITS, OFFSETS):
        _check(*_norm_ball(p, n, unit, offset, approx=False))


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3])
def test_tangents_of_log_sum_exp_everywhere(n):
    for unit, offset, seed in product(UNITS, (0.0, 0.7, 30.0), range(2)):
        _check(*_log_sum_exp(n, unit, offset, seed))


def test_a_normal_that_is_only_constant_leaves_half_of_the_digits(monkeypatch):
    """Teeth: where the normal is not refined together with the point, that of log_sum_exp is off by more than 1e-7."""
    real = normals._across

    def blind(face):
        return 0 * real(face)

    monkeypatch.setattr(normals, "_across", blind)
    with pytest.raises((AssertionError, DpcvxError)):
        _check(*_log_sum_exp(3, 1e-6, 0.0, 0))


def test_pruning_keeps_the_notes_on_faces():
    x = cp.Variable(3, name="x")
    S = DecisionSet(x, [cp.norm2(x[:2]) <= 1, x[0] >= 1, x[2] >= 0, x[2] <= 1, x[2] <= 2], prune=True)
    assert S.dim == 1 and "reduced to a face of their cones" in S.summary()
