"""Changes of the catalogue: what they hold, and how large they are."""

import cvxpy as cp
import numpy as np
import pytest
from declared_changes import grid_graph

import decision_sets as ds
import dpcvx
from dpcvx.privacy.plan import plan


def _losses():
    bounded, whole, free = cp.Variable(3, bounds=[0, 2]), cp.Variable((2, 2), PSD=True), cp.Variable(2)
    return [
        ds.loss_box(3, 0.0, 1.0),
        ds.loss_ball((2, 2), 1.0),
        dpcvx.LossSet(bounded, [cp.sum(bounded) <= 3]),
        dpcvx.LossSet(whole, [cp.trace(whole) <= cp.sum(free), cp.norm(free) <= 1]),
    ]


@pytest.mark.parametrize("losses", range(4))
def test_a_share_is_one_nth_of_all_differences_of_losses(losses):
    Y, rng = _losses()[losses], np.random.default_rng(losses)
    change = ds.share(Y, 50)
    for p in (1, 2, np.inf):
        whole = Y.diameter(p)
        near = 1e-6 if whole.kind == "exact" else 1e-2  # bounds are sought anew, and end a little above or below
        assert float(change.norm(p)) == pytest.approx(float(whole) / 50, rel=near)
    x = rng.standard_normal(Y.shape)
    low, high = Y.range(x)
    assert change.reach(x) == pytest.approx((high - low) / 50, rel=1e-6)
    first, second = (Y.argmin(c) for c in rng.standard_normal((2, *Y.shape)))
    assert change.contains((first - second) / 50)
    assert not change.contains((Y.argmin(x) - Y.argmin(-x)) / 40)


def test_one_person_alone_is_the_whole_round():
    for Y in (ds.loss_box(3, 0.0, 1.0), ds.loss_ball(3, 1.0)):
        alone, whole = (plan(Y, 64, 1.0, neighbours=by) for by in (ds.share(Y, 1), "replace"))
        assert alone.prefix_deviation == pytest.approx(whole.prefix_deviation, rel=1e-6)


def test_one_path_is_a_path_that_comes_or_becomes_another():
    graph = grid_graph(4)
    X = ds.flow_polytope(graph, (0, 0), (3, 3))
    first, second = X.argmin(np.arange(24.0)), X.argmin(-np.arange(24.0))
    replaced, comes = (ds.one_path(graph, (0, 0), (3, 3), 100, replace=replace) for replace in (True, False))
    assert replaced.contains((first - second) / 100) and not replaced.contains(first / 100)
    assert comes.contains(first / 100) and comes.contains(-first / 100) and not comes.contains((first - second) / 100)
    assert float(replaced.norm(1)) == pytest.approx(0.12, rel=1e-6)
    assert float(comes.norm(1)) == pytest.approx(0.06, rel=1e-6)
    with pytest.raises(ValueError, match="path"):
        ds.one_path(graph, (3, 3), (0, 0), 100)


def test_few_entries_move_by_little():
    change = ds.few_entries((2, 3), 2, 0.1)
    assert float(change.norm(1)) == pytest.approx(0.2) and float(change.norm(np.inf)) == pytest.approx(0.1)
    assert float(change.norm(2)) == pytest.approx(0.1 * 2**0.5, rel=1e-6)
    assert change.contains([[0.1, 0, 0], [0, -0.1, 0]]) and not change.contains(np.full((2, 3), 0.1))
    assert float(ds.few_entries(3, 5, 0.1).norm(1)) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ds.share(ds.loss_box(2), 0), "people must be a whole number of at least 1, not 0"),
        (lambda: ds.few_entries(3, 0, 1.0), "k must be a whole number"),
        (lambda: ds.few_entries(3, 1, -1.0), "a must be"),
    ],
)
def test_numbers_that_make_no_change_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
