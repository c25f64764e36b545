"""Which rows of sparse equalities are kept, in which order, and that their normal equations are solved."""

import numpy as np
import pytest
from scipy import sparse

from dpcvx.sets.solvers.factorisations import Banded, Qdldl
from dpcvx.sets.solvers.normal_equations import Equalities, NormalEquations, count_products


def _divergence(tails, heads):
    edge, ones = np.arange(len(tails)), np.ones(len(tails))
    rows = np.concatenate([tails, heads]), np.concatenate([edge, edge])
    return sparse.csr_array((np.concatenate([ones, -ones]), rows))


def _layers(width, seed):
    """From a source through layers to a target, two random edges from each node."""
    rng = np.random.default_rng(seed)
    node = 1 + np.arange(width * width).reshape(width, width)
    tails = np.concatenate([np.zeros(width, dtype=int), np.repeat(node[:-1].ravel(), 2), node[-1]])
    ahead = [rng.choice(node[i + 1], 2, replace=False) for i in range(width - 1) for _ in range(width)]
    return _divergence(tails, np.concatenate([node[0], *ahead, np.full(width, width * width + 1)]))


def _work(E):
    return Qdldl(sparse.csc_array(sparse.triu(E @ E.T))).work


@pytest.mark.parametrize("seed", range(3))
def test_kept_rows_say_as_much_as_all_of_them(seed):
    E = _layers(12, seed)
    kept = Equalities(E).kept
    assert len(set(kept)) == len(kept) == E.shape[0] - 1
    assert np.linalg.matrix_rank(E[kept].toarray()) == np.linalg.matrix_rank(E.toarray()) == len(kept)


def test_the_fullest_of_dependent_rows_is_left_out():
    E = _layers(20, 0)
    assert set(range(E.shape[0])) - set(Equalities(E).kept) <= {0, E.shape[0] - 1}  # source or target, of 20 edges each
    apart = sparse.csr_array(sparse.block_diag([E, np.ones((1, 30))]))  # fuller, but no part of what depends
    assert E.shape[0] in Equalities(apart).kept


def test_the_order_of_the_rows_costs_no_more_than_the_declared_one():
    costs = []
    for seed in range(4):
        E = _layers(20, seed)
        kept = Equalities(E).kept
        costs.append(_work(E[kept]) / _work(E[np.sort(kept)]))
    assert max(costs) <= 1
    assert min(costs) < 1  # where another order is cheaper, it is taken


@pytest.mark.parametrize("shape", [(3, 5), (40, 300)])
def test_solutions_satisfy_the_equations(shape):
    rng = np.random.default_rng(0)
    E = sparse.csr_array(sparse.random_array(shape, density=0.1, rng=rng) + sparse.eye_array(*shape))
    system, W = NormalEquations(E), rng.uniform(0.1, 2, shape[1])
    right = rng.standard_normal(shape[0])
    y = system.factorise(W).solve(right)
    assert np.abs((E * W) @ (E.T @ y) - right).max() <= 1e-12
    assert system.rows(W) == pytest.approx(E @ W, abs=1e-14)
    assert system.columns(y) == pytest.approx(E.T @ y, abs=1e-14)


def _factorised(equalities):
    return equalities.system.factorise(np.ones(equalities.system.E.shape[1]))._matrix.factorised


def test_wide_layers_are_factorised_in_a_band_unless_another_way_is_asked_for():
    class Own(Qdldl):
        pass

    E = _layers(60, 0)
    d = np.random.default_rng(1).standard_normal(E.shape[1])
    band, own = Equalities(E), Equalities(E, Own)
    assert isinstance(_factorised(band), Banded)
    assert isinstance(_factorised(own), Own)
    assert band.tangential(d) == pytest.approx(own.tangential(d), abs=1e-12)


def test_narrow_layers_are_left_to_qdldl():
    assert isinstance(_factorised(Equalities(_layers(12, 0))), Qdldl)


def _random(shape, seed=0):
    rng = np.random.default_rng(seed)
    return sparse.csr_array(sparse.random_array(shape, density=0.2, rng=rng) + sparse.eye_array(*shape))


def test_the_upper_triangle_is_that_of_the_weighted_products():
    E, W = _random((7, 30)), np.random.default_rng(1).uniform(0.1, 2, 30)
    dense = E.toarray()
    assert NormalEquations(E).upper(W).toarray() == pytest.approx(np.triu((dense * W) @ dense.T), rel=1e-12)
    wanted = sum(np.count_nonzero(column) * (np.count_nonzero(column) + 1) // 2 for column in dense.T)
    assert count_products(E) == wanted


def test_factorised_matrices_keep_their_numbers_while_others_are_made_and_serve_them_afterwards():
    E, rng = _random((7, 30)), np.random.default_rng(1)
    system, weights, right = NormalEquations(E), rng.uniform(0.1, 2, (3, 30)), rng.standard_normal(7)
    wanted = [np.linalg.solve((E.toarray() * W) @ E.toarray().T, right) for W in weights]
    first, second = (system.factorise(W) for W in weights[:2])
    assert first.solve(right) == pytest.approx(wanted[0]) and second.solve(right) == pytest.approx(wanted[1])
    solver = second._matrix
    del second
    third = system.factorise(weights[2])
    assert third._matrix is solver
    assert third.solve(right) == pytest.approx(wanted[2]) and first.solve(right) == pytest.approx(wanted[0])


def test_other_units_of_the_columns_are_those_of_the_rows_in_these_units():
    E, rng = _random((7, 30)), np.random.default_rng(1)
    unit, W, right = rng.uniform(0.1, 3, 30), rng.uniform(0.1, 2, 30), rng.standard_normal(7)
    scaled, plain = NormalEquations(E).scaled(unit), NormalEquations(sparse.csr_array(E @ sparse.diags_array(unit)))
    assert scaled.E.toarray() == pytest.approx(plain.E.toarray(), rel=1e-14)
    assert scaled.factorise(W).solve(right) == pytest.approx(plain.factorise(W).solve(right), rel=1e-9)
    assert scaled.rows(W) == pytest.approx(plain.rows(W)) and scaled.columns(right) == pytest.approx(
        plain.columns(right)
    )


@pytest.mark.parametrize("repeated", [[], [2], [0, 3]])
def test_the_nearest_solution_is_that_of_least_squares_where_rows_are_repeated_and_of_any_length(repeated):
    rng = np.random.default_rng(2)
    rows = _random((6, 20), 3).toarray() * rng.uniform(0.01, 100, (6, 1))
    E = np.concatenate([rows, np.zeros((1, 20)), -3 * rows[repeated]])
    x, v = rng.standard_normal((2, 20))
    equalities = Equalities(sparse.csr_array(E))
    assert len(equalities.kept) == 6
    wanted = v - np.linalg.pinv(E) @ (E @ v - E @ x)
    assert equalities.nearest(v, E @ x) == pytest.approx(wanted, abs=1e-10)
    assert equalities.tangential(v) == pytest.approx(v - np.linalg.pinv(E) @ (E @ v), abs=1e-10)


def test_rows_that_hardly_differ_are_kept_or_said_not_to_be_told_apart():
    rows, other = np.eye(2, 5), np.array([0.0, 0, 1, 0, 0])
    for off, kept in ((1e-2, 3), (1e-12, 2)):
        assert len(Equalities(sparse.csr_array(np.vstack([rows, rows[0] + off * other]))).kept) == kept
    with pytest.raises(np.linalg.LinAlgError, match="rounding does not tell which equalities depend on each other"):
        Equalities(sparse.csr_array(np.vstack([rows, rows[0] + 1e-5 * other])))
