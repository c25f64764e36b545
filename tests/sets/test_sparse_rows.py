"""Arithmetic on sparse rows against dense arithmetic."""

import numpy as np
import pytest
from scipy import sparse

from dpcvx.sets.sparse_rows import (
    block_sums,
    column_sizes,
    column_squares,
    entry_bounds,
    parallel_groups,
    row_norms,
    row_sizes,
    rows_times,
)

M = np.array([[3.0, 0, -4], [0, 0, 0], [0, 5, 12]])
S = sparse.csr_array(M)


def test_norms_and_sizes_of_rows_and_columns():
    assert row_norms(S) == pytest.approx([5, 0, 13])
    assert row_sizes(S) == pytest.approx([4, 0, 12])
    assert column_sizes(S) == pytest.approx([3, 5, 12])
    assert column_squares(S) == pytest.approx([9, 25, 160])
    assert row_sizes(sparse.csr_array((3, 0))).tolist() == [0, 0, 0]
    assert column_sizes(sparse.csr_array((0, 2))).tolist() == [0, 0]


@pytest.mark.parametrize("leading", [(), (2,), (2, 4)])
def test_products_keep_leading_axes(leading):
    rows = np.random.default_rng(0).standard_normal((*leading, 3))
    wide = sparse.csr_array(M[:, :2])
    assert rows_times(rows, wide) == pytest.approx(rows @ M[:, :2])


def test_bounds_of_single_entries_are_only_tightened():
    A = sparse.csr_array(np.array([[2.0, 0], [-1, 0], [0, 4], [0, 1], [0, -0.5]]))
    lower, upper = np.array([-5.0, -5]), np.array([5.0, 5])
    entry_bounds(A, np.array([6.0, 1, 4, 20, 100]), lower, upper)
    assert upper == pytest.approx([3, 1]) and lower == pytest.approx([-1, -5])


def test_blocks_are_added_up():
    assert (block_sums(np.array([0, 0, 2])) @ np.array([1.0, 2, 4])).tolist() == [3, 0, 4]
    assert block_sums(np.zeros(0, dtype=int)).shape == (0, 0)


def test_parallel_rows_share_a_direction_and_tell_their_side():
    unit = np.array([[0.6, 0.8], [-0.6, -0.8], [0.8, 0.6], [0.6, 0.8], [0.6 + 1e-10, 0.8]])
    group, sign = parallel_groups(sparse.csr_array(unit))
    assert group[0] == group[1] == group[3] and len({group[0], group[2], group[4]}) == 3
    assert sign[0] == -sign[1] == sign[3] and set(sign) == {1.0, -1.0}
    assert sorted(set(group)) == [0, 1, 2]
