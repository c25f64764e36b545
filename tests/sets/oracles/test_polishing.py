"""Answers polished on their active constraints: to all digits where they are returned, and proved."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import nnls

from dpcvx import DecisionSet
from dpcvx.sets.geometry.nearest import nearest
from dpcvx.sets.oracles import conic_oracles, polishing
from dpcvx.sets.oracles.conic_oracles import ConicOracles
from dpcvx.sets.oracles.polishing import Polishing

N = 6


def _cut_ball(seed=0):
    A = np.random.default_rng(seed).standard_normal((4 * N, N))
    x = cp.Variable(N)
    return DecisionSet(x, [A @ x <= 1, cp.norm2(x) <= 0.4])


def _two_balls():
    x = cp.Variable(N)
    return DecisionSet(x, [cp.norm2(x) <= 1, cp.norm2(x - 0.3) <= 1, cp.sum(x) == 0.2])


def _cone():
    """A second-order cone whose head moves as well, cut by half-spaces."""
    rng, x = np.random.default_rng(1), cp.Variable(N)
    cone = cp.norm2(rng.standard_normal((N, N)) @ x - 0.2) <= 1 + 0.5 * x[0] - 0.3 * x[1]
    return DecisionSet(x, [cone, rng.standard_normal((2 * N, N)) @ x <= 1])


SETS = {"a ball cut by half-spaces": _cut_ball, "two balls on a plane": _two_balls, "a cone": _cone}


def _optimality(form, Q, q, w):
    """How far -f'(w) is from the cone of the normals of the constraints that are active at w."""
    slack = form.s0 - form.A @ w
    normals = [*form.E.toarray(), *(-form.E.toarray())]
    for cone, rows in form.cones:
        for k in range(cone.count):
            at = slice(rows.start + k * cone.block, rows.start + (k + 1) * cone.block)
            A, s = form.A[at].toarray(), slack[at]
            if cone.is_polyhedral and s[0] < 1e-9:
                normals.append(A[0])
            if not cone.is_polyhedral and s[0] - np.linalg.norm(s[1:]) < 1e-9:
                normals.append(A[0] - (s[1:] / np.linalg.norm(s[1:])) @ A[1:])
    return nnls(np.array(normals).T, -(Q @ w + q))[1]


@pytest.mark.parametrize("name", SETS)
def test_polished_answers_satisfy_the_optimality_conditions_to_rounding(name):
    X = SETS[name]()
    form = X.geometry.centered_form
    oracles = ConicOracles(X.geometry)
    rng = np.random.default_rng(1)
    linear = quadratic = 0
    for scale in (0.5, 1, 1, 3, 10):
        q = form.P.T @ rng.standard_normal(N)
        w = oracles._quick_linear.minimise(q / np.abs(q).max())
        if w is not None:
            linear += 1
            assert _optimality(form, np.zeros((len(w), len(w))), q / np.abs(q).max(), w) < 1e-9
        p = scale * rng.standard_normal(N)
        q = form.P.T @ (form.x0 - p) / form.size**2
        w = oracles._quick_quadratic.minimise(q)
        if w is not None:
            quadratic += 1
            Q = (form.P.T @ form.P).toarray() / form.size**2
            assert _optimality(form, Q, q, w) < 1e-9 * np.abs(q).max()
    assert linear >= 4 and quadratic >= 4


@pytest.mark.parametrize("name", [name for name in SETS if name != "a cone"])
def test_polished_projections_are_those_of_the_central_path(name):
    X = SETS[name]()
    for p in np.random.default_rng(2).standard_normal((3, N)):
        own = X.geometry.chart.point(nearest(X.geometry.chart, p, 1e-14 * X.geometry.extent**2))
        assert np.abs(X.project(p) - own).max() < 3e-7 * X.geometry.extent


