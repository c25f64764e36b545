"""What releases tell about one person, against the probabilities of all that can be seen."""

import itertools
import math
import sys
import types
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcvx.errors import WeakPrivacyWarning
from dpcvx.privacy import accounting
from dpcvx.privacy.choice_grounds import choices_cost, coin_cost, in_units
from dpcvx.privacy.noise.release import Coin, Selection, checked_scores
from dpcvx.privacy.weakness import told_once, warn_if_weak, weakness


@pytest.mark.parametrize(("ours", "theirs"), [((0, 0, 0), (5, 0, 0)), ((3, 9, 1), (4, 7, 1)), ((0, 40), (7, 33))])
@pytest.mark.parametrize("scale", [0.5, 3.0, 20.0])
def test_a_selection_costs_the_largest_log_ratio_and_an_eighth_of_their_range_squared(ours, theirs, scale):
    logs = []
    for scores in (ours, theirs):
        weights = [mpmath.exp(-mpmath.mpf(s) / scale) for s in scores]
        logs.append([mpmath.log(w / mpmath.fsum(weights)) for w in weights])
    ratios = [float(a - b) for a, b in zip(*logs, strict=True)]
    price = Selection(scale, ours, 0).price(Selection(scale, theirs, 0))
    assert price.pure == pytest.approx(max(map(abs, ratios)), rel=1e-9, abs=1e-14)
    assert price.pure_rho == pytest.approx((max(ratios) - min(ratios)) ** 2 / 8, rel=1e-9, abs=1e-14)
    assert price.rho == 0
    for order in (1.5, 2.0, 8.0):  # the divergences are within it
        moment = mpmath.fsum(mpmath.exp(order * a - (order - 1) * b) for a, b in zip(*logs, strict=True))
        assert float(mpmath.log(moment)) / (order - 1) <= order * price.pure_rho * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize(("ours", "theirs", "scale"), [(1, 4, 3.0), (7, 2, 0.5), (30, 31, 100.0)])
def test_a_coin_costs_the_larger_log_ratio_of_heads_and_tails(share, ours, theirs, scale):
    heads = [float(share) * math.exp(-cost / scale) for cost in (ours, theirs)]
    exact = max(abs(math.log(a / b)) for a, b in (heads, [1 - p for p in heads]))
    price = Coin(scale, ours, True, share).price(Coin(scale, theirs, True, share))
    assert price.pure == pytest.approx(exact, rel=1e-9) and price.pure_rho == pytest.approx(exact**2 / 2, rel=1e-9)


def test_a_coin_that_shows_tails_in_one_run_only_hides_nothing():
    assert Coin(2.0, 0, True).price(Coin(2.0, 3, True)).pure == math.inf
    assert Coin(2.0, 3, True).price(Coin(2.0, 0, True)).pure == math.inf
    assert Coin(2.0, 0, True).price(Coin(2.0, 0, True)).pure == 0
    assert math.isfinite(Coin(2.0, 0, True, Fraction(1, 2)).price(Coin(2.0, 3, True, Fraction(1, 2))).pure)


def test_releases_that_are_told_apart_say_by_what():
    assert Selection(1.0, (1, 2), 0).told_apart(Selection(1.0, (5, 9), 1)) is None
    said = Selection(1.0, (1, 2), 0).told_apart(Selection(2.0, (1, 2, 3), 0))
    assert said == "the selection, 2 of scale 1.0 and 3 of scale 2.0"
    assert Coin(1.0, 5, True).told_apart(Coin(1.0, 6, False)) is None
    said = Coin(1.0, 5, True).told_apart(Coin(1.0, 5, True, Fraction(1, 2)))
    assert said == "the coin, of scale 1.0 and share 1.0 and of scale 1.0 and share 0.5"
    for wrong in ([], [1, 0.5]):
        with pytest.raises(ValueError, match="A selection needs scores that are whole numbers, at least one of them"):
            checked_scores(wrong)
    assert checked_scores([np.int64(3), -2]) == (3, -2)


# choices


@pytest.mark.parametrize("chance", [1e-6, 0.02, 0.5, 0.99])
@pytest.mark.parametrize("moved", [1e-9, 0.01, 0.7, 5.0])
def test_the_coin_of_a_batch_costs_its_worst_log_ratio_rounded_up(chance, moved):
    """Keeping has the probability (1 - p) e^-c; one round moves c >= 0 by at most `moved`."""
    with mpmath.workdps(40):
        p, d = mpmath.mpf(chance), mpmath.mpf(moved)
        exact = max(
            abs(mpmath.log(a / b))
            for c in (0, 0.1, 3)
            for keep, other in [[(1 - p) * mpmath.exp(-c), (1 - p) * mpmath.exp(-c - d)]]
            for a, b in [(keep, other), (1 - keep, 1 - other)]
        )
        assert exact < coin_cost(moved, chance) < exact * (1 + mpmath.mpf("3e-12"))


@pytest.mark.parametrize(
    ("moved", "apart", "chance", "redraws"), [(0.1, 0.2, 0.01, 7), (0.3, 0.3, 0.4, 0), (1, 2, 0.9, 99)]
)
def test_coins_and_redraws_add_up_and_each_is_rounded_up(moved, apart, chance, redraws):
    with mpmath.workdps(40):
        m, a, p = (mpmath.mpf(one) for one in (moved, apart, chance))
        coin = max(m, mpmath.log(1 + (1 - p) * (1 - mpmath.exp(-m)) / p))
        pure, rho = coin + a * redraws, coin**2 / 2 + redraws * a**2 / 8
        for exact, concentrated, rounded in ((pure, False, 1.5e-12), (rho, True, 2.5e-12)):
            found = choices_cost(moved, apart, chance, redraws, concentrated)
            assert exact * (1 + mpmath.mpf(rounded)) < found < exact * (1 + mpmath.mpf("5e-12"))


