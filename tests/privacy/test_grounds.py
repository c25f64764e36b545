"""What grounds say of other neighbours, against their formulas in exact arithmetic, for changes told by their sizes."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dpcvx.privacy.choice_grounds import ChoiceGrounds, choices_cost, in_units
from dpcvx.privacy.grounds import FeedbackGrounds, Hidden, SumGrounds, box_length
from dpcvx.privacy.sensitivity import changed_entries, changed_units

SHAPE = (2, 2)  # whose entries are taken column by column
COLUMNS = [(0, 0), (1, 0), (0, 1), (1, 1)]
OUTWARD, SOLVED = 1 + 1e-9, 1 + 1e-6


@dataclass
class Told:
    """A change of which nothing is known but its sizes."""

    wide: np.ndarray
    norms: dict
    shape: tuple = SHAPE

    def norm(self, p=2):
        return self.norms[p]

    def reach(self, x):
        return float(np.sum(np.abs(x) * self.wide))

    def widths(self):
        return self.wide


def box_change(wide):
    wide = np.array(wide, dtype=float)
    return Told(wide, {p: float(np.linalg.norm(wide.ravel(), p)) for p in (1, 2, math.inf)}, wide.shape)


WIDE = box_change([[1.0, 3.0], [2.0, 0.0]])
NONE = box_change([[0.0, 0.0], [0.0, 0.0]])
OTHER_SHAPE = box_change([1.0, 2.0, 3.0, 4.0])


# noisy sums


def test_a_release_moves_by_its_gain_and_its_slip_rounded_up():
    for gain, slip, own, moved in (
        (1.0, 0.0, 7.0, 3.0),
        (0.3, 5.0, 7.0, 11.0),
        (2.5, 0.1, 3.0, 1.0),
        (1.0, 2.0, 5.0, 0),
    ):
        found = Hidden(0.5, own, 9.0, 9.0, gain=gain, slip=slip).ratio(moved)
        g, s = Fraction(gain), Fraction(slip)
        exact = (g * Fraction(moved) + s) / (g * Fraction(own) + s)
        assert exact <= Fraction(found) <= exact * (1 + Fraction(2, 10**14))
    assert Hidden(0.5, 3.0, 9.0, 9.0).ratio(6.0) == 2.0 * (1 + 1e-14)  # no slip, and a gain of 1, where none is told
    assert Hidden(0.5, 0.1, 9.0, 9.0, gain=0.3, slip=0.7).ratio(0.1) == 1.0
    assert Hidden(0.5, 0.0, 9.0, 9.0).ratio(0.0) == 1.0 and Hidden(0.5, 0.0, 9.0, 9.0).ratio(1e-300) == math.inf
    assert Hidden(0.5, 1.0, 9.0, 9.0).ratio(5.0) == pytest.approx(5.0, rel=1e-13)


def sums(**options):
    hidden = (Hidden(0.25, 8.0, 40.0, 30.0), Hidden(0.125, 20.0, 60.0, 70.0, gain=2.0, slip=3.0))
    one = {"own": "change", "shape": SHAPE, "lower": (0.0, 0.0, -4.0, 0.0), "upper": (8.0, 1.0, 4.0, 2.0), "norm": 1}
    return SumGrounds(**{**one, "by_entry": True, "hidden": hidden, "numbers": 7, **options})


@pytest.mark.parametrize("norm", [1, 2])
def test_another_change_costs_the_sums_what_it_moves_entry_by_entry_in_the_worst_epoch(norm):
    """d moves the entries (1, 2, 3, 0): that is (5, 5, 13, 0) quarters, the second of a box of 4 of them."""
    grounds = sums(norm=norm)
    first, second = grounds.hidden
    lower, upper = np.array(grounds.lower), np.array(grounds.upper)
    column = np.array([WIDE.wide[at] for at in COLUMNS])
    moved = []
    for one in grounds.hidden:
        units = changed_entries(column, lower, upper, one.step)
        moved.append(float(changed_units(units, WIDE.norm(norm), lower, upper, one.step, norm)))
    assert moved[0] == pytest.approx(22 if norm == 1 else math.sqrt(5**2 + 4**2 + 13**2))
    assert grounds.ratio(WIDE) == max(first.ratio(moved[0]), second.ratio(moved[1]))
    assert replace(grounds, hidden=(first,)).ratio(WIDE) == first.ratio(moved[0])
    assert replace(grounds, hidden=(second,)).ratio(WIDE) == second.ratio(moved[1])
    narrow = replace(grounds, hidden=(replace(first, replace=2.0),))
    assert narrow.ratio(WIDE) == first.ratio(2.0)  # never more than a whole round
    nearest = replace(grounds, by_entry=False)
    assert nearest.ratio(WIDE) == nearest.ratio("replace") == max(first.ratio(40.0), second.ratio(60.0))
    assert nearest.ratio("zero-out") == max(first.ratio(30.0), second.ratio(70.0))
    with pytest.raises(ValueError, match=r"The change has shape \(4,\) and losses \(2, 2\); they must be the same\."):
        grounds.ratio(OTHER_SHAPE)


def test_another_change_costs_k_norm_noise_what_it_moves_in_the_norm_of_its_box():
    half = (8.0, 8.0, 30.0, 1.0)
    one = Hidden(0.25, 1.0, 40.0, 30.0, half=half)
    grounds = sums(hidden=(one,))
    assert grounds.ratio(WIDE) == one.ratio(box_length(np.array([5, 4, 13, 0]), np.array(half)))
    assert grounds.ratio(WIDE) == pytest.approx(5 / 8, rel=1e-12)


def test_sums_that_run_several_times_have_as_many_numbers_more():
    assert sums().repeated(3).numbers == 21 and sums(numbers=None).repeated(3).numbers is None


# noisy feedback


def feedback(**options):
    one = {"own": "change", "shape": SHAPE, "lower": (-1.0, 0.0, 0.0, 0.0), "upper": (1.0, 2.0, 1.0, 8.0)}
    one |= {"actions_lower": (0.0, 0.0, -1.0, 1.0), "actions_upper": (1.0, 3.0, 0.0, 1.0)}
    return FeedbackGrounds(
        **{**one, "step": 2.0**-10, "moved": 64.0, "replace": 2.0**40, "zero_out": 2.0**39, **options}
    )


def reached(grounds, change):
    """The units by which the value of an action moves: <|d|, x> at the middle of the box of actions, and around it."""
    ends = [np.array(grounds.actions_lower), np.array(grounds.actions_upper)]
    middle, half = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2
    column = np.array([change.wide[at] for at in COLUMNS])
    apart = min(column @ half, change.norm(1) * half.max())
    exact = Fraction(float(np.abs(middle) @ column)) + Fraction(float(apart)) * Fraction(SOLVED)
    largest = max(map(abs, grounds.lower + grounds.upper)) * max(
        map(abs, grounds.actions_lower + grounds.actions_upper)
    )
    blur = Fraction(2) ** -52 * len(grounds.lower) ** 2 * Fraction(largest)
    return (exact * Fraction(SOLVED) + blur) / Fraction(grounds.step)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"moved": 5.0},
        {"actions_lower": (-3.0, 1.0, -1.0, 0.5), "actions_upper": (7.0, 1.0, 4.0, 2.5)},
        {"actions_lower": (-9.0, 1.0, -1.0, 0.5), "actions_upper": (1.0, 1.0, 4.0, 2.5)},
        {"step": 2.0**-17},
    ],
)
def test_another_change_costs_feedback_what_it_moves_at_the_middle_of_the_actions_and_around_it(options):
    """Of the two bounds around the middle, |d| times the half-widths and |d|_1 times the widest, the smaller one."""
    grounds = feedback(**options)
    summed = Told(WIDE.wide, {**WIDE.norms, 1: 0.75})  # a sum that is bounded by less than the entries
    for change in (WIDE, summed):
        exact = reached(grounds, change)
        units = Fraction(grounds.ratio(change)) * Fraction(grounds.moved)
        assert abs(units - (math.floor(exact) + 2)) < Fraction(1, 10**6)
    assert reached(grounds, summed) < reached(grounds, WIDE)


def test_feedback_of_a_tiny_change_moves_by_the_rounding_of_its_values():
    """n^2 |l| |x| 2^-52: at 4 entries, 8 and 3 that is 384 * 2^-52, here in units of 2^-52."""
    grounds = feedback(step=2.0**-52, moved=1.0)
    tiny = box_change([[2.0**-52, 0.0], [0.0, 0.0]])
    assert grounds.ratio(tiny) == 384 + 1 + 2
    shrunk = replace(grounds, lower=(-16.0, 0.0, 0.0, 0.0), actions_lower=(0.0, 0.0, -6.0, 1.0))
    assert shrunk.ratio(tiny) == 16 * 16 * 6 + 1 + 2
    assert grounds.ratio(NONE) == 0.0  # what nobody moves needs no room for rounding


def test_another_change_costs_feedback_never_more_than_a_whole_round():
    grounds = feedback(replace=100.0, zero_out=60.0)
    assert grounds.ratio(WIDE) == grounds.ratio("replace") == 100 / 64
    assert grounds.ratio("zero-out") == 60 / 64
    assert replace(grounds, zero_out=140.0).ratio("zero-out") == 100 / 64
    with pytest.raises(ValueError, match=r"shape \(4,\) and losses \(2, 2\)"):
        grounds.ratio(OTHER_SHAPE)
    nothing = replace(grounds, moved=0.0)
    assert nothing.ratio(WIDE) == nothing.ratio("replace") == nothing.ratio("zero-out") == math.inf
    assert nothing.ratio(NONE) == 1.0 and replace(grounds, moved=0.5).ratio(NONE) == 0.0
    assert grounds.repeated(3) is grounds
    assert grounds.clipped.endswith("in the box [-1, 1] x [0, 2] x [0, 1] x [0, 8]")


def test_with_an_interval_for_each_action_replacing_costs_twice_zeroing_out_unless_values_have_one_sign():
    positive = {"lower": (0.0, 1.0, 0.0, 2.0), "actions_lower": (0.0, 0.0, 3.0, 1.0)}
    for name, lowest, expected in (
        ("lower", (0.0, 1.0, 0.0, 2.0), 1.0),
        ("lower", (1.0, 1.0, 1.0, 2.0), 1.0),
        ("lower", (1.0, -1e-9, 0.0, 2.0), 2.0),
        ("actions_lower", (2.0, 2.0, 3.0, 1.0), 1.0),
        ("actions_lower", (5.0, 5.0, -1e-9, 5.0), 2.0),
    ):
        grounds = feedback(own="zero-out", moved=None, **{**positive, name: lowest})
        assert grounds.ratio("replace") == grounds.ratio(WIDE) == expected
        assert grounds.ratio("zero-out") == replace(grounds, own="replace").ratio("replace") == 1.0
        assert replace(grounds, own="replace").ratio(WIDE) == 1.0


# coins and redraws


def choices(**options):
    one = {"own": "replace", "shape": SHAPE, "lower": (0.0,) * 4, "upper": (1.0,) * 4, "by_entry": True}
    one |= {"rate": 0.3, "chance": 0.2, "redraws": 3, "step": 0.0, "most": 1e6, "claimed": 2.5, "concentrated": False}
    one |= {"replaced": (60.0, 130.0), "zeroed": (40.0, 40.0), "radii": (9.0, 9.0, 9.0), "diameters": (9.0, 9.0, 9.0)}
    return ChoiceGrounds(**{**one, **options})


def expected(grounds, moved, apart):
    moved, apart = in_units(moved, apart, grounds.step, grounds.most)
    spent = choices_cost(
        grounds.rate * moved, grounds.rate * apart, grounds.chance, grounds.redraws, grounds.concentrated
    )
    return math.sqrt(spent / grounds.claimed) if grounds.concentrated else spent / grounds.claimed


@pytest.mark.parametrize("concentrated", [False, True])
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_choices_cost_what_coins_and_redraws_tell_of_the_distances(concentrated, step):
    grounds = choices(concentrated=concentrated, step=step)
    assert grounds.ratio("replace") == pytest.approx(expected(grounds, 60.0, 130.0), rel=1e-11)
    assert grounds.ratio("zero-out") == pytest.approx(expected(grounds, 40.0, 40.0), rel=1e-11)
    assert grounds.ratio("replace") != pytest.approx(grounds.ratio("zero-out"), rel=1e-3)
    assert grounds.ratio("replace") >= expected(grounds, 60.0, 130.0)  # never below by rounding
    if concentrated:
        assert grounds.ratio("replace") > expected(grounds, 60.0, 130.0) * (1 + 9e-13)
    with pytest.raises(ValueError, match=r"shape \(4,\) and losses \(2, 2\)"):
        grounds.ratio(OTHER_SHAPE)


@pytest.mark.parametrize("binding", range(3))
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_a_change_moves_choices_by_the_best_of_three_dual_norms(binding, step):
    """|d|_1 |x|_inf, |d|_2 |x|_2, |d|_inf |x|_1, of decisions and of differences of them; each is least in its turn."""
    norms = {1: 6.0, 2: 3.7416573867739413, math.inf: 3.0}
    radii, diameters = [5.0, 6.0, 7.0], [11.0, 13.0, 15.0]
    radii[binding], diameters[(binding + 1) % 3] = 0.9, 0.7
    grounds = choices(step=step, radii=tuple(radii), diameters=tuple(diameters))
    sizes = list(norms.values())
    moved, apart = sizes[binding] * 0.9 * OUTWARD, sizes[(binding + 1) % 3] * 0.7 * OUTWARD
    assert grounds.ratio(Told(WIDE.wide, norms)) == pytest.approx(expected(grounds, moved, apart), rel=1e-11)
    nearest = replace(grounds, by_entry=False)
    assert nearest.ratio(Told(WIDE.wide, norms)) == nearest.ratio("replace")


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_differences_of_costs_move_by_twice_what_costs_move_at_most(step):
    """Costs by 1.2 at most, so differences by 2.4: 4.8 units, which is fewer than twice those of 1.2 rounded up."""
    grounds = choices(step=step, radii=(1.2, 9.0, 9.0), replaced=(60.0, 50.0))
    unit = Told(WIDE.wide, {1: 1.0, 2: 1.0, math.inf: 1.0})
    assert grounds.ratio(unit) == pytest.approx(expected(grounds, 1.2 * OUTWARD, 2.4 * OUTWARD), rel=1e-11)
    if step:
        assert grounds.ratio(unit) < expected(grounds, 1.2, 50.0)
    huge = Told(WIDE.wide, {1: 1e9, 2: 1e9, math.inf: 1e9})
    assert grounds.ratio(huge) == pytest.approx(expected(grounds, 60.0, 50.0), rel=1e-11)  # what replacing moves


def test_certified_sizes_of_a_change_are_taken_outward():
    """Exactly five units, by radii and diameters of 1: a size that is known from outside only may be a unit more."""
    unit = Told(WIDE.wide, {1: 5.0, 2: 50.0, math.inf: 50.0})
    for short, units, between in ((1.0, 7, 8), (1 - 5e-10, 7, 8), (1 - 3e-9, 6, 7)):
        grounds = choices(step=1.0, radii=(short, 9.0, 9.0), diameters=(short, 9.0, 9.0))
        spent = choices_cost(0.3 * units, 0.3 * between, 0.2, 3, False)
        assert grounds.ratio(unit) == pytest.approx(spent / 2.5, rel=1e-12)


def test_what_was_clipped_is_told_of_choices_as_of_sums():
    for grounds in (sums(lower=(0.0,) * 4, upper=(1.0,) * 4), choices()):
        assert grounds.clipped == "losses entry by entry to the box [0, 1]^4"
        nearest = replace(grounds, by_entry=False).clipped
        assert nearest == "losses to the nearest point of the loss set, which lies in the box [0, 1]^4"
