"""The sizes of a declared change and what is made of them, against their formulas, on either side of every limit."""

import math

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import Change, DecisionSet, LossSet
from dpcvx.privacy.neighbours import relation_for
from dpcvx.privacy.sensitivity import changed_entries, changed_units
from dpcvx.sets.sizes import sizes_of

FLAT = 2.0**-30
OUTWARD = 1 + 1e-9


def between(lower, upper, **options):
    d = cp.Variable(len(lower))
    return Change(d, [d >= np.array(lower, dtype=float), d <= np.array(upper, dtype=float)], **options)


def box(lower, upper):
    loss = cp.Variable(len(lower))
    return LossSet(loss, [loss >= np.array(lower, dtype=float), loss <= np.array(upper, dtype=float)])


SLANTED = between([-3.0, 1.0, 0.0], [1.0, 2.0, 0.0])  # |d| <= (3, 2, 0)
CONTRIBUTED = between([-3.0, 1.0, 0.0], [1.0, 2.0, 0.0], replace=True)  # |d| <= (4, 1, 0)


def test_a_change_reaches_as_far_as_its_farther_end_and_a_contribution_as_both_are_apart():
    x = np.array([1.0, -2.0, 5.0])  # <c, x> from -3 - 4 to 1 - 2
    assert SLANTED.reach(x) == pytest.approx(7) and CONTRIBUTED.reach(x) == pytest.approx(6)
    assert SLANTED.reach(-x) == pytest.approx(7) and CONTRIBUTED.reach(-x) == pytest.approx(6)
    assert SLANTED.reaches(np.array([x, [0, 1, 0]])) == pytest.approx([7, 2])
    assert CONTRIBUTED.reaches(np.array([x, [0, 1, 0]])) == pytest.approx([6, 1])
    assert SLANTED.widths() == pytest.approx([3, 2, 0]) and CONTRIBUTED.widths() == pytest.approx([4, 1, 0])
    for p, ours, theirs in ((1, 5, 5), (2, math.sqrt(13), math.sqrt(17)), (np.inf, 3, 4)):
        assert float(SLANTED.norm(p)) == pytest.approx(ours) and float(CONTRIBUTED.norm(p)) == pytest.approx(theirs)
    assert float(SLANTED.norm()) == pytest.approx(math.sqrt(13))  # the 2-norm where none is named
    assert not SLANTED.is_nothing and between([0.0, 0.0], [0.0, 0.0]).is_nothing


def test_a_difference_is_a_change_with_either_sign_up_to_what_it_may_be_off():
    for difference in ([1.0, 2.0, 0.0], [-3.0, 1.0, 0.0], [3.0, -1.0, 0.0], [0.0, -1.5, 0.0]):
        assert SLANTED.contains(difference)
    for difference in ([0.0, 0.0, 0.0], [1.1, 2.0, 0.0], [-1.0, 2.0, 0.1], [3.0, 1.0, 0.0]):
        assert not SLANTED.contains(difference)
    assert SLANTED.contains([1.1, 2.0, 0.1], slip=0.11) and not SLANTED.contains([1.1, 2.0, 0.2], slip=0.11)
    assert SLANTED.contains([1 + 2.5e-7, 2.0, 0.0]) and not SLANTED.contains([1 + 1e-6, 2.0, 0.0])
    assert CONTRIBUTED.contains([0.0, 0.0, 0.0]) and CONTRIBUTED.contains([-4.0, 1.0, 0.0])
    assert not CONTRIBUTED.contains([4.1, 1.0, 0.0]) and not CONTRIBUTED.contains([1.0, 2.0, 0.0])