def test_rounded_costs_and_their_differences_move_by_no_more_units_than_is_said():
    places = np.linspace(-3, 3, 241)
    for moved, apart in ((0.3, 0.5), (1.0, 1.0), (1.4, 2.7)):
        units, between = in_units(moved, apart, 1.0, 100.0)
        assert (units, between) == (
            math.floor(moved * 1.0000001) + 2,
            min(2 * units, math.floor(apart * 1.0000001) + 3),
        )
        steps = {float(np.rint(a + s) - np.rint(a)) for a in places for s in (-moved, moved)}
        assert max(map(abs, steps)) <= units
        for a, b in itertools.product(places[::4], repeat=2):
            for s in (moved, moved - apart):
                now, before = np.rint(a + s) - np.rint(b + s - apart), np.rint(a) - np.rint(b)
                assert abs(now - before) <= max(between, 2 * units)


def test_sizes_that_are_a_little_short_of_whole_units_count_as_whole():
    short = 1 - 5e-10
    assert in_units(5 * short, 100.0, 1.0, 100.0) == (7.0, 14.0)
    assert in_units(10.0, 5 * short, 1.0, 100.0) == (12.0, 8.0)
    assert in_units(5 * (1 - 5e-9), 4 * (1 - 5e-9), 1.0, 100.0) == (6.0, 6.0)
    assert in_units(10.0, 50.0, 0.5, 3.0) == (3.0, 6.0)
    assert in_units(10.2, 7.1, 0.5, 99.0) == (11.0, 8.5) and in_units(0.1, 9.0, 0.5, 99.0) == (1.0, 2.0)
    assert in_units(10.0, 50.0, 0.0, 3.0) == (3.0, 20.0) and in_units(0.0, 1.0, 1.0, 5.0) == (0.0, 0.0)


# in the words of another package


@pytest.fixture
def events(monkeypatch):
    """The names of dp-accounting's events, for machines without it: each keeps what it was given."""
    names = ("GaussianDpEvent", "RandomizedResponseDpEvent", "ZCDpEvent", "NonPrivateDpEvent", "ComposedDpEvent")
    made = {name: lambda *given, name=name: (name, *given) for name in names}
    package = types.ModuleType("dp_accounting")
    package.dp_event = types.SimpleNamespace(**made)
    monkeypatch.setitem(sys.modules, "dp_accounting", package)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 6.0])
def test_pure_privacy_is_randomised_response_of_that_epsilon(events, epsilon):
    name, tossed, answers = accounting.pure_event(epsilon, "REPLACE_ONE")
    assert (name, answers) == ("RandomizedResponseDpEvent", 2)
    assert math.log((1 - tossed / 2) / (tossed / 2)) == pytest.approx(epsilon, rel=1e-12)
    with pytest.raises(
        ValueError, match="an event of dp-accounting under REPLACE_ONE only, not under ADD_OR_REMOVE_ONE"
    ):
        accounting.pure_event(epsilon, "ADD_OR_REMOVE_ONE")


def test_gaussian_noise_is_told_by_its_multiplier(events):
    assert accounting.gaussian_event(0.5, "REPLACE_ONE") == ("GaussianDpEvent", 4.0)
    assert accounting.gaussian_event(0.5, "REPLACE_SPECIAL") == ("GaussianDpEvent", 2.0)
    both = accounting.composed_event(iter([accounting.zcdp_event(0.3), accounting.unprotected_event()]))
    assert both == ("ComposedDpEvent", [("ZCDpEvent", 0.3), ("NonPrivateDpEvent",)])
    assert accounting.checked_relation("REPLACE_ONE") == "REPLACE_ONE"
    with pytest.raises(
        ValueError, match="relation must be one of ADD_OR_REMOVE_ONE, REPLACE_ONE, REPLACE_SPECIAL, not 'x'"
    ):
        accounting.checked_relation("x")


# next to nothing


def test_an_epsilon_above_twenty_or_a_delta_above_a_thousandth_is_next_to_no_protection():
    assert weakness(20.0) is None and weakness(1.0, 1e-3) is None and weakness(20.0, 0.0) is None
    assert weakness(20.5) == (
        "epsilon = 20.5 lets actions make a guess about a person's data e^20.5 = 8e+08 times as likely: "
        "that is next to no protection."
    )
    assert weakness(1.0, 0.002) == (
        "delta = 0.002 allows everything to be shown once in 500 runs: that is next to no protection."
    )
    assert "e^700 times" in weakness(700.0) and "e^699 = 4e+303 times" in weakness(699.0)
    assert ", and delta" in weakness(21.0, 0.5)


def test_it_is_told_once_and_not_where_privacy_is_usual():
    warn_if_weak(20.0)
    with told_once(20.0):
        pass
    with pytest.warns(WeakPrivacyWarning, match="epsilon = 30") as told, told_once(30.0):
        warn_if_weak(40.0)
    assert len(told) == 1
    with pytest.warns(WeakPrivacyWarning, match="epsilon = 40"):
        warn_if_weak(40.0)
