"""Programs with flat cones find the active constraints of a minimiser, and who polishes them proves it."""

import cvxpy as cp
import numpy as np
import pytest

import decision_sets as ds
from dpcvx import DecisionSet
from dpcvx.sets.oracles import conic_oracles, tangent_programs
from dpcvx.sets.oracles.conic_oracles import ConicOracles
from dpcvx.sets.oracles.polishing import Polishing
from dpcvx.sets.oracles.tangent_programs import TangentPrograms

N = 6


def cut_ball():
    x = cp.Variable(N)
    return DecisionSet(x, [np.random.default_rng(0).standard_normal((4 * N, N)) @ x <= 1, cp.norm2(x) <= 0.4])


def two_balls():
    x = cp.Variable(N)
    return DecisionSet(x, [cp.norm2(x) <= 1, cp.norm2(x - 0.3) <= 1, cp.sum(x) == 0.2])


def ball_in_a_box():
    x = cp.Variable(N)
    return DecisionSet(x, [cp.norm2(x - 0.5) <= 0.8, x >= 0, x <= 1])


def ball_on_a_plane():
    x = cp.Variable(N)
    return DecisionSet(x, [cp.norm2(x) <= 1, cp.sum(x) == 0.3, x[0] <= 0.2])


def cut_cone():
    """A second-order cone whose head moves as well."""
    rng, x = np.random.default_rng(1), cp.Variable(N)
    cone = cp.norm2(rng.standard_normal((N, N)) @ x - 0.2) <= 1 + 0.5 * x[0] - 0.3 * x[1]
    return DecisionSet(x, [cone, rng.standard_normal((2 * N, N)) @ x <= 1])


SETS = {f.__name__: f for f in (cut_ball, two_balls, ball_in_a_box, ball_on_a_plane, cut_cone)}


class _NoRoughSolve:
    """In place of the interior-point method: to be asked is to fail."""

    def minimise(self, q):
        raise AssertionError("the interior-point method was asked")


@pytest.mark.parametrize("name", SETS)
def test_minimisers_and_projections_need_no_interior_point_method(name):
    X = SETS[name]()
    oracles, form = ConicOracles(X.geometry), X.geometry.centered_form
    rng = np.random.default_rng(1)
    answered = 0
    for c in rng.standard_normal((30, N)):
        q, far = form.P.T @ c, oracles._toward(form.x0 + 2 * c)
        for quick, linear in ((oracles._quick_linear, q / np.abs(q).max()), (oracles._quick_quadratic, far)):
            rough = quick._tangents.minimise(linear)
            answered += rough is not None and quick._polishing.polished(linear, *rough) is not None
    assert answered >= (50 if name == "cut_cone" else 56)  # of 60


@pytest.mark.parametrize("name", SETS)
def test_the_answers_are_those_of_an_outside_solver(name):
    X = SETS[name]()
    rng = np.random.default_rng(2)
    for c in rng.standard_normal((4, N)):
        for objective, found in ((c @ X.variable, X.argmin(c)), (cp.sum_squares(X.variable - c), X.project(c))):
            problem = cp.Problem(cp.Minimize(objective), X.constraints)
            problem.solve(solver=cp.CLARABEL)
            assert X.contains(found) and np.abs(found - X.variable.value).max() < 1e-4
            X.variable.value = found
            assert objective.value <= problem.value + 1e-7


def test_programs_without_the_curvature_of_the_cones_find_less(monkeypatch):
    """The teeth: half-spaces alone never settle on a ball, whose minimiser is no vertex of them."""
    X = cut_ball()
    polishing = Polishing.of(X.geometry.centered_form)
    programs = TangentPrograms.of(polishing)
    q = X.geometry.centered_form.P.T @ np.random.default_rng(3).standard_normal(N)
    assert programs.minimise(q) is not None
    polishing.curvatures = [np.multiply.outer(a, a) for a in np.zeros((1, N))]
    polishing.Q = np.zeros((N, N))
    monkeypatch.setattr(tangent_programs, "_CLOSE", 1e-6)
    monkeypatch.setattr(tangent_programs, "_NEAR", 1e-6)
    assert programs.minimise(q) is None


def test_a_rough_answer_that_is_wrong_is_not_returned(monkeypatch):
    """It is not proved, and the interior-point method is asked."""
    X = cut_ball()
    c = np.random.default_rng(4).standard_normal(N)
    expected = X.argmin(c), X.project(c)
    monkeypatch.setattr(TangentPrograms, "minimise", lambda self, q: (0 * q, np.ones(len(self._of.s0))))
    again = cut_ball()
    assert np.allclose(again.argmin(c), expected[0], atol=1e-9) and np.allclose(
        again.project(c), expected[1], atol=1e-9
    )


def test_clipping_takes_the_steady_way():
    """Its time must not tell which losses were outside."""
    X = cut_ball()
    solvers = X.recognised._solvers
    solvers._quick_quadratic._program = _NoRoughSolve()
    p = np.random.default_rng(5).standard_normal(N)
    X.project(p)
    with pytest.raises(AssertionError, match="interior-point"):
        X.recognised.clip(p)


def test_flat_and_large_sets_have_no_tangent_programs(monkeypatch):
    assert TangentPrograms.of(Polishing.of(ds.portfolio(6).geometry.centered_form)) is None
    assert TangentPrograms.of(Polishing.of(cut_ball().geometry.centered_form)) is not None
    monkeypatch.setattr(tangent_programs, "_COORDINATES", N - 1)
    assert TangentPrograms.of(Polishing.of(cut_ball().geometry.centered_form)) is None
    assert conic_oracles._Quick.of(cut_ball().geometry.centered_form)._tangents is None


@pytest.mark.parametrize("q", [np.zeros(N), np.full(N, np.inf)])
def test_a_linear_part_without_direction_is_left_to_others(q):
    assert TangentPrograms.of(Polishing.of(cut_ball().geometry.centered_form)).minimise(q) is None
