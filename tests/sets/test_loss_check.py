"""Public losses held against their set: what is outside, where, by how much, and a set that holds them."""

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
import dpcvx
from dpcvx.sets.loss_check import _rounded


def triangle():
    l = cp.Variable(3, nonneg=True)  # noqa: E741
    return dpcvx.LossSet(l, [cp.sum(l) <= 1])


def test_minutes_in_a_set_of_shares_are_counted_and_a_scale_is_named():
    minutes = np.random.default_rng(0).uniform(3, 57, (365, 4))
    minutes[:100] /= 60
    found = box_losses(4, 0.0, 1.0).check(minutes)
    assert (found.losses, found.outside, found.first, found.ok) == (365, 265, 100, False)
    assert [one.losses for one in found.entries] == [265] * 4
    assert found.entries[0].above == pytest.approx(minutes.max() - 1) and found.entries[0].below == 0
    assert "0 <= l <= 57" in found.suggestion and "divide the losses by 57" in found.suggestion
    assert box_losses(4, 0.0, 57.0).check(minutes).ok and box_losses(4, 0.0, 1.0).check(minutes / 57).ok
    for words in ("265 of 365 losses are outside the loss set", "entry [", "not protected"):
        assert words in found.summary() and words in found._repr_html_().replace("&#x27;", "'")


def test_entries_of_a_matrix_are_named_as_they_are_indexed():
    loss = np.zeros((2, 3))
    loss[1, 2], loss[0, 1] = 4.0, -3.0
    found = box_losses((2, 3)).check(loss)
    assert [one.entry for one in found.entries] == [(1, 2), (0, 1)]
    assert (found.entries[0].above, found.entries[1].below) == (3.0, 2.0)
    assert found.distance == pytest.approx(np.sqrt(9 + 4))


def test_losses_that_break_a_joint_constraint_are_outside_though_each_entry_is_in_range():
    found = triangle().check([[0.2, 0.2, 0.2], [0.5, 0.5, 0.5], [1.0, 0.0, 0.0]])
    assert (found.outside, found.first, found.entries) == (1, 1, ())
    assert found.distance == pytest.approx(0.5 / np.sqrt(3), rel=1e-6)
    assert "join entries" in found.suggestion


def test_losses_at_the_ends_are_inside_and_those_just_beyond_are_not():
    Y = box_losses(3, 0.0, 1.0)
    assert Y.check([[0.0, 1.0, 1.0]]).ok and not Y.check([[0.0, 1.0, 1.0 + 1e-6]]).ok
    assert triangle().check([[0.0, 0.0, 1.0]]).ok and not triangle().check([[0.0, 1e-5, 1.0]]).ok


def test_nan_is_counted_by_itself_and_bad_shapes_are_refused():
    Y = box_losses(2, 0.0, 1.0)
    found = Y.check([[np.nan, 0.0], [np.inf, 5.0], [0.5, 0.5], [2.0, 0.0]])
    assert (found.not_finite, found.outside, found.first) == (2, 1, 3) and not found.ok
    assert "2 of 4 hold NaN" in found.sentence
    assert Y.check([[np.nan, 0.0]]).suggestion == "Give finite losses."
    with pytest.raises(ValueError, match="shape"):
        Y.check(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="at least one"):
        Y.check(np.zeros((0, 2)))


def test_a_set_far_wider_than_the_losses_is_told_and_one_that_fits_is_kept():
    Y = box_losses(2, 0.0, 100.0)
    assert "needs less noise" in Y.check([[0.1, 0.9], [0.5, 0.2]]).suggestion
    assert Y.check([[0.1, 90.0], [50.0, 0.2]]).suggestion == "Keep the set."


def test_suggested_sets_hold_the_losses():
    """Random scales and signs; the suggestion is read back as a box."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        losses = rng.standard_normal((20, 3)) * 10.0 ** rng.uniform(-4, 6) + rng.choice([0.0, 1e3])
        found = box_losses(3, -1e-5, 1e-5).check(losses)
        low, _, _, _, high = found.suggestion.split("such as ")[1].split(",")[0].rstrip(".").split()
        assert float(low) <= losses.min() and losses.max() <= float(high)
        ends = min(losses.min(), -1e-5), max(losses.max(), 1e-5)  # with the set as it is
        assert float(high) - float(low) <= 1.1 * (ends[1] - ends[0]) + 0.1 * np.abs(losses).max()


def test_a_simulation_tells_of_recorded_losses_that_were_clipped():
    learner = dpcvx.FTRL(ds.simplex(3), box_losses(3, 0.0, 1.0), 100, 1.0, seed=0)
    losses = np.full((100, 3), 0.5)
    assert dpcvx.simulate(learner, losses).check.ok
    assert "outside" not in str(dpcvx.simulate(learner, losses))
    losses[50] = 30.0  # not among those at which simulate looks before it starts
    result = dpcvx.simulate(learner, losses)
    assert result.check.outside == 1 and result.check.first == 50
    assert "1 of 100 losses is outside the loss set" in str(result) and "divide" in result._repr_html_()


def test_a_simulation_of_minutes_is_refused_with_a_suggestion():
    learner = dpcvx.FTRL(ds.simplex(3), box_losses(3, 0.0, 1.0), 100, 1.0, seed=0)
    with pytest.raises(dpcvx.LossOutOfSetError, match=r"round 1 is outside.*100 of 100 losses.*divide the losses by 3"):
        dpcvx.simulate(learner, np.full((100, 3), 30.0))


@pytest.mark.parametrize("power", [-9, -1, 0, 3])
def test_numbers_of_two_digits_are_suggested_as_they_are_and_others_outward(power):
    for digits in range(10, 100):
        number = float(f"{digits}e{power}")
        assert _rounded(number, True) == _rounded(number, False) == number
        assert _rounded(-number, True) == _rounded(-number, False) == -number
        assert _rounded(number * 1.0001, True) == pytest.approx((digits + 1) * 10.0**power, rel=1e-12)
        assert _rounded(number * 1.0001, False) == number