def test_an_answer_with_the_wrong_active_constraints_is_not_returned():
    X = _cut_ball()
    form = X.geometry.centered_form
    oracles = ConicOracles(X.geometry)
    q = form.P.T @ np.random.default_rng(3).standard_normal(N)
    q /= np.abs(q).max()
    answer = oracles._quick_linear._program.minimise(q)
    polishing = Polishing.of(form)
    right = polishing.polished(q, answer.point, answer.dual)
    assert right is not None
    active = np.flatnonzero(answer.dual > 1e-2 * answer.dual.max())
    for wrong in active[:3]:  # one that is active is left out
        dual = answer.dual.copy()
        dual[wrong] = 0.0
        found = polishing.polished(q, answer.point, dual)
        assert found is None or np.abs(found - right).max() < 1e-8
    idle = np.argsort(answer.dual[: 4 * N])[:3]
    for wrong in idle:  # one that is idle is taken for active
        dual = answer.dual.copy()
        dual[wrong] = 10 * dual.max()
        found = polishing.polished(q, answer.point, dual)
        assert found is None or np.abs(found - right).max() < 1e-8
    assert polishing.polished(q, answer.point, np.zeros_like(answer.dual)) is None
    assert polishing.polished(q, answer.point, answer.dual + 1e3) is None  # more rows than coordinates


def test_only_half_lines_and_second_order_cones_are_polished():
    S = cp.Variable((2, 2), PSD=True)
    assert Polishing.of(DecisionSet(S, [cp.trace(S) <= 1, S[0, 0] >= 0.1]).geometry.centered_form) is None
    x = cp.Variable(3)
    assert Polishing.of(DecisionSet(x, [cp.log_sum_exp(x) <= 1, x >= -1]).geometry.centered_form) is None


def _power_ball():
    x = cp.Variable(3)
    return DecisionSet(x, [cp.pnorm(x, 2.5, approx=False) <= 1, x[0] <= 0.7])


def test_a_gap_bounds_how_far_a_projection_is_from_the_nearest_point():
    X = _power_ball()
    oracles, form = ConicOracles(X.geometry), X.geometry.centered_form
    rng = np.random.default_rng(4)
    for _ in range(4):
        p = 2 * rng.standard_normal(3)
        q = form.P.T @ (form.x0 - p) / form.size**2
        answer = oracles._quadratic.minimise(q)
        x, _ = oracles._judged(answer)
        own = X.geometry.chart.point(nearest(X.geometry.chart, p, 1e-14 * form.size**2))
        excess = (np.linalg.norm(x - p) ** 2 - np.linalg.norm(own - p) ** 2) / (2 * form.size**2)
        assert -1e-9 <= oracles._gap(answer, q) - excess
    poor = conic_oracles.Answer("Solved", 0 * answer.point, answer.dual)  # the center
    least = np.linalg.norm(own - p) ** 2 / (2 * form.size**2)
    assert oracles._gap(poor, q) >= np.linalg.norm(form.x0 - p) ** 2 / (2 * form.size**2) - least
    outside = conic_oracles.Answer("Solved", answer.point, -answer.dual)
    assert oracles._gap(outside, q) == np.inf


def test_an_almost_solved_projection_is_taken_where_its_gap_is_small(monkeypatch):
    """Teeth: with an infinite gap the central path is asked."""
    X = _power_ball()
    p = np.array([1.5, -1.0, 0.4])
    expected = X.project(p)

    def never(*_):
        raise AssertionError("the central path was asked")

    monkeypatch.setattr(conic_oracles, "nearest", never)
    real = conic_oracles.ConeProgram.minimise

    def almost(program, q):
        answer = real(program, q)
        return conic_oracles.Answer("AlmostSolved", answer.point, answer.dual)

    monkeypatch.setattr(conic_oracles.ConeProgram, "minimise", almost)
    assert np.abs(X.project(p) - expected).max() < 1e-9
    monkeypatch.setattr(ConicOracles, "_gap", lambda *_: np.inf)
    with pytest.raises(AssertionError, match="central path"):
        X.project(p)


def test_programs_of_too_many_columns_or_rows_are_not_polished(monkeypatch):
    """At most as many columns as said, and four times as many rows."""
    forms = {}
    for count in (17, 18):
        A, x = np.random.default_rng(count).standard_normal((count, N)), cp.Variable(N)
        A /= np.linalg.norm(A, axis=1, keepdims=True)
        forms[count] = DecisionSet(x, [A @ x <= 0.4, cp.norm2(x) <= 0.5]).geometry.centered_form
        assert forms[count].A.shape == (count + N + 1, N)
    monkeypatch.setattr(polishing, "_MOST", N)
    assert Polishing.of(forms[17]) is not None and Polishing.of(forms[18]) is None
    monkeypatch.setattr(polishing, "_MOST", N + 1)
    assert Polishing.of(forms[18]) is not None
    monkeypatch.setattr(polishing, "_MOST", N - 1)
    assert Polishing.of(forms[17]) is None
