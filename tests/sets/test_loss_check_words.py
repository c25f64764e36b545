"""What a check of losses says, word by word: sides, counts, scales, and when a set is called too wide."""

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses

from dpcvx import LossSet


def test_an_entry_is_told_with_both_sides_and_how_many_losses():
    found = box_losses(2, -1.0, 1.0).check([[3.0, 0.0], [-1.5, 0.0], [0.0, 0.5], [1.25, 2.0]])
    assert [str(one) for one in found.entries] == [
        "entry [0]: by up to 0.5 below and 2 above, in 3",
        "entry [1]: by up to 1 above, in 1",
    ]
    assert found.sentence == "3 of 4 losses are outside the loss set, by up to 2."
    assert repr(found) == "LossCheck(loss set, 4 losses, 3 outside, 0 not finite)" and str(found) == found.summary()
    assert ("range", "-1.5 to 3, of a set from -1 to 1") in found.rows()


def test_one_loss_is_outside_and_several_are():
    Y = box_losses(1, 0.0, 1.0)
    assert Y.check([[2.0]]).sentence == "1 of 1 losses is outside the loss set, by up to 1."
    assert Y.check([[2.0], [3.0], [np.nan]]).sentence == (
        "2 of 3 losses are outside the loss set, by up to 2; 1 of 3 hold NaN or an infinity."
    )
    assert Y.check([[0.5]]).sentence == "All of 1 losses are in the loss set."


@pytest.mark.parametrize(("count", "more"), [(4, None), (5, None), (6, "and 1 more"), (9, "and 4 more")])
def test_five_entries_are_shown_and_the_others_counted(count, more):
    rows = [text for key, text in box_losses(10, 0.0, 1.0).check([[2.0] * count + [0.5] * (10 - count)]).rows()[:-3]
            if key == "entry"]  # fmt: skip
    assert len(rows) == min(count, 5) + (more is not None)
    assert more is None or rows[-1] == more


def test_ends_that_hold_are_kept_in_the_suggestion():
    """Of a set with entries of several ranges the outermost ends are named."""
    loss = cp.Variable(2)
    Y = LossSet(loss, [loss >= [-3, -1], loss <= [1, 2]])
    assert Y.check([[0.0, 2.5]]).suggestion.startswith("Declare a set that holds them, such as -3 <= l <= 2.5,")
    assert Y.check([[0.0, -2.0]]).suggestion.startswith("Declare a set that holds them, such as -3 <= l <= 2,")
    assert Y.check([[-3.7, 0.0]]).suggestion.startswith("Declare a set that holds them, such as -3.7 <= l <= 2,")


@pytest.mark.parametrize(
    ("low", "high", "losses", "scale"),
    [
        (0.0, 2.0, [[5.0]], "2.5"),
        (-4.0, 2.0, [[-10.0]], "2.5"),
        (-4.0, 2.0, [[-10.0], [6.0]], "3"),
        (1.0, 2.0, [[5.0]], None),
        (-2.0, -1.0, [[-5.0]], None),
        (0.0, 2.0, [[-1.0]], None),
    ],
)
def test_a_scale_is_named_where_one_brings_all_losses_in(low, high, losses, scale):
    said = box_losses(1, low, high).check(losses).suggestion
    assert ("divide" in said) == (scale is not None)
    assert scale is None or said.endswith(f", or divide the losses by {scale}.")


def test_no_scale_is_named_for_sets_that_are_no_boxes():
    loss = cp.Variable(2)
    found = LossSet(loss, [cp.norm1(loss) <= 1]).check([[3.0, 0.0]])
    assert found.suggestion == "Declare a set that holds them, such as -1 <= l <= 3."
    joint = LossSet(loss, [cp.norm1(loss) <= 1]).check([[0.75, 0.75]])
    assert joint.suggestion == "Each entry is in its range: enlarge the constraints that join entries, by 0.354."


def test_a_set_is_too_wide_from_four_times_on_and_not_for_one_loss():
    Y = box_losses(2, 0.0, 8.0)
    assert Y.check([[1.0, 1.0], [3.0, 3.0]]).suggestion == (
        "The set is 4 times as wide as these losses: if others are like them, 1 <= l <= 3 needs less noise."
    )
    assert Y.check([[1.0, 1.0], [3.0, 3.1]]).suggestion == "Keep the set."
    assert Y.check([[1.0, 1.0]]).suggestion == "Keep the set."
    assert "wide, and they are alike" in Y.check([[1.0, 1.0], [1.0, 1.0]]).suggestion


def test_a_check_tells_the_ends_of_each_entry():
    found = box_losses((2, 2), -1.0, 1.0).check([[[0.0, 0.5], [0.25, -1.0]], [[0.1, -0.5], [0.0, 1.0]]])
    assert found.ok and found.first is None and found.distance == 0 and found.by_entry
    assert found.least.tolist() == [[0.0, -0.5], [0.0, -1.0]] and found.largest.tolist() == [[0.1, 0.5], [0.25, 1.0]]
    assert found.lower.tolist() == [[-1, -1], [-1, -1]] and found.upper.tolist() == [[1, 1], [1, 1]]
