"""Rounds that begin where the last one ended: the same minimisers, proved, and the same bits after a checkpoint."""

import copy

import cvxpy as cp
import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from loss_sets import box_losses
from playing import play

import decision_sets as ds
import dpcvx
from dpcvx import FTRL, DecisionSet
from dpcvx.learners.full_information.ftrl import Trail
from dpcvx.regularizers import Barrier, Entropy, entropy_newton
from dpcvx.regularizers.entropy_newton import EntropyNewton
from dpcvx.sets.sizes import Sizes

STREAM = np.random.default_rng(0).uniform(-1, 1, (30, 6))


def cut_simplex():
    x = cp.Variable(6, name="x")
    return DecisionSet(x, [cp.sum(x) == 1, x >= 0, x[0] <= 0.4, x[1] + x[2] <= 0.5, x[3] >= 0.02])


def shares():
    """No equality, and entries that cannot reach zero."""
    x = cp.Variable(6, name="x")
    return DecisionSet(x, [x >= 0.01, cp.sum(x) <= 2, x <= 1.5, x[0] + 2 * x[1] <= 1])


SETS = {"portfolio": CATALOGUE["portfolio"][0], "cut simplex": cut_simplex, "shares": shares}


@pytest.fixture(scope="module", params=list(SETS))
def X(request):
    return SETS[request.param]()


def entropy(X):
    return Entropy(Sizes(X, box_losses(X.shape)))


def value(c, x):
    return float(c @ x + (x * np.log(np.maximum(x, 1e-300))).sum())


def test_entropy_minimisers_are_no_worse_than_those_of_the_cone_program(X, monkeypatch):
    monkeypatch.setattr(entropy_newton, "_FAR", 30.0)
    regularizer, rng = entropy(X), np.random.default_rng(1)
    newton, last = regularizer._newton, None
    for size in (0.0, 0.1, 0.5, 1.0, 2.0, 3.0):
        for c in size * rng.standard_normal((4, 6)):
            found = newton.minimise(c, last)
            assert found is not None
            x, last = found
            slow = regularizer._solve(c)
            assert X.contains(x, 1e-8)
            assert value(c, x) <= value(c, slow) + 1e-9
            assert np.allclose(x, slow, atol=1e-4)


def test_the_gap_tells_points_and_multipliers_that_are_not_optimal(X):
    """The teeth of the certificate: moved by 1e-4, or without a multiplier, nothing is proved."""
    newton = EntropyNewton.over(X.geometry)
    c = np.array([-2.5, 0.0, 0.3, -0.2, 0.1, 0.5])
    _, end = newton.minimise(c)
    k = X.geometry.chart.size
    z, loads = end[6 : 6 + k], end[6 + k :]
    assert newton._proved(c, z, loads)
    assert not newton._proved(c, (1 - 1e-4) * z, loads)
    assert not newton._proved(c + 1e-4 * np.eye(6)[0], z, loads)
    assert loads.max() > 1e-3 and not newton._proved(c, z, np.where(loads == loads.max(), 0.0, loads))


def test_the_slope_is_that_of_the_function(X):
    newton, rng = EntropyNewton.over(X.geometry), np.random.default_rng(3)
    chart = X.geometry.chart
    c, z = rng.standard_normal(6), 0.1 * rng.standard_normal(chart.size) / np.sqrt(chart.size)
    _, slope = newton._at(c, z)
    for i in range(chart.size):
        step = 1e-6 * np.eye(chart.size)[i]
        ends = [value(c, newton._at(c, z + sign * step)[0]) for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope[i], abs=1e-6)


def test_entries_near_zero_go_on_by_the_quadratic_model():
    newton = EntropyNewton.over(cut_simplex().geometry)
    newton._x0, newton._B = np.array([1e-10, 0.0, 1.0, 2e-10, 0.5, 0.2]), np.eye(6)
    slope = newton._at(np.zeros(6), np.zeros(6))[1]
    low = np.log(1e-10)
    assert slope == pytest.approx([low + 1, low, 1.0, np.log(2e-10) + 1, np.log(0.5) + 1, np.log(0.2) + 1])


def test_large_changes_and_curved_sets_are_left_to_the_cone_program(X):
    newton = EntropyNewton.over(X.geometry)
    assert newton.minimise(np.array([0, 0, 0, 0, 0, 100.0])) is None
    x = cp.Variable(6, nonneg=True, name="x")
    curved = DecisionSet(x, [cp.norm2(x - 1) <= 0.9])
    assert EntropyNewton.over(curved.geometry) is None
    action, end = entropy(curved).follow(np.zeros(6))
    assert end is None and curved.contains(action)
    regularizer = entropy(X)
    far = np.array([0, 0, 0, 0, 0, 100.0])
    actions, ends = regularizer.follow(np.array([np.zeros(6), far]))
    assert np.isfinite(ends[0]).all() and np.isnan(ends[1]).all()
    assert np.allclose(actions[1], regularizer._solve(far))
    again, _ = regularizer.follow(np.zeros((2, 6)), ends)
    assert np.allclose(again[0], again[1], atol=1e-7)


