"""Cone programs: optima of linear and quadratic functions by their conditions, asked again and again."""

import numpy as np
import pytest
from scipy import sparse

from dpcvx.barriers import Nonnegative, Product, SecondOrder
from dpcvx.sets.solvers.cone_program import Answer, ConeProgram


def _simplex(n, quadratic=None):
    A, E = -sparse.eye_array(n, format="csr"), sparse.csr_array(np.ones((1, n)))
    return ConeProgram(A, np.zeros(n), Product([Nonnegative(n)]), E, np.ones(1), quadratic=quadratic)


@pytest.mark.parametrize("seed", range(3))
def test_a_quadratic_function_is_least_where_its_gradient_and_the_duals_cancel(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((4, 4))
    Q = root @ root.T + 0.1 * np.eye(4)
    program = _simplex(4, sparse.csc_array(Q))
    for q in rng.standard_normal((3, 4)):
        answer = program.minimise(q)
        level, duals = answer.dual[0], answer.dual[1:]
        assert answer.status == "Solved" and answer.usable
        assert answer.point.sum() == pytest.approx(1, abs=1e-8) and answer.point.min() >= -1e-8
        assert Q @ answer.point + q + level - duals == pytest.approx(np.zeros(4), abs=1e-7)
        assert duals.min() >= -1e-8 and answer.point @ duals == pytest.approx(0, abs=1e-7)


def test_a_program_without_equalities_has_the_duals_of_its_cones_alone():
    """min <q, v> over |v| <= 2 is -2 |q|, with the dual (|q|, q)."""
    A = sparse.csr_array(np.concatenate([np.zeros((1, 3)), -np.eye(3)]))
    program = ConeProgram(
        A, np.array([2.0, 0, 0, 0]), Product([SecondOrder(1, 4)]), sparse.csr_array((0, 3)), np.zeros(0)
    )
    for q in ([3.0, 0, 4.0], [1.0, -2.0, 2.0]):
        answer, length = program.minimise(np.array(q)), np.linalg.norm(q)
        assert answer.point == pytest.approx(-2 * np.array(q) / length, abs=1e-7)
        assert answer.dual == pytest.approx(np.append(length, q), abs=1e-6)


def test_what_is_no_number_or_no_optimum_is_not_usable():
    assert not Answer("Solved", np.array([np.nan]), np.zeros(1)).usable
    assert not Answer("PrimalInfeasible", np.zeros(1), np.zeros(1)).usable
    assert Answer("AlmostSolved", np.zeros(1), np.zeros(1)).usable
    unbounded = ConeProgram(
        sparse.csr_array([[-1.0]]), np.zeros(1), Product([Nonnegative(1)]), sparse.csr_array((0, 1)), np.zeros(0)
    )
    assert not unbounded.minimise(np.array([-1.0])).usable
