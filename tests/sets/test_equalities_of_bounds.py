"""Ends of entries that an equality leaves to them, against exact arithmetic: never inside, and outside by digits."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from dpcvx import DecisionSet, DeclarationError
from dpcvx.sets.sparse_rows import EXACT, Times, parallel_groups, tighten_by_equalities


@pytest.mark.parametrize("seed", range(8))
def test_ends_are_what_the_others_leave_rounded_outward(seed):
    rng = np.random.default_rng(seed)
    E = rng.standard_normal((3, 6)) * (rng.random((3, 6)) < 0.6) * 10.0 ** rng.integers(-3, 4, 6)
    lower = np.where(rng.random(6) < 0.3, 0.0, rng.standard_normal(6))
    upper = lower + rng.uniform(0.5, 2, 6)
    inside = lower + rng.random(6) * (upper - lower)
    e = E @ inside
    low, high = lower.copy(), upper.copy()
    tighten_by_equalities(sparse.csr_array(E), e, low, high)
    least, most = ([Fraction(float(end)) for end in ends] for ends in (lower, upper))
    for i in range(6):
        ends = [(least[i], most[i])]
        for row, right in zip(E, e, strict=True):
            if row[i]:
                terms = [
                    sorted((Fraction(c) * a, Fraction(c) * b))
                    for c, a, b in zip(row.tolist(), least, most, strict=True)
                ]
                rest = [sum(t[k] for j, t in enumerate(terms) if j != i) for k in (0, 1)]
                ends.append(tuple(sorted((Fraction(float(right)) - r) / Fraction(float(row[i])) for r in rest)))
        truth = max(a for a, _ in ends), min(b for _, b in ends)
        terms = np.abs(E) @ np.maximum(np.abs(lower), np.abs(upper))
        slack = Fraction(
            max(3e-14 * t / abs(c) for t, c in zip(terms, E[:, i], strict=True) if c) if E[:, i].any() else 0.0
        )
        assert truth[0] - slack <= Fraction(float(low[i])) <= truth[0]
        assert truth[1] <= Fraction(float(high[i])) <= truth[1] + slack


def test_products_with_one_vector_after_the_other_are_those_of_the_matrix():
    M = sparse.random_array((5, 7), density=0.4, rng=np.random.default_rng(0), format="csr")
    times = Times(M)
    for vector in np.random.default_rng(1).standard_normal((3, 7)):
        assert times(vector) == pytest.approx(M.toarray() @ vector, rel=1e-14)


def test_rows_that_differ_by_rounding_are_parallel_and_by_a_little_more_are_not():
    unit = np.array([[0.6, 0.8, 0], [-0.6 - EXACT / 3, -0.8, 0], [0.6, 0.8, 3 * EXACT], [0, 0, 1], [0, 0, -1]])
    group, sign = parallel_groups(sparse.csr_array(unit))
    assert group[0] == group[1] != group[2] and group[3] == group[4] and len(set(group.tolist())) == 3
    assert sign[0] == -sign[1] == sign[2] and sign[3] == -sign[4]
    group, _ = parallel_groups(sparse.csr_array(np.eye(4)))
    assert sorted(group.tolist()) == [0, 1, 2, 3]


def test_a_map_is_told_apart_by_its_numbers_and_refused_where_it_is_none():
    x = cp.Variable(2, nonneg=True)
    made = lambda M: DecisionSet(x, [cp.sum(x) == 1], links_map=M)  # noqa: E731
    M = np.array([[1.0, 0], [2, -3], [0, 0]])
    prints = {
        made(one).fingerprint for one in (None, M, M[::-1], 2 * M, np.where(M == 0, -0.0, M), sparse.csr_array(M))
    }
    assert len(prints) == 4
    assert made(M).links_map.toarray().tolist() == M.tolist() and made(None).links_map is None
    for wrong in (np.ones((3, 3)), np.ones(2), np.array([[1.0, np.nan]]), np.array([[np.inf, 1]])):
        with pytest.raises(DeclarationError, match="must be a finite matrix with 2 columns"):
            made(wrong)
    with pytest.raises(DeclarationError, match="must be a matrix of numbers"):
        made("links")


def test_own_functions_must_be_functions_and_norms_need_an_order_of_at_least_one():
    x = cp.Variable(2, nonneg=True)
    for key in ("oracle", "vertex_sampler", "factorisation"):
        with pytest.raises(DeclarationError, match=f"{key} must be a function, not 3"):
            DecisionSet(x, [cp.sum(x) == 1], **{key: 3})
    X = DecisionSet(x, [cp.sum(x) == 1])
    assert X.norm_bound(1) >= 1
    for p in (0.999, 0, -1, np.nan):
        with pytest.raises(ValueError, match="p must be a number of at least 1"):
            X.norm_bound(p)
    with pytest.raises(ValueError, match=r"contains takes one point of shape \(2,\), not \(3, 2\)"):
        X.contains(np.ones((3, 2)))
    assert X.contains([0.5, 0.5]) and X.contains([0.5, 0.5 + 1e-10]) and not X.contains([0.5, 0.5 + 1e-8])
    assert X.support([[1.0, 2.0], [3.0, -1.0]]) == pytest.approx([2, 3]) and type(X.support([1.0, 2.0])) is float
