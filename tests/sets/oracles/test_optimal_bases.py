"""Bases at hand answer as a solve from scratch does, to the bit, whatever was asked before."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from cutting import cut
from scipy.optimize import linprog

import decision_sets as ds
from dpcvx import DecisionSet
from dpcvx.sets.oracles import optimal_bases
from dpcvx.sets.oracles.optimal_bases import OptimalBases, _independent, _solution

ROWS = np.random.default_rng(7).standard_normal((30, 8))


def cut_cube():
    """A cube with a plane through each of some vertices: more rows are active there than there are coordinates."""
    x = cp.Variable(4, name="x")
    signs = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [-1, -1, -1, 1]])
    return DecisionSet(x, [x <= 1, x >= -1, signs @ x <= 4, x[0] + x[1] <= 2, x[2] - 2 * x[3] <= 3])


def polytope():
    x = cp.Variable(8, name="x")
    return DecisionSet(x, [ROWS @ x <= 1, x <= 3, x >= -3])


def portfolio():
    """With auxiliary coordinates, which are not unique where the turnover is not binding."""
    x = cp.Variable(6, name="x")
    held = np.array([0.3, 0.1, 0.2, 0.1, 0.2, 0.1])
    return DecisionSet(x, [x >= 0, cp.sum(x) == 1, x <= 0.5, cp.norm1(x - held) <= 0.9, cp.sum(x[:3]) <= 0.7])


def flow():
    graph = nx.DiGraph(nx.grid_2d_graph(3, 3).to_directed().edges)
    edges = [(a, b) for a, b in graph.edges if a < b]
    flow = ds.flow_polytope(nx.DiGraph(edges), (0, 0), (2, 2))
    return DecisionSet(flow.variable, flow.constraints)


def sorted_pairs():
    """The simplex and its order: equal costs make whole faces optimal."""
    x = cp.Variable(5, name="x")
    return DecisionSet(x, [cp.sum(x) == 1, x >= 0, x[0] >= x[1], x[1] >= x[2]])


def cross():
    x = cp.Variable(5, name="x")
    return DecisionSet(x, [cp.norm1(x) <= 1, x[0] <= 0.6])


SETS = {f.__name__: f for f in (cut_cube, polytope, portfolio, flow, sorted_pairs, cross)}


def bases_of(X):
    return OptimalBases.over(X.geometry.centered_form)


def questions(size, seed, count=60):
    """A walk as a learner asks, with ties, units, zeros and normals of the affine hull among its steps."""
    rng = np.random.default_rng(seed)
    total = rng.standard_normal(size)
    for step in range(count):
        total = total + 0.05 * rng.standard_normal(size)
        yield total
        if step % 3 == 0:
            yield np.round(2 * total)
        if step % 10 == 0:
            yield np.eye(size)[step // 10 % size]
            yield np.ones(size)
            yield np.zeros(size)
            yield -(10.0 ** rng.integers(-8, 9)) * total


def disagreements(X, bases):
    """Questions on which bases that have seen all earlier ones differ, in any bit, from a solver that has seen none."""
    fresh = bases_of(X)
    nothing = fresh._kept
    wrong = 0
    for c in questions(X.size, 3):
        fresh._kept = nothing
        wrong += not np.array_equal(bases.argmin(c), fresh.argmin(c))
    return wrong


@pytest.mark.parametrize("name", SETS)
def test_answers_do_not_depend_on_earlier_questions(name):
    X = SETS[name]()
    assert disagreements(X, bases_of(X)) == 0


@pytest.mark.parametrize("name", SETS)
def test_bases_that_are_not_tested_are_found_out(name, monkeypatch):
    """The teeth: without the multipliers a vertex that was optimal once is given for ever."""
    monkeypatch.setattr(optimal_bases, "_MARGIN", -np.inf)
    monkeypatch.setattr(optimal_bases, "_TILTED_MARGIN", -np.inf)
    X = SETS[name]()
    assert disagreements(X, bases_of(X)) > 10


@pytest.mark.parametrize("name", SETS)
def test_a_proposed_basis_answers_as_the_simplex_method_does(name):
    """To the bit, or it does not answer."""
    X = SETS[name]()
    bases, proposed = bases_of(X), 0
    for c in questions(X.size, 13):
        costs = bases._costs(c)
        answer = bases._proposed(costs)
        if answer is not None:
            proposed += 1
            assert np.array_equal(answer, bases._vertex(bases._solved(costs)))
    assert proposed >= 10 or name == "flow"  # where more rows meet at every vertex than there are coordinates


def test_multipliers_of_zero_prove_too_little(monkeypatch):
    """The teeth of the margin: at ties a basis at hand names another vertex than a solve from scratch."""
    monkeypatch.setattr(optimal_bases, "_MARGIN", -1e-12)
    assert sum(disagreements(X, bases_of(X)) for X in (cut_cube(), sorted_pairs(), polytope())) > 0


def test_the_vertex_that_the_solver_returned_would_tell_its_basis(monkeypatch):
    """The teeth of the active rows: bases of one vertex give it with other digits."""

    def as_returned(self, best):
        k = self._N.shape[1]
        slack = self._form.s0 - self._G @ (best.point @ self._N)
        active = np.flatnonzero(slack <= 1e-9)
        x = self._form.inside(best.point)
        basis = self._basis(active, best)
        if len(basis) == k:
            self._keep(basis, x)
        return x

    monkeypatch.setattr(OptimalBases, "_vertex", as_returned)
    assert sum(disagreements(X, bases_of(X)) for X in (cut_cube(), flow(), sorted_pairs(), polytope())) > 0


@pytest.mark.parametrize("name", SETS)
def test_most_questions_of_a_sequence_are_answered_by_a_basis_at_hand(name, monkeypatch):
    X = SETS[name]()
    bases, solved = bases_of(X), []
    solve = bases._program.optimum
    monkeypatch.setattr(bases._program, "optimum", lambda q: solved.append(q) or solve(q))
    rng = np.random.default_rng(5)
    total = rng.standard_normal(X.size)
    for _ in range(200):
        total += 0.02 * rng.standard_normal(X.size)
        bases.argmin(total)
    assert len(solved) <= 50
    assert len(bases._kept.points) <= bases._most


@pytest.mark.parametrize("name", SETS)
def test_answers_are_optimal_and_in_the_set(name):
    X = SETS[name]()
    bases, f = bases_of(X), X.geometry.centered_form
    for c in questions(X.size, 11, 25):
        x = bases.argmin(c)
        assert X.contains(x, 1e-8)
        equal = {"A_eq": f.E.toarray(), "b_eq": np.zeros(f.E.shape[0])} if f.E.shape[0] else {}
        best = linprog(f.P.T @ c / (np.abs(c).max() or 1), f.A.toarray(), f.s0, bounds=(None, None), **equal)
        value = best.fun * (np.abs(c).max() or 1) + c @ f.x0
        assert abs(c @ x - value) <= 1e-7 * max(np.abs(c).max() * X.geometry.extent, abs(value))


def test_what_is_kept_is_bounded_and_the_oldest_goes_first():
    X = polytope()
    bases = bases_of(X)
    rng = np.random.default_rng(0)
    for c in rng.standard_normal((300, 8)):
        bases.argmin(c)
        last = bases.argmin(c)
    assert len(bases._kept.points) == bases._most == len(bases._kept.margins) == len(bases._kept.maps) // 8
    assert np.array_equal(bases._kept.points[0], last) or any(np.array_equal(p, last) for p in bases._kept.points)


def test_a_basis_of_a_degenerate_vertex_is_kept_the_second_time_that_it_is_met():
    X = flow()
    bases, c = bases_of(X), np.random.default_rng(3).standard_normal(X.size)
    bases.argmin(c)
    assert not bases._kept.points and len(bases._met) == 1
    x = bases.argmin(c)
    assert len(bases._kept.points) == 1 and np.array_equal(bases._kept.points[0], x)
    plain = bases_of(polytope())
    plain.argmin(np.random.default_rng(3).standard_normal(8))
    assert len(plain._kept.points) == 1 and not plain._met


def test_large_polytopes_keep_no_bases():
    X = ds.cube(500)
    assert bases_of(X) is None
    assert bases_of(ds.cube(30)) is not None


def test_an_answer_may_be_written_to():
    """Also the second time, when it comes from what is kept."""
    bases = bases_of(polytope())
    c = np.random.default_rng(1).standard_normal(8)
    first, second, third = (bases.argmin(c) for _ in range(3))
    assert bases._kept.points
    second += 1
    third += 1
    assert np.array_equal(bases.argmin(c), first)


def test_bases_are_not_pickled_and_a_copy_answers_the_same_bits():
    X = polytope()
    rng = np.random.default_rng(2)
    covectors = rng.standard_normal((20, 8))
    answers = X.argmin(covectors)
    assert np.array_equal(X.argmin(covectors), answers)
    assert X.recognised._solvers._bases._kept.points
    twin = pickle.loads(pickle.dumps(X))
    assert "_solvers" not in twin.recognised.__dict__
    assert np.array_equal(twin.argmin(covectors[::-1])[::-1], answers)


def test_threads_share_bases():
    X = polytope()
    covectors = [c for seed in range(4) for c in questions(8, seed, 15)]
    expected = [X.argmin(c) for c in covectors]
    Y = polytope()
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(Y.argmin, covectors))
    finally:
        sys.setswitchinterval(old)
    assert all(map(np.array_equal, found, expected))


def test_every_step_of_a_solve_from_scratch_may_be_interrupted():
    X = cut_cube()
    rng = np.random.default_rng(4)
    bases, fresh = bases_of(X), bases_of(X)
    nothing = fresh._kept
    step = 0
    while True:
        c = rng.standard_normal(4)
        bases._kept, bases._met = nothing, ()
        bases.argmin(c)
        bases._kept = nothing
        if not cut(lambda c=c: bases.argmin(c), step):
            break
        fresh._kept = nothing
        assert np.array_equal(bases.argmin(c), fresh.argmin(c)), step
        assert len(bases._kept.points) == len(bases._kept.margins) <= 2, step
        step += 1
    assert step > 30


def test_dependent_rows_are_replaced_by_a_basis_with_the_same_sum():
    rng = np.random.default_rng(6)
    for k, count in ((3, 5), (6, 10), (4, 4), (5, 3)):
        rows, multipliers = rng.standard_normal((count, k)), rng.uniform(0.1, 1, count)
        left = _independent(rows, multipliers)
        assert len(left) == min(k, count)
        found = np.linalg.lstsq(rows[left].T, rows.T @ multipliers, rcond=None)[0]
        assert np.allclose(rows[left].T @ found, rows.T @ multipliers) and np.all(found > 0)


def test_a_vertex_is_solved_from_its_rows_or_refused():
    rng = np.random.default_rng(8)
    rows, y = rng.standard_normal((7, 4)), rng.standard_normal(4)
    for few in (rows[:4], rows):
        assert np.allclose(_solution(few, few @ y), y, rtol=1e-12)
    rows[:, 3] = rows[:, 0] + rows[:, 1]
    assert _solution(rows, rows @ y) is None
    assert _solution(rows[:4], rows[:4] @ y) is None
