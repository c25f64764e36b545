"""Linear minimisation, projection, support, bounds and the barrier argmin against a plain cvxpy solve."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from declared_sets import DECLARED
from geometry_checks import Judge
from scipy import sparse

import decision_sets as ds
from dpcvx import DecisionSet, DeclarationError, OracleError
from dpcvx.sets.oracles.conic_oracles import ConicOracles
from dpcvx.sets.shapes.box import Box
from dpcvx.sets.shapes.ellipsoid import Ellipsoid
from dpcvx.sets.shapes.euclidean_ball import EuclideanBall, FlatBall
from dpcvx.sets.shapes.outline import _dual_vector
from dpcvx.sets.shapes.simplex import CappedSimplex, Simplex
from dpcvx.sets.solvers.cone_program import Answer
from dpcvx.sets.solvers.linear_program import LinearProgram, inequality_duals

CASES = 7  # of each oracle on each of 31 sets: more than 200, of which the quick tests take some


def _cvxpy(variable, constraints, objective):
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return problem.value


@pytest.mark.sampled(3)
@pytest.mark.parametrize("cases", [3, pytest.param(CASES, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DECLARED)
def test_argmin_and_project_agree_with_a_plain_cvxpy_solve(name, cases):
    rng = np.random.default_rng(21)
    variable, constraints = DECLARED[name]()
    X = DecisionSet(variable, constraints)
    judge = Judge(variable, constraints)
    for case in range(cases):
        c = rng.standard_normal(X.shape)
        x = X.argmin(c)
        value = _cvxpy(variable, constraints, cp.sum(cp.multiply(c, variable)))
        assert (c * x).sum() == pytest.approx(value, rel=1e-6, abs=0)
        p = X.center + (0.3, 2.0, 30.0)[case % 3] * rng.standard_normal(X.shape)
        y = X.project(p)
        value = _cvxpy(variable, constraints, cp.sum_squares(variable - p))
        # relative to the value, or for points in the set or hardly outside, to a thousandth of its spread over the set
        spread = max(((end - p) ** 2).sum() for end in (x, X.argmin(-c))) - value
        assert abs(((y - p) ** 2).sum() - value) <= 1e-6 * max(value, 1e-3 * spread)
        for point in (x, y):
            assert X.contains(point)
            if not judge.user_auxiliaries:
                assert judge.violation(point) <= 1e-9


@pytest.mark.parametrize("name", ["norm1", "polytope", "log_sum_exp", "spectrahedron PSD", "interval"])
def test_the_slow_route_agrees_with_the_fast_one(name):
    rng = np.random.default_rng(22)
    variable, constraints = DECLARED[name]()
    fast, slow = DecisionSet(variable, constraints), DecisionSet(variable, constraints, solver="SCS")
    kept = variable.value
    for _ in range(3):
        c = rng.standard_normal(fast.shape)
        assert (c * fast.argmin(c)).sum() == pytest.approx((c * slow.argmin(c)).sum(), abs=2e-3)
        assert np.allclose(fast.project(2 * c), slow.project(2 * c), atol=2e-2)
        assert slow.contains(slow.argmin(c)) and slow.contains(slow.project(2 * c))
    assert variable.value is kept or np.array_equal(variable.value, kept)
    with pytest.raises(DeclarationError, match="NO_SUCH"):
        DecisionSet(variable, constraints, solver="NO_SUCH")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DECLARED)
def test_certified_bounds_hold_and_are_tight(name):
    rng = np.random.default_rng(23)
    X = DecisionSet(*DECLARED[name]())
    points = np.array([X.argmin(rng.standard_normal(X.shape)) for _ in range(8)])
    for _ in range(3):
        c = rng.standard_normal(X.shape)
        bound, value = X.support_bound(c), X.support(c)
        assert value <= bound * (1 + 1e-15) + 1e-12
        assert bound <= value + 1e-6
        assert np.all((points * c).reshape(8, -1).sum(-1) <= bound + 1e-9)
    lower, upper = X.bounding_box()
    assert lower.shape == upper.shape == X.shape
    assert np.all(points >= lower - 1e-12)
    assert np.all(points <= upper + 1e-12)
    unit = np.zeros(X.size)
    unit[0] = 1
    assert np.ravel(upper)[0] == pytest.approx(X.support(X.unflatten(unit)), abs=1e-6)
    for p in (1, 2, 3.5, np.inf):
        norms = np.linalg.norm(points.reshape(8, -1), p, axis=1)
        assert norms.max() <= X.norm_bound(p) + 1e-12
        assert X.norm_bound(p) <= np.linalg.norm(np.maximum(abs(lower), abs(upper)).ravel(), p) * (1 + 1e-12)


@pytest.mark.parametrize("name", DECLARED)
def test_barrier_argmin_is_stationary_and_warm_starts_agree(name):
    rng = np.random.default_rng(24)
    X = DecisionSet(*DECLARED[name]())
    c = 20 * rng.standard_normal(X.shape)
    x = X.barrier.argmin(c)
    total = c + X.barrier.gradient(x)
    step = X.dikin(x).solve(total)
    assert np.sqrt(max((total * step).sum(), 0)) < 1e-6
    near = X.barrier.argmin(1.05 * c)
    assert np.allclose(X.barrier.argmin(c, start=near), x, atol=1e-7)
    far = X.barrier.argmin(-40 * c)
    assert np.allclose(X.barrier.argmin(c, start=far), x, atol=1e-7)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_batch_is_projected_to_where_its_points_are_one_by_one(name):
    """By the fast way of a set, and by the one with which losses are clipped."""
    X = CATALOGUE[name][0]()
    rng = np.random.default_rng(29)
    points = X.flatten(X.center) + X.geometry.extent * rng.standard_normal((4, X.size))
    found = X.flatten(X.project(X.unflatten(points)))
    for p, x in zip(points, found, strict=True):
        assert X.contains(X.unflatten(x))
        assert np.array_equal(X.flatten(X.project(X.unflatten(p))), x)
        assert np.abs(X.recognised.project(p) - x).max() <= 1e-6 * X.geometry.extent


def test_closed_forms_are_recognised_however_they_are_written():
    x, y = cp.Variable(4, name="x"), cp.Variable(4, nonneg=True, name="y")
    for constraints in (
        [x >= 0, cp.sum(x) == 1],
        [-x <= 0, 3 * cp.sum(x) == 3],
        [x >= 0, x >= 0, x >= -1, cp.sum(x) == 1, cp.sum(x) <= 2],
    ):
        form = DecisionSet(x, constraints).recognised
        assert isinstance(form, Simplex)
    form = DecisionSet(y, [cp.sum(y) == 2.5]).recognised
    assert isinstance(form, Simplex)
    capped = DecisionSet(y, [cp.sum(y) == 2, y <= 1]).recognised
    assert isinstance(capped, CappedSimplex) and not capped.is_simplex
    for constraints in ([cp.abs(x) <= 1], [cp.norm_inf(x) <= 1], [x <= 1, x >= -1], [cp.max(x) <= 1, cp.min(x) >= -1]):
        assert isinstance(DecisionSet(x, constraints).recognised, Box)
    shifted = (
        [cp.norm2(x - np.arange(4)) <= 2],
        [cp.sum_squares(x - np.arange(4)) <= 4],
        [cp.SOC(cp.Constant(2), x - np.arange(4))],
    )
    for constraints in shifted:
        form = DecisionSet(x, constraints).recognised
        assert isinstance(form, EuclideanBall) and form.scale == pytest.approx(2)
    assert isinstance(DecisionSet(x, [cp.norm2(cp.multiply([1, 2, 1, 1], x)) <= 1]).recognised, Ellipsoid)
    M = cp.Variable((2, 2), symmetric=True)
    assert isinstance(DecisionSet(M, [cp.norm(M, "fro") <= 1]).recognised, FlatBall)
    assert isinstance(DecisionSet(M, [M >= 0, M <= 1]).recognised, Box)


def test_closed_forms_answer_batches_and_agree_with_the_generic_route():
    rng = np.random.default_rng(25)
    weights = np.array([1.0, 2.0, 0.5, 3.0, 1.0])
    x = cp.Variable(5, name="x")
    M = cp.Variable((2, 2), symmetric=True, name="M")
    for variable, constraints in (
        (x, [x >= 0, cp.sum(x) == 1]),
        (x, [x >= 0, weights @ x == 2]),
        (x, [x >= -1, x <= weights, cp.sum(x) == 1]),
        (x, [x >= -1, x <= 1, x[0] - x[1] + 2 * x[2] == 0.3]),
        (x, [x >= -1, x <= 2, x[0] + x[1] == 0]),
        (x, [cp.norm2(x - 1) <= 2]),
        (x, [x >= -weights, x <= 1]),
        (M, [cp.norm(M, "fro") <= 1]),
        (M, [M >= 0, M <= 1, cp.trace(M) == 1]),
    ):
        X, slow = DecisionSet(variable, constraints), DecisionSet(variable, constraints, solver="CLARABEL")
        assert X.recognised.has_formulas
        c = rng.standard_normal((3, 2, *X.shape))
        for oracle, check in ((X.argmin, slow.argmin), (X.project, slow.project)):
            batch = oracle(3 * c)
            assert batch.shape == c.shape
            for index in np.ndindex(3, 2):
                assert X.contains(batch[index])
                reference = check(3 * c[index])
                if oracle == X.project:
                    assert np.allclose(batch[index], reference, atol=1e-4)
                    values = [((3 * c[index] - point) ** 2).sum() for point in (batch[index], reference)]
                else:
                    values = [(c[index] * point).sum() for point in (batch[index], reference)]
                assert values[0] == pytest.approx(values[1], rel=1e-6, abs=0)
        assert np.allclose(X.support(c)[1, 1], X.support(c[1, 1]))


def test_own_oracle_and_sampler_are_used_and_checked():
    x = cp.Variable(3, name="x")
    constraints = [x >= 0, cp.sum(x) == 1]
    calls = []

    def oracle(c):
        calls.append(c)
        return np.eye(3)[np.argmin(c)]

    X = DecisionSet(x, constraints, oracle=oracle, vertex_sampler=lambda p, rng: np.eye(3)[rng.choice(3, p=p)])
    assert np.array_equal(X.argmin([3.0, 1.0, 2.0]), [0, 1, 0]) and calls
    assert X.argmin(np.ones((4, 3))).shape == (4, 3)
    assert X.sample_vertex([0.0, 1.0, 0.0], np.random.default_rng(0))[1] == 1
    broken = DecisionSet(x, constraints, oracle=lambda c: np.ones(2))
    with pytest.raises(OracleError, match="shape"):
        broken.argmin(np.ones(3))
    missing = DecisionSet(x, constraints, oracle=lambda c: np.full(3, np.nan))
    with pytest.raises(OracleError, match="finite"):
        missing.argmin(np.ones(3))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_oracles_refuse_what_is_not_a_number(bad):
    X = DecisionSet(*DECLARED["polytope"]())
    for oracle in (X.argmin, X.project, X.support):
        with pytest.raises(ValueError, match="NaN"):
            oracle(np.full(4, bad))
    assert not X.contains(np.full(4, bad))
    with pytest.raises(ValueError, match="complex"):
        X.argmin(np.full(4, 1j))
    with pytest.raises(ValueError, match="shape"):
        X.project(np.zeros(5))


def test_sets_can_be_pickled_copied_and_shared_by_threads():
    rng = np.random.default_rng(26)
    covectors = rng.standard_normal((40, 4))
    for name in ("polytope", "log_sum_exp", "norm1", "norm2"):
        X = DecisionSet(*DECLARED[name]())
        expected = np.array([(c * X.argmin(c)).sum() for c in covectors])
        twins = copy.deepcopy(X), pickle.loads(pickle.dumps(X))
        for twin in twins:
            assert (covectors[0] * twin.argmin(covectors[0])).sum() == pytest.approx(expected[0], abs=1e-6)
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(X.argmin, covectors))
            assert all(pool.map(X.contains, answers))
        assert np.allclose((covectors * answers).sum(axis=1), expected, atol=1e-6)


def test_balls_survive_huge_and_tiny_numbers():
    x = cp.Variable(3, name="x")
    X = DecisionSet(x, [cp.norm2(x) <= 1])
    for size in (1e300, 1e-300):
        assert np.allclose(X.argmin(np.full(3, size)), -np.sqrt(1 / 3))
    assert np.allclose(X.project(np.full(3, 1e200)), np.sqrt(1 / 3))


def test_membership_measures_every_entry_in_its_own_width():
    x = cp.Variable(3, name="x")
    X = DecisionSet(x, [x[0] >= 0, x[0] <= 1e6, x[1] + x[2] == 1, x[1:] >= 0])
    assert X.contains([5, 0.5, 0.5]) and not X.contains([5, 0.5, 0.5005])
    Y = DecisionSet(x, [x[0] >= 1e6, x[0] <= 1e6 + 1, x[1] == 0, cp.abs(x[2]) <= 1])
    assert Y.contains([1e6 + 0.5, 0, 0]) and not Y.contains([1e6 + 0.5, 1e-7, 0])


@pytest.mark.parametrize("seed", [1, 3, 4, 6, 7, 8, 10, 11, 12, 13, 14, 15])
def test_random_flows_have_the_dimension_of_their_live_part(seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(14, 0.22, seed=seed, directed=True)
    dag = nx.DiGraph([(a, b) for a, b in graph.edges if a < b])
    dag.add_nodes_from(range(14))
    reach, back = nx.descendants(dag, 0) | {0}, nx.ancestors(dag, 13) | {13}
    assert 13 in reach
    live = dag.subgraph(reach & back)
    expected = live.number_of_edges() - live.number_of_nodes() + 1
    edges = list(dag.edges)
    x = cp.Variable(len(edges), nonneg=True, name="flow")
    B = np.zeros((14, len(edges)))
    for k, (a, b) in enumerate(edges):
        B[a, k], B[b, k] = 1, -1
    X = DecisionSet(x, [B @ x == np.eye(14)[0] - np.eye(14)[13]])
    assert X.dim == expected
    assert X.contains(X.argmin(rng.standard_normal(len(edges))))


def _plans():
    x = cp.Variable(3, nonneg=True)
    return DecisionSet(x, [cp.sum(x) == 1, x[2] <= 0.4, x[0] + x[1] >= 0.5, x[0] <= 0.8])


SIGNED = {"simplex": ds.simplex(4), "cross-polytope": ds.norm_ball(3, 1), "matrices": ds.nuclear_ball(2, 3)}


@pytest.mark.parametrize("name", [*SIGNED, "plans"])
def test_no_zero_of_an_answer_is_printed_with_a_sign(name):
    X = SIGNED[name] if name in SIGNED else _plans()
    c = np.random.default_rng(0).integers(-3, 4, (50, *X.shape)).astype(float)
    for answers in (X.argmin(c), X.project(c), X.argmin(c[0]), X.project(c[0])):
        assert not (np.signbit(answers) & (answers == 0)).any()


def test_multipliers_of_a_linear_program_prove_its_optimum():
    """q + A'y = 0 with y >= 0 on the rows that hold with equality, also where bounds have coefficients of their own."""
    rng = np.random.default_rng(0)
    bounds = np.vstack([2.0 * np.eye(3), -0.5 * np.eye(3)])
    A = sparse.csr_array(np.vstack([rng.standard_normal((4, 3)), bounds]))
    b = np.concatenate([rng.uniform(1, 2, 4), np.full(6, 3.0)])
    program = LinearProgram.over(A, b, sparse.csr_array((0, 3)))
    for q in rng.standard_normal((10, 3)):
        best = program.optimum(q)
        y = inequality_duals(best, A)
        assert np.allclose(q + A.T @ y, 0, atol=1e-9) and (y >= 0).all()
        assert y @ (b - A @ best.point) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 7])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_dual_vectors_reach_the_norm_whatever_the_size(p, size):
    d = size * np.array([0.3, -2.0, 0.0, 1.1])
    c, dual = _dual_vector(d, p), np.inf if p == 1 else p / (p - 1)
    assert np.linalg.norm(c, dual) == pytest.approx(1, rel=1e-12)
    assert c @ (d / size) == pytest.approx(np.linalg.norm(d / size, p), rel=1e-12)


@pytest.mark.parametrize("mirrored", [False, True])
def test_an_answer_that_is_almost_solved_is_not_the_nearest_point_without_a_proof(mirrored):
    """Also not at -p, where the sum with p vanishes, though not the distance."""
    x = cp.Variable(2)
    X = DecisionSet(x, [cp.norm2(x) <= 1, cp.norm2(x - 0.3) <= 1, x[0] >= 0.2])
    oracles, form = ConicOracles(X.geometry), X.geometry.centered_form
    p = np.array([-0.5, 0.1])
    claimed = -p if mirrored else np.array([0.6, 0.3])

    class AlmostSolved:
        def minimise(self, q):
            point = np.linalg.solve(form.P.toarray(), claimed - form.x0)
            return Answer("AlmostSolved", point, np.concatenate([np.zeros(len(form.E.toarray())), form.s0]))

    oracles._quick_quadratic, oracles._quadratic = None, AlmostSolved()
    assert X.contains(claimed)
    assert oracles.project(p) == pytest.approx([0.2, 0.1], abs=1e-5)