def test_losses_are_clipped_to_their_box_unless_their_set_is_no_larger_than_the_change():
    """A simplex of diameter 2 and 2^(1/2), in a box of diameter 3 and 3^(1/2), and changes larger and smaller."""
    loss = cp.Variable(3, nonneg=True)
    Y = LossSet(loss, [cp.sum(loss) <= 1])
    d = cp.Variable(3)
    for one, two, by_box in ((9.0, 9.0, False), (1.99, 9.0, True), (9.0, 1.41, True), (2.01, 1.42, False)):
        change = Change(d, [cp.norm1(d) <= one, cp.norm(d) <= two])
        assert change.clips_by_entry(Y) == change._box_is_enough(Y) == by_box
        clipped = change.clipper(Y)(np.array([2.0, 2.0, -1.0]))
        assert clipped == pytest.approx([1, 1, 0] if by_box else [0.5, 0.5, 0], abs=1e-9)
        norms = [float(change.norm(p)) for p in (1, 2)]
        whole = [3, math.sqrt(3)] if by_box else [2, math.sqrt(2)]
        assert [float(change.change(Y, p)) for p in (1, 2)] == pytest.approx(list(map(min, norms, whole)), rel=1e-6)
    square = box([-1.0, 0.0], [1.0, 3.0])
    assert between([-9.0, -9.0], [9.0, 9.0]).clips_by_entry(square)  # as a box does by itself
    assert SLANTED.largest(box([-7.0, 0.0, 0.0], [1.0, 2.0, 3.0])) == 7
    assert SLANTED.largest(box([-1.0, 0.0, 0.0], [1.0, 2.0, 3.0])) == 3


def test_the_grid_is_fine_against_the_change_and_the_roundings_of_the_entries_that_move():
    Y = box([0.0] * 3, [512.0, 512.0, 1024.0])
    usual = 1024 * FLAT
    tiny = between([-FLAT, -2 * FLAT, 0.0], [FLAT, FLAT, 0.0])  # |d|_1 <= 3, |d|_2 <= 5^(1/2), two of them move
    for roundings in (1, 6):
        assert tiny.fine_step(Y, 1, roundings) == pytest.approx(3 * FLAT / 1024 / (2 * roundings), rel=1e-6)
        root = math.sqrt(2 * roundings)
        assert tiny.fine_step(Y, 2, roundings) == pytest.approx(math.sqrt(5) * FLAT / 1024 / root, rel=1e-6)
    assert SLANTED.fine_step(Y, 1, 1) == usual == relation_for("replace", Y).fine_step(Y, 1, 9)
    assert between([0.0] * 3, [0.0] * 3).fine_step(Y, 1, 1) == usual


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("step", [0.125, 2.0**-20])
def test_a_change_moves_units_by_the_smaller_of_its_bounds(norm, step):
    Y = box([-8.0, 0.0, 0.0], [8.0, 1.0, 9.0])
    widths, lower, upper = np.array([3.0, 2.0, 0.0]), np.array([-8.0, 0.0, 0.0]), np.array([8.0, 1.0, 9.0])
    found = SLANTED.grid_change(Y, norm, step)
    units = changed_entries(widths, lower, upper, step)
    expected = changed_units(units, float(SLANTED.norm(norm)), lower, upper, step, norm)
    assert found.units == pytest.approx(expected, rel=1e-6) and not found.toward_zero
    assert found.kind == SLANTED.norm(norm).kind
    assert SLANTED.grid_widths(Y, step) == units.tolist()
    kind, half = SLANTED.difference_body(Y)
    assert kind == "box" and half == pytest.approx([3, 1, 0], rel=1e-6)
    assert half[0] >= 3 * (1 + 0.9e-9)


@pytest.mark.parametrize(("norm", "rounding"), [(1, 2.0), (2, math.sqrt(2))])
def test_a_change_is_at_least_eight_times_what_rounding_may_move(norm, rounding):
    Y = box([-64.0] * 3, [64.0] * 3)
    size = float(SLANTED.norm(norm))
    assert SLANTED.grid_change(Y, norm, size / (8 * rounding) * (1 - 1e-6)).units > 0
    step = size / (8 * rounding) * (1 + 1e-6)
    words = (
        f"by at most {size:.3g} in the {norm}-norm, and rounding to multiples of {step:.3g}, .* {rounding * step:.3g}:"
    )
    with pytest.raises(OverflowError, match=words):
        SLANTED.grid_change(Y, norm, step)


