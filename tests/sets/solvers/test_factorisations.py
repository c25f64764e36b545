"""Factorised matrices solve their systems, also with other numbers in the same places, whoever factorises them."""

import numpy as np
import pytest
from scipy import sparse

from dpcvx.sets.solvers.factorisations import Banded, Qdldl, band_order, suits_band

BOTH = pytest.mark.parametrize("way", [Qdldl, Banded])


def _upper(count, reach, seed):
    """The upper triangle of a positive definite matrix, its rows shuffled, that joins rows up to so far apart."""
    rng = np.random.default_rng(seed)
    joined = sparse.random_array((count, count), density=0.5, rng=rng)
    lower = sparse.tril(sparse.triu(joined, -reach), -1)
    matrix = sparse.csr_array(lower + lower.T + 4 * reach * sparse.eye_array(count))
    order = rng.permutation(count)
    return sparse.csc_array(sparse.triu(matrix[order][:, order]))


def _whole(upper):
    return upper.toarray() + np.triu(upper.toarray(), 1).T


@BOTH
@pytest.mark.parametrize(("count", "reach"), [(1, 1), (2, 1), (30, 3), (60, 60)])
def test_solutions_satisfy_the_equations_before_and_after_other_numbers(way, count, reach):
    upper, rng = _upper(count, reach, 0), np.random.default_rng(1)
    factorised, right = way(upper), rng.standard_normal(count)
    given = right.copy()
    assert _whole(upper) @ factorised.solve(right) == pytest.approx(right, abs=1e-12)
    other = upper.copy()
    other.data = upper.data * rng.uniform(0.9, 1.1, len(upper.data))
    factorised.refactor(other)
    assert _whole(other) @ factorised.solve(right) == pytest.approx(right, abs=1e-12)
    assert np.array_equal(right, given)


@BOTH
def test_a_matrix_that_is_not_positive_definite_is_refused_or_has_a_negative_pivot(way):
    upper = _upper(30, 3, 0)
    negative = sparse.csc_array(upper - 100 * sparse.eye_array(30))
    if way is Banded:
        with pytest.raises(np.linalg.LinAlgError, match="pivot 1 of 30 is not positive"):
            way(negative)
        factorised = way(upper)
        with pytest.raises(np.linalg.LinAlgError, match="pivot 1 of 30 is not positive"):
            factorised.refactor(negative)
    else:
        assert way(negative).pivots()[0].min() < 0


def test_a_band_as_narrow_as_the_matrix_is_found_in_any_order_of_its_rows():
    tridiagonal = sparse.diags_array([np.full(99, -1.0), np.full(100, 3.0)], offsets=[1, 0])
    order = np.random.default_rng(0).permutation(100)
    whole = sparse.csr_array(tridiagonal + sparse.triu(tridiagonal, 1).T)
    assert band_order(sparse.csc_array(tridiagonal))[1] == 1
    assert band_order(sparse.csc_array(sparse.triu(whole[order][:, order])))[1] == 1
    apart = sparse.csc_array(sparse.triu(sparse.block_diag([whole, whole])))
    rows, width = band_order(apart)
    assert sorted(rows) == list(range(200)) and width == 1


def test_a_band_is_taken_where_it_is_wide_and_holds_little_more_than_the_factor():
    full = sparse.csr_array(np.ones((100, 100)))  # of width 99, and as much work
    assert suits_band(full, 100**3 / 3)
    assert not suits_band(full, 1e5)  # QDLDL would have far less to do
    narrow = sparse.csr_array(sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(100, 100)))
    assert not suits_band(narrow, 1e9)  # LAPACK has no blocks to work in
