"""Membership: judged by the conic form, so outside the domain of an atom too, and never by a solver's silence."""

import cvxpy as cp
import numpy as np
import pytest
from declared_sets import DECLARED

from dpcvx import DecisionSet
from dpcvx.sets.geometry import fibre
from dpcvx.sets.oracles import membership
from dpcvx.sets.solvers.cone_program import Answer, ConeProgram


def _of(shape, make, **attributes):
    def declare():
        x = cp.Variable(shape, name="x", **attributes)
        return x, make(x)

    return declare


DOMAINS = {  # a set, and a point far outside the domain of its atom
    "inv_pos": (_of(2, lambda x: [cp.sum(cp.inv_pos(x)) <= 5, x <= 1]), [-1e6, -1e6]),
    "log_det": (_of((2, 2), lambda X: [cp.log_det(X) >= -2, cp.trace(X) <= 3], symmetric=True), -9 * np.eye(2)),
    "quad_over_lin": (_of(3, lambda x: [cp.quad_over_lin(x[:2], x[2]) + cp.exp(x[2]) <= 3]), [1.0, 1.0, -5.0]),
    "matrix_frac": (
        _of((2, 2), lambda X: [cp.matrix_frac(np.ones(2), X) + cp.norm1(X) <= 5, cp.trace(X) <= 3], symmetric=True),
        [[-1.0, 0.2], [0.2, -1.0]],
    ),
    "power": (_of(2, lambda x: [cp.sum(cp.power(x, -3)) <= 5, x <= 2]), [-3.0, -3.0]),
    "power 1.5": (_of(2, lambda x: [cp.sum(cp.power(x, 1.5)) <= 3]), [-2.0, 0.5]),
    "geo_mean": (_of(4, lambda x: [cp.geo_mean(x) >= 0.2, x <= 1]), [-0.5, -0.5, 0.5, 0.5]),
    "entr": (_of(2, lambda x: [cp.sum(cp.entr(x)) >= -1]), [-1.0, 0.5]),
    "tr_inv": (_of((2, 2), lambda X: [cp.tr_inv(X) <= 5, cp.trace(X) <= 3], symmetric=True), -np.eye(2)),
    "harmonic_mean": (_of(3, lambda x: [cp.harmonic_mean(x) >= 0.4, x <= 1]), [-1.0, -1.0, -1.0]),
}


def _minimum(S, d):
    """min <d, x> over the declaration by an independent solver."""
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(d, S.variable))), S.constraints)
    problem.solve(solver=cp.SCS, eps=1e-9, max_iters=200_000)
    return problem.value


@pytest.mark.parametrize("name", ["quad_over_lin", "entr", "harmonic_mean", "power 1.5"])
def test_a_fibre_that_cannot_be_centered_is_not_a_no(monkeypatch, name):
    """One Newton step for each stretch of the way leaves the auxiliaries off their center, but inside."""
    S = DecisionSet(*DOMAINS[name][0]())
    best = S.argmin(np.random.default_rng(0).standard_normal(S.shape))
    monkeypatch.setattr(fibre, "ITERATIONS", 1)
    monkeypatch.setattr(membership.Membership, "_farthest", lambda self, y: Answer("Panic", np.full(2, np.nan), y))
    assert all(S.contains(S.center + share * (best - S.center)) for share in (0.5, 0.9, 0.99))
    assert not S.contains(S.center + 1.01 * (best - S.center))


@pytest.mark.parametrize(("declare", "outside"), DOMAINS.values(), ids=DOMAINS)
def test_no_point_outside_the_domain_of_an_atom_is_contained(declare, outside):
    S = DecisionSet(*declare())
    assert not S.contains(outside) and not S.contains(outside, 1e-3) and S.contains(S.center)


@pytest.mark.parametrize("declare", [make for make, _ in DOMAINS.values()], ids=DOMAINS)
def test_the_boundary_in_a_random_direction_is_where_an_independent_solver_finds_it(declare):
    S = DecisionSet(*declare())
    rng = np.random.default_rng(1)
    for _ in range(2):
        d = rng.standard_normal(S.shape)
        d = d + d.T if d.ndim == 2 else d
        best = S.argmin(d)
        assert np.isclose(np.vdot(d, best), _minimum(S, d), atol=2e-5)
        assert S.contains(best, 1e-7) and S.contains(S.center + (best - S.center) * (1 - 1e-6), 0.0)
        assert not S.contains(S.center + (best - S.center) * (1 + 1e-5), 1e-7)


@pytest.mark.parametrize("declare", [*DECLARED.values()], ids=DECLARED)
def test_own_minimisers_and_projections_are_contained_and_a_little_further_out_is_not(declare):
    S = DecisionSet(*declare())
    rng = np.random.default_rng(2)
    for _ in range(3):
        d = S.unflatten(S.basis @ rng.standard_normal(S.dim))
        best, nearest = S.argmin(d), S.project(S.center + 5 * S.geometry.extent * d)
        assert S.contains(best, 1e-7) and S.contains(nearest, 1e-7)
        assert not S.contains(best + 1e-5 * (best - S.center), 1e-7)
        assert not S.contains(S.center + 1e5 * S.geometry.extent * d)


@pytest.mark.parametrize("status", ["InsufficientProgress", "NumericalError", "Panic", "AlmostSolved"])
def test_a_solver_that_gives_up_is_no_answer(status, monkeypatch):
    S = DecisionSet(*DECLARED["log_sum_exp"]())
    best = S.argmin(np.array([-1.0, -2.0, 0.5, -1.0]))
    inside, outside = S.center + 0.9999 * (best - S.center), S.center + 1.0001 * (best - S.center)
    silent = Answer(status, np.append(np.zeros(3), 0.5), np.zeros(0))
    monkeypatch.setattr(membership, "ConeProgram", _answering(silent))
    assert S.contains(inside) and S.contains(best, 1e-7) and not S.contains(outside)


def test_a_solver_that_is_sure_of_a_wrong_no_would_be_noticed_by_that_test(monkeypatch):
    S = DecisionSet(*DECLARED["log_sum_exp"]())
    best = S.argmin(np.array([-1.0, -2.0, 0.5, -1.0]))
    monkeypatch.setattr(
        membership, "ConeProgram", _answering(Answer("Solved", np.append(np.zeros(3), 0.5), np.zeros(0)))
    )
    assert not S.contains(S.center + 0.9999 * (best - S.center))


def test_a_yes_of_the_solver_is_looked_at(monkeypatch):
    S = DecisionSet(*DECLARED["log_sum_exp"]())
    best = S.argmin(np.array([-1.0, -2.0, 0.5, -1.0]))
    monkeypatch.setattr(
        membership, "ConeProgram", _answering(Answer("Solved", np.append(np.zeros(3), 2.0), np.zeros(0)))
    )
    assert not S.contains(S.center + 1.01 * (best - S.center))


def _answering(answer):
    class Silent(ConeProgram):
        def minimise(self, q):
            return answer

    return Silent


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
def test_membership_does_not_see_units(unit):
    x = cp.Variable(3, name="x")
    S = DecisionSet(x, [cp.sum(cp.huber(x / unit)) <= 2, cp.exp(x[0] / unit) <= 2])
    best = S.argmin(np.array([1.0, -2.0, 0.5]))
    assert S.contains(best, 1e-7) and not S.contains(best + 1e-5 * (best - S.center), 1e-7)
