"""Grids, and what a change moves on them, to the unit: in exact arithmetic, and on either side of every limit."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpcvx.privacy.sensitivity import Grid, Sensitivity, changed_entries, changed_units, choose_grid
from dpcvx.sets.shapes.measure import exact

OUTWARD = Fraction(1 + 1e-9)


def losses(largest):
    return SimpleNamespace(radius=lambda p: {math.inf: exact(largest)}[p])


def grid(largest, horizon=1, noise=0.0, **options):
    return choose_grid(losses(largest), horizon, noise, **options)


@pytest.mark.parametrize("largest", [2.0**-200, 2.0**-3, 1.0, 2.0**300])
def test_the_grid_is_the_coarsest_power_of_two_that_is_asked_for(largest):
    """2^-30 of the largest entry, or what is wanted; sums have 2^58 steps at most, noise 2^52, a float 2^52."""

    def step(*arguments, **options):
        return grid(largest, *arguments, **options).step / largest

    assert step() == 2.0**-30
    assert step(2**28) == 2.0**-30 and step(2**28 + 1) == 2.0**-29 and step(2**40) == 2.0**-18
    assert step(1, largest * 2.0**22) == 2.0**-30 and step(1, largest * 2.0**40) == 2.0**-12
    assert step(fine=largest * 2.0**-40) == 2.0**-40 and step(fine=largest * 2.0**-40.5) == 2.0**-40
    assert step(fine=0.0) == 2.0**-52 and step(fine=largest * 2.0**-51.5) == 2.0**-51
    assert choose_grid(losses(1.0), 1, 0.0, largest=4 * largest).step == largest * 2.0**-28
    assert grid(3 * largest).step == largest * 2.0**-28  # 3 * 2^-30, rounded up


def test_a_grid_has_256_steps_of_the_largest_loss_at_least():
    assert grid(1.0, 2**50).step == 2.0**-8 and grid(1.0, 1, 2.0**44).step == 2.0**-8
    for horizon, noise in ((2**50 + 1, 0.0), (1, 2.0**44 * (1 + 1e-12))):
        words = f"Sums of {horizon} losses up to 1 with noise {noise:.3g} do not fit into 64-bit integers on any"
        with pytest.raises(OverflowError, match=words.replace("+", r"\+")):
            grid(1.0, horizon, noise)
    with pytest.raises(OverflowError, match="Losses up to 3 would need noise beyond the range of numbers"):
        grid(3.0, 1, math.inf)


def test_losses_of_sizes_that_numbers_do_not_reach_have_no_grid():
    for fits, too_far, fine in ((2.0**-969, 2.0**-970, 2.0**-30), (2.0**1007, 2.0**1008, 2.0**-8)):
        step = grid(fits, fine=fits * fine).step
        assert step == fits * fine and abs(math.log2(step)) == 999
        with pytest.raises(OverflowError, match=f"of size {too_far:.3g}, are outside the range".replace("+", r"\+")):
            grid(too_far, fine=too_far * fine)
    assert grid(0.0, 10**9, 5.0) == Grid(-30)


def test_losses_in_units_are_rounded_to_the_nearest_one_or_toward_zero():
    given = np.array([-1.75, -1.25, -0.2, 0.0, 0.2, 1.25, 1.75, 3e5])
    assert Grid(-1).round(given, False).tolist() == [-4, -2, 0, 0, 0, 2, 4, 600000]
    assert Grid(-1).round(given, True).tolist() == [-3, -2, 0, 0, 0, 2, 3, 600000]
    assert Grid(-1).round(given, True).dtype == np.int64
    assert Sensitivity(1, 12, Grid(-2), "exact", False).value == 3.0


def blur(lower, upper):
    return Fraction(2) ** -50 * Fraction(float(max(np.abs(lower).max(), np.abs(upper).max())))


def test_entries_move_by_the_units_of_their_widths_and_one_for_rounding_but_never_out_of_their_box():
    lower, upper = np.array([-10.4, 0.0, 0.0, 0.6, 3.0, -8.0]), np.array([10.0, 2.4, 1e3, 2.6, 3.0, -7.0])
    widths = np.array([2.5, 7.0, 5 * (1 - 5e-10), 0.1, 4.0, 0.0])
    found = changed_entries(widths, lower, upper, 1.0)
    assert found.tolist() == [3.0, 2.0, 6.0, 1.0, 0.0, 0.0]
    assert changed_entries(np.array([5 * (1 - 3e-9)]), np.zeros(1), np.full(1, 9.0), 1.0).tolist() == [5.0]
    assert changed_entries(np.array([2.5]), np.array([-10.4]), np.array([10.0]), 0.25).tolist() == [11.0]
    assert changed_entries(np.array([99.0]), np.array([-10.4]), np.array([10.0]), 0.25).tolist() == [40 + 42]
    for ends in ((-8.0, 1.0), (-1.0, 8.0)):  # losses up to 8 are off by 8 units of 2^-50
        low, high = (np.array([end]) for end in ends)
        assert changed_entries(np.array([3 * 2.0**-50]), low, high, 2.0**-50).tolist() == [3 + 8 + 1]


@pytest.mark.parametrize("step", [1.0, 0.125, 2.0**-49])
@pytest.mark.parametrize("largest", [1e9, 3.0, 0.7, 0.0])
def test_losses_move_by_their_entries_or_by_their_norm_and_the_rounding_of_those_that_move(step, largest):
    units, lower, upper = np.array([5.0, 0.0, 9.0, 2.0, 7.0]), np.full(5, -64.0), np.full(5, 8.0)
    norm = (Fraction(largest) * OUTWARD + 4 * blur(lower, upper)) / Fraction(step)
    found = changed_units(units, largest, lower, upper, step, 1)
    assert isinstance(found, int) and found == min(5 + 9 + 2 + 7, math.floor(norm) + 4)
    norm = (Fraction(largest) * OUTWARD + 2 * blur(lower, upper)) / Fraction(step) + 2  # 2 is the root of 4
    truth = min(float(norm), math.sqrt(25 + 81 + 4 + 49))
    found = changed_units(units, largest, lower, upper, step, 2)
    assert truth <= found <= truth * (1 + 3e-15)


def test_nothing_that_moves_costs_nothing():
    for norm in (1, 2):
        assert changed_units(np.zeros(3), 0.0, np.zeros(3), np.ones(3), 1.0, norm) == 0
