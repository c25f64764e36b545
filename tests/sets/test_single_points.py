"""Sets of one point, whose auxiliary variables may still move: every question has an answer."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import FTPL, FTRL, DecisionSet, LossSet, PrivateBandit, SCRiBLe

POINT = np.array([1.0, 2.0, 3.0])


def _fixed(make):
    x = cp.Variable(3, name="x")
    return x, [x == POINT, *make(x)]


def _own_auxiliaries(x):
    y = cp.Variable(2, name="y")
    return [cp.norm2(y) <= 1, y[0] <= x[0]]


POINTS = {
    "tower of cones": lambda x: [cp.pnorm(x, 3) <= 10],
    "exponential cones": lambda x: [cp.log_sum_exp(x) <= 10],
    "power cones with auxiliaries": lambda x: [cp.pnorm(x, 3, approx=False) <= 10],
    "power cone without": lambda x: [cp.PowCone3D(x[0], x[1], x[2] - 2.5, 0.3)],
    "second-order cones": lambda x: [cp.sum(cp.huber(x)) <= 20],
    "semidefinite cone": lambda x: [cp.bmat([[x[0], 1.0], [1.0, x[2]]]) >> 0],
    "own auxiliaries": _own_auxiliaries,
}


@pytest.mark.parametrize("make", POINTS.values(), ids=POINTS)
def test_every_method_answers_on_a_single_point(make):
    S = DecisionSet(*_fixed(make))
    rng = np.random.default_rng(0)
    assert S.dim == 0 and S.nu == 0 and S.basis.shape == (3, 0)
    assert np.allclose(S.center, POINT, atol=1e-12, rtol=0)
    for answer in (S.argmin(rng.standard_normal((4, 3))), S.project(10 * rng.standard_normal((4, 3)))):
        assert np.allclose(answer, POINT, atol=1e-12, rtol=0)
    assert S.contains(POINT) and S.contains(POINT + 1e-8, 1e-7) and not S.contains(POINT + 1e-6, 1e-7)
    assert not S.contains([1.0, 2.0, 3.001]) and not S.contains(0 * POINT)
    E = S.dikin(S.center)
    assert np.allclose(E.sample(rng, 5), POINT) and E.sample(rng, 5).shape == (5, 3)
    assert np.allclose(E.solve(np.ones(3)), 0) and np.allclose(E.norm(np.zeros(3)), 0)
    assert S.barrier.value(POINT) == 0 and np.allclose(S.barrier.gradient(POINT), 0)
    assert np.allclose(S.barrier.hessian(POINT), 0)
    assert np.allclose(S.barrier.argmin(np.ones(3)), POINT)
    assert np.allclose(S.bounding_box(), POINT) and np.isclose(S.norm_bound(1), 6)
    assert np.isclose(S.support(np.ones(3)), 6) and S.support_bound(np.ones(3)) >= 6
    assert np.allclose(S.vertices(), POINT[None]) and np.allclose(S.sample_vertex(POINT, rng), POINT)
    assert "dimension        0" in S.summary()
    with pytest.raises(ValueError, match="affine hull"):
        S.dikin(POINT + 1)


def test_the_units_of_a_single_point_are_its_own():
    x = cp.Variable(2, name="x")
    S = DecisionSet(x, [x == np.array([1e-9, 2e-9]), cp.log_sum_exp(x) <= 10])
    assert S.contains([1e-9, 2e-9]) and not S.contains([0, 0]) and not S.contains([1.1e-9, 2e-9])


@pytest.mark.parametrize("make", [POINTS["tower of cones"], POINTS["power cone without"]], ids=["tower", "power"])
def test_learners_play_the_single_point(make):
    X = DecisionSet(*_fixed(make))
    loss = cp.Variable(3, name="l")
    Y = LossSet(loss, [cp.norm_inf(loss) <= 1])
    for learner in (
        FTRL(X, Y, horizon=4, epsilon=1.0, seed=0),
        FTPL(X, Y, horizon=4, epsilon=1.0, seed=0),
    ):
        for _ in range(4):
            assert np.allclose(learner.act(), POINT)
            learner.update(np.ones(3))
    bandit = PrivateBandit(SCRiBLe(X, Y, 4, seed=0), 1.0, batch=1, seed=0)
    for _ in range(4):
        assert np.allclose(bandit.act(), POINT)
        bandit.update(0.5)