def test_where_the_set_of_losses_is_small_a_change_is_rounded_as_replacing_is():
    Y, d = ball_losses(3, radius=0.5), cp.Variable(3)
    change, replaced = Change(d, [cp.norm(d) <= 9]), relation_for("replace", Y)
    for norm in (1, 2):
        assert change.grid_change(Y, norm, 0.01) == replaced.grid_change(Y, norm, 0.01)
    assert change.difference_body(Y)[0] == "ball" and change.grid_widths(Y, 0.01) is None
    Z = box_losses(3)
    assert change.difference_body(Z)[0] == "box"
    assert change.difference_body(Z)[1].tolist() == replaced.difference_body(Z)[1].tolist() == [2, 2, 2]
    assert change.grid_widths(Z, 0.25) == replaced.grid_widths(Z, 0.25) == [8, 8, 8]


def test_values_of_actions_move_by_the_reach_of_the_change_and_never_by_more_than_a_round():
    X, Y = ds.simplex(3), box_losses(3, -8.0, 8.0)
    sizes = sizes_of(X, Y)
    small = between([-0.25, 0.0, 0.0], [0.5, 0.125, 0.0])
    replaced = between([-0.25, 0.0, 0.0], [0.5, 0.125, 0.0], replace=True)
    wide = between([-99.0] * 3, [99.0] * 3)
    assert small.feedback_change(sizes) == pytest.approx(0.5, rel=1e-5)
    assert replaced.feedback_change(sizes) == pytest.approx(0.75, rel=1e-5)
    assert wide.feedback_change(sizes) == pytest.approx(16, rel=1e-5) == sizes.feedback_range
    assert between([0.0] * 3, [0.0] * 3).feedback_units(sizes, 0.5) == 0
    for change in (small, replaced, wide):
        moved = change.feedback_change(sizes)
        for step in (0.3, 2.0**-12):
            assert change.feedback_units(sizes, step) == math.floor(moved * (1 + 1e-6) / step) + 2


def test_values_come_as_floating_point_numbers_of_the_size_of_their_terms():
    """n sum |x_i| |l_i| 2^-52: of 3 entries with ends (1, 2, 4) and (8, 2, 1) that is 48 of these units."""
    x = cp.Variable(3)
    X = DecisionSet(x, [x >= np.array([-1.0, 0.0, -4.0]), x <= np.array([0.0, 2.0, 1.0])])
    Y = box([0.0, -2.0, 0.0], [8.0, 1.0, 1.0])
    tiny, step = between([0.0] * 3, [2.0**-54, 0.0, 0.0]), 2.0**-54
    moved = tiny.feedback_change(sizes_of(X, Y)) / step
    assert tiny.feedback_units(sizes_of(X, Y), step) == math.floor(moved * (1 + 1e-6) + 4 * 3 * (8 + 4 + 4)) + 2


# words


def test_a_constraint_is_told_up_to_two_hundred_characters():
    for length, told in ((199, 199), (200, 200), (201, 203), (300, 203)):
        name = "v" * (length - len(" <= 1.0"))
        d = cp.Variable(2, name=name)
        (text, _) = Change(d, [d <= 1, d >= -1]).declared
        assert len(text) == told and text.endswith("..." if told == 203 else "<= 1.0")


def test_a_summary_tells_the_changes_and_their_sizes():
    d = cp.Variable(2)
    change = Change(d, [cp.norm_inf(d) <= 0.5], name="one person")
    assert change.rows() == [
        ("changes", "one round's loss moves by d or -d"),
        ("subject to", "norm_inf(d) <= 0.5"),
        *((f"largest, p={p}", repr(change.norm(p))) for p in (1, 2, np.inf)),
    ]
    assert change.summary().splitlines()[0] == "one person: variable d of shape (2,)"
    assert repr(change) == f"Change(one person: shape (2,), norm(1) {change.norm(1)!r})"
    assert "one person, of shape (2,)" in change._repr_html_()
    c = cp.Variable(2)
    again = Change(c, [cp.norm_inf(c) <= 0.5], replace=True)
    assert again.rows()[0] == ("changes", "one contribution of the set becomes another") and "replaced" in repr(again)
    assert again.fingerprint == "replace " + change.fingerprint
    nothing, Y = between([0.0, 0.0], [0.0, 0.0]), box_losses(2)
    assert change.notes(Y) == () and "which is 0 alone" in nothing.notes(Y)[0]
