"""What one person can change, declared: its sizes, and that clipping and rounding enlarge nothing."""

import copy
import pickle
import warnings

import cvxpy as cp
import numpy as np
import pytest
from declared_changes import KINDS, comes, draw, one_path, rerouted, small_sum

import dpcvx
from decision_sets import loss_ball, loss_box
from dpcvx.privacy.mechanism import Mechanism
from dpcvx.privacy.neighbours import relation_for
from dpcvx.privacy.noise import LAWS
from dpcvx.privacy.plan import plan
from dpcvx.privacy.sensitivity import Grid, sensitivity


def test_sizes_of_bounded_entries_with_a_bounded_sum_are_the_truth():
    d = cp.Variable(40)
    change = dpcvx.Change(d, [cp.norm1(d) <= 0.01, cp.norm_inf(d) <= 0.002])
    assert float(change.norm(1)) == pytest.approx(0.01, abs=1e-6)
    assert float(change.norm(2)) == pytest.approx(np.sqrt(5) * 0.002, abs=1e-6)  # 0.0044721
    assert float(change.norm(np.inf)) == pytest.approx(0.002, abs=1e-8)
    np.testing.assert_allclose(change.widths(), 0.002, rtol=1e-6)


def test_sizes_of_one_path_among_many_are_the_truth():
    comes_or_goes, replaced = one_path(5, 1000, replace=False), one_path(5, 1000)
    for change, one, two in ((comes_or_goes, 0.008, 0.008**0.5 * 1000**-0.5), (replaced, 0.016, 0.004)):
        assert float(change.norm(1)) == pytest.approx(one, rel=1e-6)
        assert float(change.norm(2)) == pytest.approx(two, rel=1e-6)
        np.testing.assert_allclose(change.widths(), 0.001, rtol=1e-6)
    path = np.zeros(40)
    path[0] = 1.0
    assert comes_or_goes.reach(path) == pytest.approx(0.001, rel=1e-6)
    assert replaced.reach(np.ones(40)) == pytest.approx(0.0, abs=1e-9)  # every path is as long
    assert comes_or_goes.reach(np.ones(40)) == pytest.approx(0.008, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_no_change_is_larger_than_its_sizes_say(kind):
    change, rng = KINDS[kind](5), np.random.default_rng(0)
    points = rng.standard_normal((7, 5))
    reaches = change.reaches(points)
    for _ in range(20):
        d = draw(change, rng)
        for p in (1, 2, np.inf):
            assert np.linalg.norm(d, p) <= float(change.norm(p)) * (1 + 1e-9)
        assert (np.abs(d) <= change.widths() * (1 + 1e-9)).all()
        assert (np.abs(points @ d) <= reaches * (1 + 1e-9) + 1e-12).all()
        assert change.contains(d) and change.contains(-d)
        assert not change.contains(1.5 * d * float(change.norm(2)) / np.linalg.norm(d))
    assert reaches[3] == pytest.approx(change.reach(points[3]))


def _worst_rounding(change, loss_set, step, rng, mechanism=None):
    """Random neighbouring losses, each start just below a place where rounding goes up."""
    lower, upper = (loss_set.flatten(end) for end in loss_set.bounding_box())
    d = draw(change, rng) * rng.choice([1.0, -1.0])
    start = rng.uniform(lower, upper) if rng.random() < 0.7 else rng.uniform(lower, upper) * 4
    units = np.abs(d) / step
    below = np.minimum((units - np.floor(units)) / 2, 0.25)
    start = (np.floor(start / step) + 0.5 - np.sign(d) * below) * step
    return start, start + d


def _distances(change, loss_set, law, step, clip, count, seed=0):
    """How far apart neighbours are once clipped and rounded, in units; the largest of many."""
    rng, grid, norm = np.random.default_rng(seed), Grid(step), LAWS[law].norm
    found = 0.0
    for _ in range(count):
        pair = [grid.round(clip(one), False) for one in _worst_rounding(change, loss_set, grid.step, rng)]
        found = max(found, float(np.linalg.norm((pair[0] - pair[1]).astype(float), norm)))
    return found


LOSSES = {
    "box": lambda: loss_box(5, 0.0, 1.0),
    "1-norm ball": lambda: loss_ball(5, 1.0),
    "2-norm ball": lambda: loss_ball(5, 2.0),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_clipping_and_rounding_enlarge_no_change(law, kind, losses):
    change, Y = KINDS[kind](5), LOSSES[losses]()
    for exponent in (-30, -14):
        one = sensitivity(Y, LAWS[law].norm, change, Grid(exponent))
        assert _distances(change, Y, law, exponent, change.clipper(Y), 200) <= one.units


def test_forgetting_the_unit_of_rounding_is_found():
    d = cp.Variable(5)
    change, Y = dpcvx.Change(d, [d >= -0.00355, d <= 0.00355]), loss_box(5, 0.0, 1.0)
    one = sensitivity(Y, 1, change, Grid(-14))
    found = _distances(change, Y, "laplace", -14, change.clipper(Y), 200)
    assert one.units - 5 < found <= one.units


@pytest.mark.parametrize(("losses", "least"), [("1-norm ball", 1.3), ("2-norm ball", 1.2)])
def test_going_to_the_nearest_loss_would_enlarge_a_change(losses, least):
    Y, rng = LOSSES[losses](), np.random.default_rng(0)
    d = cp.Variable(5)
    change = dpcvx.Change(d, [cp.norm1(d) <= 0.01])
    clip, nearest = change.clipper(Y), Y.clipper()
    stretched = 0.0
    for _ in range(300):
        start = rng.standard_normal(5)
        moved = start + draw(change, rng)
        assert np.abs(clip(moved) - clip(start)).sum() <= np.abs(moved - start).sum() * (1 + 1e-12)
        stretched = max(stretched, np.abs(nearest(moved) - nearest(start)).sum() / np.abs(moved - start).sum())
    assert stretched > least


def test_a_change_larger_than_the_losses_costs_what_replacing_them_costs():
    for Y in (loss_box(3, 0.0, 1.0), loss_ball(3, 1.0), loss_ball(3, 2.0)):
        d = cp.Variable(3)
        change = dpcvx.Change(d, [cp.norm_inf(d) <= 5.0])
        for delta in (0.0, 1e-6):
            by_change, by_round = (plan(Y, 64, 1.0, delta, neighbours=n) for n in (change, "replace"))
            assert by_change.prefix_deviation <= by_round.prefix_deviation * (1 + 1e-9)
        rng = np.random.default_rng(0)
        one = sensitivity(Y, 1, change, Grid(-20))
        clip = change.clipper(Y)
        rounded = [Grid(-20).round(clip(rng.standard_normal(3) * 3), one.toward_zero) for _ in range(60)]
        assert max(np.abs(a - b).sum() for a in rounded for b in rounded) <= one.units


def test_noise_is_never_more_than_for_a_whole_round():
    Y = loss_box(4, 0.0, 1.0)
    for make in KINDS.values():
        assert plan(Y, 64, 1.0, neighbours=make(4)).prefix_deviation < plan(Y, 64, 1.0).prefix_deviation / 10


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_nothing_changes_and_no_noise_is_drawn(delta):
    d = cp.Variable(3)
    nothing = dpcvx.Change(d, [d == 0])
    X, Y = _simplex(3), loss_box(3, 0.0, 1.0)
    learner = dpcvx.FTRL(X, Y, 20, 1.0, delta, neighbours=nothing, counter="smooth")
    free = dpcvx.FTRL(X, Y, 20, learning_rate=learner.learning_rate, regularizer=learner.regularizer)
    for loss in np.random.default_rng(0).integers(0, 2, (10, 3)):
        np.testing.assert_allclose(learner.act(), free.act(), atol=1e-7)
        learner.update(loss)
        free.update(loss)
    assert "no noise is drawn" in str(learner.certificate)
    assert learner.certificate.scale < 1e-3 * learner.certificate.grid  # of integers such noise is 0 but for e^-1000
    bandit = dpcvx.private_bandit(X, Y, 50, 1.0, neighbours=nothing)
    bandit.act()
    bandit.update(0.5)
    bandit.act()
    assert bandit.certificate.scale == 0.0 and "no noise is drawn" in str(bandit.certificate)


def _simplex(size):
    x = cp.Variable(size)
    return dpcvx.DecisionSet(x, [x >= 0, cp.sum(x) == 1])


def test_the_grid_is_fine_against_the_change_and_what_64_bits_cannot_hold_is_refused():
    Y = loss_box(40, 0.0, 1.0)

    def tiny(size):
        d = cp.Variable(40)
        return dpcvx.Change(d, [cp.norm1(d) <= size])

    for size in (1e-2, 1e-6):
        made = plan(Y, 2**10, 1.0, neighbours=tiny(size))
        assert 1.0 <= made.sensitivity.value / size <= 1.002
    with pytest.raises(OverflowError, match="64-bit integers need here"):
        plan(Y, 2**20, 1.0, neighbours=tiny(1e-9))
    assert plan(Y, 2**10, 1.0, neighbours=tiny(1e-9)).sensitivity.value < 1.1e-9


def test_gaussian_noise_goes_to_the_tree_where_rounding_of_the_toeplitz_stream_costs_more():
    Y = loss_box(40, 0.0, 1.0)
    d, e = cp.Variable(40), cp.Variable(40)
    large, tiny = dpcvx.Change(d, [cp.norm(d) <= 0.5]), dpcvx.Change(e, [cp.norm(e) <= 1e-6])
    assert plan(Y, 2**16, 1.0, 1e-6, neighbours=large).counter.key == "toeplitz"
    assert plan(Y, 2**16, 1.0, 1e-6, neighbours=tiny).counter.key == "smooth"


def test_two_declarations_of_the_same_change_have_the_same_fingerprint():
    makers = [*KINDS.values(), lambda size: one_path(3, 10), lambda size: one_path(3, 11)]
    prints = [[make(6).fingerprint for _ in range(2)] for make in makers]
    assert all(first == second for first, second in prints)
    assert len({first for first, _ in prints}) == len(prints)
    c = cp.Variable(6)
    constraints = [c >= 0, cp.sum(c) == 0.01]
    assert dpcvx.Change(c, constraints).fingerprint != dpcvx.Change(c, constraints, replace=True).fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_can_be_pickled_and_shown(kind):
    change = KINDS[kind](4)
    again = pickle.loads(pickle.dumps(change))
    assert again.fingerprint == change.fingerprint and again.norm(1) == change.norm(1)
    assert copy.deepcopy(change).declared == change.declared
    assert again.reach(np.arange(4.0)) == change.reach(np.arange(4.0))
    for text in (change.summary(), change._repr_html_(), repr(change)):
        assert "change" in text.lower()
    assert all(text in change.summary() for text in change.declared)


def test_a_variable_without_a_name_is_called_d_or_c():
    assert small_sum(3).declared == ("norm1(d) <= 0.01", "norm_inf(d) <= 0.004")
    assert "variable d of shape" in small_sum(3).summary() and "variable c of shape" in rerouted(3).summary()
    assert any("c" in text and "var" not in text and "0.01" in text for text in rerouted(3).declared)
    d = cp.Variable(2, name="moved")
    assert dpcvx.Change(d, [cp.norm1(d) <= 1]).declared == ("norm1(moved) <= 1.0",)


def test_what_is_no_change_is_refused_in_a_sentence():
    d, Y = cp.Variable(3), loss_box(3, 0.0, 1.0)
    with pytest.raises(dpcvx.UnboundedSetError, match="unbounded"):
        dpcvx.Change(d, [d >= 0])
    with pytest.raises(dpcvx.EmptySetError, match="empty"):
        dpcvx.Change(d, [d >= 1, d <= 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(dpcvx.DpcvxError, match=r"(?i)nan"):
            dpcvx.Change(d, [d >= -1, d <= np.nan])
    with pytest.raises(dpcvx.DeclarationError, match="one point only"):
        dpcvx.Change(d, [d == 0.1], replace=True)
    with pytest.raises(ValueError, match=r"shape \(4,\) and losses \(3,\)"):
        plan(Y, 8, 1.0, neighbours=small_sum(4))
    loss = cp.Variable(3)
    own = dpcvx.LossSet(loss, [loss >= 0, loss <= 1])
    with pytest.raises(ValueError, match="the variable of the losses"):
        plan(own, 8, 1.0, neighbours=dpcvx.Change(loss, [cp.norm1(loss) <= 0.1]))
    with pytest.raises(ValueError, match="a Change, not 'add'"):
        relation_for("add", Y)
    with pytest.raises(ValueError, match="a Change, not a LossSet"):
        relation_for(own, Y)
    with pytest.raises(ValueError, match="declared change leave it"):
        plan(Y, 8, 1.0, neighbours=small_sum(3), calibration="paper", counter="tree")
    with pytest.raises(ValueError, match="vector"):
        dpcvx.private_bandit(_simplex(3), Y, 8, 1.0, neighbours=small_sum(3), noise="vector", seed=0)


def test_a_person_in_several_rounds_needs_as_many_times_the_noise():
    Y = loss_box(4, 0.0, 1.0)
    once, thrice = (plan(Y, 64, 1.0, neighbours=comes(4), rounds_per_person=k) for k in (1, 3))
    assert thrice.prefix_deviation == pytest.approx(3 * once.prefix_deviation, rel=1e-2)


def test_losses_are_clipped_entry_by_entry_and_zero_is_no_exception():
    Y = loss_box(3, 0.5, 1.0)
    sums = dpcvx.PrivateSums(Y, 8, 1.0, neighbours=small_sum(3))
    assert isinstance(sums.mechanism, Mechanism)
    np.testing.assert_array_equal(sums.clipping.clipped([0.0, 0.7, 9.0]), [0.5, 0.7, 1.0])
    np.testing.assert_array_equal(sums.clipping.clipped([0.0, 0.0, 0.0]), [0.5, 0.5, 0.5])
    np.testing.assert_array_equal(sums.clipping.clipped([1e300, -1e300, 0.75]), [1.0, 0.5, 0.75])
