"""Norms of points and of differences, bounded by the inequalities of a set: the values that are known, and proofs."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet, LossSet
from dpcvx.sets.geometry import envelopes
from dpcvx.sets.geometry.envelopes import epigraphs
from dpcvx.sets.geometry.norms import difference_bound, norm_bound


def _sparse_changes(size, total, each, middle=0.0, scale=1.0):
    d = cp.Variable(size)
    away = scale * d - middle
    return d, [cp.norm1(away) <= total, cp.norm_inf(away) <= each]


@pytest.mark.parametrize("units", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize(("size", "total", "each"), [(40, 0.01, 0.002), (7, 3.0, 1.25), (5, 2.0, 0.7)])
def test_a_one_norm_ball_with_a_bound_for_each_entry_has_its_exact_sizes(size, total, each, units):
    """The corners have as many entries of size `each` as fit, and one with what is left of `total`."""
    Y = LossSet(*_sparse_changes(size, total * units, each * units))
    whole = int(total / each + 1e-9)
    corner = np.append(np.full(whole, each), total - whole * each) * units
    assert Y.radius(1) == pytest.approx(total * units, rel=1e-7)
    assert Y.diameter(1) == pytest.approx(2 * total * units, rel=1e-7)
    holder = np.sqrt(total * each) * units
    for p, most in ((2, holder), (3, (total * each**2) ** (1 / 3) * units)):
        least = np.linalg.norm(corner, p)
        assert least * (1 - 1e-12) <= Y.radius(p) <= most * (1 + 1e-7)
        assert 2 * least * (1 - 1e-12) <= Y.diameter(p) <= 2 * most * (1 + 1e-7)


def test_an_epigraph_is_found_where_it_lies_off_the_origin_and_in_other_units():
    middle = np.array([1.0, -2.0, 0.5, 3.0])
    Y = LossSet(*_sparse_changes(4, 2.0, 1.5, middle, scale=4.0))
    assert Y.diameter(1) == pytest.approx(2 * 2.0 / 4, rel=1e-7)
    assert Y.radius(1) == pytest.approx((np.abs(middle).sum() + 2.0) / 4, rel=1e-7)
    above, middles = epigraphs(Y._set.geometry.conic)
    assert set(above.entry) == {0, 1, 2, 3}
    assert middles == pytest.approx(middle[above.entry] / 4, abs=1e-12)


def test_an_epigraph_is_above_the_distance_that_it_bounds():
    """At points of the lifted set; halved, as if one of the two slacks were forgotten, it is below some of them."""
    x = cp.Variable(3)
    X = DecisionSet(x, [cp.norm1(3 * x - [1, 2, -1]) + cp.abs(x[0] + 1) <= 4, x[0] == x[1] + 0.5])
    geometry, rng = X.geometry, np.random.default_rng(0)
    above, middles = epigraphs(geometry.conic)
    assert len(above.entry)
    z = geometry.chart.factor(np.zeros(geometry.chart.size)).solve(rng.standard_normal((200, geometry.chart.size)))
    z *= 0.99 / np.sqrt((z * z).sum(axis=1, keepdims=True))
    lifted = geometry.chart.lifted(z)
    values = above.value + lifted @ above.slope.toarray().T
    away = np.abs(geometry.conic.point(lifted)[:, above.entry] - middles)
    assert np.all(values >= away)
    assert not np.all(values / 2 >= away)


def test_nonnegative_sets_have_the_sum_as_their_one_norm():
    x = cp.Variable(6)
    caps = np.array([1.0, 2, 3, 4, 5, 6])
    X = DecisionSet(x, [x >= 0, x <= caps, caps @ x <= 9, cp.sum_squares(x) <= 16])
    most = cp.Problem(cp.Maximize(cp.sum(x)), X.constraints).solve(solver=cp.CLARABEL)
    assert X.recognised.radius(1) == pytest.approx(most, rel=1e-6)
    assert X.recognised.radius(1) >= most * (1 - 1e-9)


@pytest.mark.parametrize("n", [3, 6])
@pytest.mark.parametrize("p", [1, 1.5, 2, 4])
def test_boxes_and_simplices_have_their_exact_norms(n, p):
    x = cp.Variable(n)
    simplex = DecisionSet(x, [x >= 0, cp.sum(x) == 2]).geometry
    zero, two = np.zeros(n), np.full(n, 2.0)
    assert norm_bound(simplex, zero, two, p) == pytest.approx(2, rel=1e-7)
    assert difference_bound(simplex, zero, two, p) == pytest.approx(2 * 2 ** (1 / p), rel=1e-7)
    low, high = -np.arange(1.0, n + 1), 2 * np.arange(1.0, n + 1)[::-1] - 1
    box = DecisionSet(x, [x >= low, x <= high]).geometry
    reach = np.maximum(np.abs(low), np.abs(high))
    assert norm_bound(box, low, high, p) == pytest.approx(np.linalg.norm(reach, p), rel=1e-7)
    assert difference_bound(box, low, high, p) == pytest.approx(np.linalg.norm(high - low, p), rel=1e-7)


def _forced(monkeypatch, factor):
    rng = np.random.default_rng(1)

    def weights(geometry, above):
        drawn = rng.random(len(above.entry))
        weights = factor * drawn / np.bincount(above.entry, weights=drawn)[above.entry]
        return weights, np.full(geometry.chart.cones.size, np.nan), -np.inf

    monkeypatch.setattr(envelopes, "_weights", weights)


def test_whatever_weights_a_solver_gives_the_bound_holds(monkeypatch):
    """Teeth: weights that do not sum to 1 for each entry bring it below the truth."""
    declared = LossSet(*_sparse_changes(5, 1.0, 0.4))
    geometry, side = declared._set.geometry, np.full(5, 0.4)
    for factor, holds in ((1.0, True), (0.2, False)):
        _forced(monkeypatch, factor)
        assert (norm_bound(geometry, -side, side, 1) >= 1) is holds
        assert (difference_bound(geometry, -side, side, 1) >= 2) is holds


def test_a_solver_that_says_nothing_leaves_a_bound(monkeypatch):
    silent = envelopes.ConeProgram.minimise

    def minimise(self, q):
        answer = silent(self, q)
        return type(answer)("Panic", answer.point * np.nan, answer.dual * np.nan)

    declared = LossSet(*_sparse_changes(5, 1.0, 0.4))
    side = np.full(5, 0.4)
    monkeypatch.setattr(envelopes.ConeProgram, "minimise", minimise)
    assert 1 <= norm_bound(declared._set.geometry, -side, side, 1) <= 2 * (1 + 1e-9)


@pytest.mark.parametrize(("total", "each"), [(1.0, 0.4), (3.0, 2.0), (1.0, 0.1), (1e-3, 4e-4), (2e3, 1.5e3)])
def test_what_a_solver_reached_is_what_is_then_proved(total, each):
    """The sum of the functions above |d_i| is the 1-norm's largest value: the total, or all entries at their ends."""
    geometry = LossSet(*_sparse_changes(5, total, each))._set.geometry
    side = np.full(5, each)
    above = envelopes.together(epigraphs(geometry.conic)[0], envelopes.in_entries(geometry.conic, np.zeros(5), side))
    weights, _, reached = envelopes._weights(geometry, above)
    assert reached == pytest.approx(min(total, 5 * each), rel=1e-6)
    assert envelopes.sum_bound(geometry, above) == pytest.approx(reached, rel=1e-6)
    assert np.all(weights >= 0) and np.bincount(above.entry, weights=weights) == pytest.approx(np.ones(5))


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_largest_sum_of_a_knapsack_is_reached_and_proved_in_any_unit(unit):
    """Of entries at most 1, 2, 3 that cost as much, 9 in all: 1 + 2, and 4/3 of the third."""
    x, caps = cp.Variable(3), np.array([1.0, 2.0, 3.0])
    geometry = DecisionSet(x, [x >= 0, x <= unit * caps, caps @ x <= 9 * unit]).geometry
    above = envelopes.in_entries(geometry.conic, np.ones(3), np.zeros(3))
    assert envelopes._weights(geometry, above)[2] == pytest.approx(unit * 13 / 3, rel=1e-6)
    assert envelopes.sum_bound(geometry, above) == pytest.approx(unit * 13 / 3, rel=1e-6)