@pytest.mark.parametrize("kind", [Barrier, Entropy])
def test_minimisers_from_an_earlier_end_are_those_from_the_center(X, kind):
    regularizer, rng = kind(Sizes(X, box_losses(X.shape))), np.random.default_rng(4)
    c = rng.standard_normal((3, 6))
    _, end = regularizer.follow(c)
    for size in (0.02, 0.5, 30.0):
        near = c + size * rng.standard_normal((3, 6))
        warm, next_end = regularizer.follow(near, end)
        assert np.allclose(warm, regularizer.argmin(near), atol=1e-6)
        assert next_end.shape == end.shape
        assert all(X.contains(x, 1e-8) for x in warm)


def runs(X, regularizer, **options):
    return FTRL(X, box_losses(X.shape), 30, regularizer=regularizer, learning_rate=0.3, seed=3, **options)


def resumed(learner, path, break_it=lambda learner: None):
    parts = []
    for start in range(0, 30, 7):
        parts.append(play(learner, STREAM[start : start + 7]))
        dpcvx.save(learner, path)
        learner = dpcvx.load(path)
        break_it(learner)
    return np.concatenate(parts)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("regularizer", ["barrier", "entropy", "euclidean"])
@pytest.mark.parametrize("options", [{}, {"epsilon": 1e3}, {"epsilon": 1e3, "replicas": 3}], ids=str)
def test_a_resumed_run_gives_the_same_bits(X, regularizer, options, tmp_path):
    whole = play(runs(X, regularizer, **options), STREAM)
    assert np.array_equal(resumed(runs(X, regularizer, **options), tmp_path / "state"), whole)


@pytest.mark.parametrize("regularizer", ["barrier", "entropy"])
def test_a_run_that_forgets_where_it_was_gives_other_bits(regularizer, tmp_path):
    """The teeth: what a round begins from belongs to the state."""
    X = SETS["portfolio"]()

    def forget(learner):
        learner._trail = Trail(-1, None, None)

    whole = play(runs(X, regularizer), STREAM)
    other = resumed(runs(X, regularizer), tmp_path / "state", forget)
    assert not np.array_equal(other, whole) and np.allclose(other, whole, atol=1e-6)


@pytest.mark.parametrize("regularizer", ["barrier", "entropy", "euclidean"])
def test_equal_replicas_are_computed_once_and_are_the_single_run(X, regularizer, monkeypatch):
    single = play(runs(X, regularizer), STREAM)
    learner = runs(X, regularizer, replicas=4)
    rows, follow = [], learner.regularizer.follow

    def counted(covector, last=None):
        rows.append(len(covector))
        return follow(covector, last)

    monkeypatch.setattr(learner.regularizer, "follow", counted)
    actions = play(learner, STREAM)
    assert set(rows) == {1}
    assert np.array_equal(actions, np.repeat(single[:, None], 4, axis=1))
    one = runs(X, regularizer, replicas=4)
    losses = np.random.default_rng(5).uniform(-1, 1, (4, 6))
    one.act()
    one.update(losses)
    assert len(np.unique(one.act(), axis=0)) == 4  # the teeth: others are not


@pytest.mark.parametrize("regularizer", ["barrier", "entropy", "euclidean"])
def test_replicas_are_the_single_runs_of_their_losses(X, regularizer):
    """Up to 1e-6: the steps of a batch end one by one at another tolerance."""
    losses = np.random.default_rng(6).uniform(-1, 1, (12, 3, 6))
    together = play(runs(X, regularizer, replicas=3), losses)
    for k in range(3):
        assert np.allclose(play(runs(X, regularizer), losses[:, k]), together[:, k], atol=1e-6)


@pytest.mark.parametrize("regularizer", ["barrier", "entropy"])
def test_an_action_that_was_interrupted_is_found_again_to_the_bit(regularizer):
    learner = runs(SETS["portfolio"](), regularizer)
    play(learner, STREAM[:5])
    twin = copy.deepcopy(learner)
    learner._choose()  # as if an interruption had come before the round was marked as played
    assert np.array_equal(learner.act(), twin.act())


def test_large_sets_use_the_cone_program():
    assert EntropyNewton.over(ds.cube(200).geometry) is None
