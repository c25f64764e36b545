"""What a coupling makes of two transcripts: prices against claims to the digit, and sentences on what differs."""

import math
from dataclasses import replace
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import Change
from dpcvx.privacy.audit.coupling import (
    Claim,
    Coupling,
    _check_neighbours,
    _compare,
    _priced,
    couple,
)
from dpcvx.privacy.audit.shown import Shown
from dpcvx.privacy.audit.transcript import Step, Transcript
from dpcvx.privacy.gaussian_calibration import zcdp_epsilon
from dpcvx.privacy.noise import Laplace, Price, Spent
from dpcvx.privacy.noise.release import Coin, NoisyVector

# claims


@pytest.mark.parametrize("size", [0.2, 1.0, 30.0])
def test_a_claim_is_broken_by_more_than_the_rounding_of_scales(size):
    for factor, broken in ((1.0, False), (1 + 0.9e-11, False), (1 + 1.2e-11, True)):
        assert Claim(size).exceeded(Price(pure=size * factor)) == broken
        assert Claim(100.0, 1e-6, rho=size).exceeded(Price(rho=size * factor)) == broken
        assert Claim(1e-9, 1e-6, rho=size).exceeded(Price(rho=size * factor)) == broken  # rho decides
        assert Claim(100.0, 0.0, rho=size).exceeded(Price(pure=1e9, pure_rho=size * factor)) == broken


def test_what_was_spent_is_the_cheaper_of_two_ways_to_add_up():
    pure = Price(pure=2.0, pure_rho=0.3)
    assert Claim(1.0).spent(pure) == Spent(2.0, None) and Claim(1.0, rho=5.0).spent(pure) == Spent(2.0, 0.3)
    assert Claim(1.0).spent(Price()) == Spent(0.0, None)
    for price in (Price(0.01, 0.3, 0.2), Price(3.0, 0.001, 0.2)):
        apart, whole = price.pure + zcdp_epsilon(price.rho, 1e-6), zcdp_epsilon(price.rho + price.pure_rho, 1e-6)
        assert Claim(1.0, 1e-6).spent(price) == Spent(min(apart, whole), price.rho + price.pure_rho)
        assert Claim(1.0).spent(price) == Spent(math.inf, price.rho + price.pure_rho)  # no delta
    assert zcdp_epsilon(0.2, 1e-6) + 0.01 < zcdp_epsilon(0.5, 1e-6)  # one way is cheaper for the first of them,
    assert zcdp_epsilon(0.201, 1e-6) < 3 + zcdp_epsilon(0.2, 1e-6)  # the other one for the second
    assert math.isfinite(Claim(1.0, 1e-6).spent(Price(rho=9_999.0)).epsilon)
    assert Claim(1.0, 1e-6).spent(Price(rho=1e4)).epsilon == math.inf
    assert str(Claim(1.5)) == "epsilon = 1.5" and str(Claim(1.5, 1e-6)) == "epsilon = 1.5, delta = 1e-06"


def test_a_coupling_holds_where_nothing_differs_and_nothing_is_overspent():
    found = Coupling(Claim(1.0, 1e-6, 0.1), Spent(0.5, 0.05), (), None, 7, 4)
    assert found.holds and str(found) == (
        "The mechanism holds its claim (epsilon = 1, delta = 1e-06): two runs of 4 rounds show the same to the bit, "
        "and their 7 releases cost epsilon = 0.5, rho = 0.05."
    )
    wrong = replace(found, differences=("One.", "Two."), overspent="Three.")
    assert not wrong.holds and not replace(wrong, overspent=None).holds and not replace(wrong, differences=()).holds
    assert str(wrong) == "The mechanism BREAKS its claim (epsilon = 1, delta = 1e-06):\n  One.\n  Two.\n  Three."
    assert str(replace(wrong, overspent=None)).endswith("Two.")


# streams


class Watched(Change):
    """Takes every difference of at most 1 and keeps what it was asked."""

    def __init__(self):
        d = cp.Variable(2)
        super().__init__(d, [cp.abs(d) <= 1])
        self.asked = []

    def contains(self, difference, slip=0.0):
        self.asked.append((np.asarray(difference).tolist(), slip))
        return bool(np.abs(difference).max() <= 1)


def test_changes_are_asked_about_each_difference_and_the_rounding_of_the_streams():
    first = np.array([[3.0, -40.0], [5.0, 5.0], [1.0, 1.0]])
    second = first - [[0.5, -1.0], [0.0, 0.0], [0.25, 0.0]]
    by = Watched()
    _check_neighbours([first, second], None, by)
    assert by.asked == [([0.5, -1.0], 2.0**-50 * 40), ([0.25, 0.0], 2.0**-50 * 40)]
    with pytest.raises(ValueError, match="differ by more than the declared change"):
        _check_neighbours([first, np.add(second, [0.0, 1.0])], None, Watched())


def test_zeroed_rounds_are_0_in_one_of_the_streams():
    zero = np.zeros((3, 2))
    one, other = zero.copy(), zero.copy()
    one[1] = 0.5
    for by in ("zero-out", SimpleNamespace(key="zero-out")):
        _check_neighbours([one, zero], None, by), _check_neighbours([zero, one], None, by)
        other[1] = [0.0, 0.1]
        with pytest.raises(ValueError, match="one of the two streams must be 0 wherever they differ"):
            _check_neighbours([one, other], None, by)
    _check_neighbours([one, other], None, "replace"), _check_neighbours([one, other], None, None)
    both = one.copy()
    both[2] = 1.0
    certificate = SimpleNamespace(secure=True, rounds_per_person=1, epsilon=1.0)
    _check_neighbours([one, zero], certificate, None)
    with pytest.raises(ValueError, match="differ in 2 rounds; the certificate is for 1"):
        _check_neighbours([both, zero], certificate, None)
    with pytest.raises(ValueError, match="make the mechanism without a seed"):
        _check_neighbours([one, zero], SimpleNamespace(secure=False, rounds_per_person=1, epsilon=1.0), None)
    with pytest.raises(ValueError, match="the same; there is nothing to audit"):
        _check_neighbours([one, one], None, None)


@pytest.mark.parametrize("rounds", [None, 1])
def test_streams_have_one_shape_with_rounds(rounds):
    for first, second in ((1.0, 2.0), (np.zeros((2, 3)), np.ones((2, 4))), (1.0, np.zeros(2))):
        with pytest.raises(ValueError, match="The streams must have one shape, not "):
            couple(lambda: lambda losses: 0.0, first, second, claim=1.0, rounds=rounds)
    found = couple(lambda: lambda losses: 0.0, np.zeros((5, 2)), np.ones((3, 2)), claim=1.0, rounds=2)
    assert found.rounds == 2 and found.holds


# transcripts


def transcript(*shown, releases=(), counts=None):
    """Steps (round, name, values that are shown), after each of which there are so many releases."""
    counts = counts or [0] * len(shown)
    steps = [
        Step(round, name, {key: Shown(bits, str(bits)) for key, bits in seen.items()}, count, None)
        for (round, name, seen), count in zip(shown, counts, strict=True)
    ]
    return Transcript(steps, list(releases))


def vector(value, scale=2.0, dtype=np.int64):
    return NoisyVector(Laplace(scale), np.array([[value]], dtype=dtype), np.zeros((1, 1)))


def test_differences_are_those_of_the_first_round_in_which_there_are_any():
    left = transcript(
        (0, "prefix", {"a": 1}), (1, "update", {"a": 1, "b": 2}), (1, "prefix", {"c": 3}), (2, "x", {"a": 0})
    )
    right = transcript(
        (0, "prefix", {"a": 1}), (1, "update", {"a": 5, "d": 2}), (1, "prefix", {"c": 4}), (2, "x", {"a": 9})
    )
    shared, found = _compare(left, right)
    assert shared == 0 and found == [
        "In round 1, a differs: 1 and 5.",
        "In round 1, b is there in one run only: 2.",
        "In round 1, d is there in one run only: 2.",
        "In round 1, c differs: 3 and 4.",
    ]
    assert _compare(left, left) == (0, [])
    assert _compare(left, transcript((0, "prefix", {"a": 1})))[1] == ["The runs have different numbers of steps."]


def test_releases_are_shared_up_to_the_first_difference_and_compared_once():
    shown = [(1, "update", {}), (2, "update", {}), (3, "update", {"a": 1})]
    left = transcript(*shown, releases=[vector(1), vector(2), vector(3), vector(4)], counts=[1, 3, 4])
    right = transcript(*shown, releases=[vector(1), vector(9), vector(3, scale=5.0), vector(4)], counts=[1, 3, 4])
    shared, (sentence,) = _compare(left, right)
    assert shared == 1 and sentence.startswith(
        "In round 2, release 3 depends on the losses by more than its values: the noise"
    )
    assert _compare(left, left) == (4, [])
    kinds = transcript(*shown, releases=[vector(1), Coin(1.0, 0, True), vector(3), vector(4)], counts=[1, 3, 4])
    assert "In round 2, release 2 depends on the losses by more than its values: its kind." in _compare(left, kinds)[1]
    fewer = transcript(*shown, releases=left.releases[:3], counts=[1, 2, 3])
    shared, found = _compare(left, fewer)
    assert shared == 1 and found == ["In round 2, update has made 3 releases in one run and 2 in the other."]


def test_noise_on_what_is_no_whole_number_is_told_once():
    shown = [(1, "update", {})]
    flawed = transcript(*shown, releases=[vector(1), vector(2, dtype=float), vector(3, dtype=float)], counts=[3])
    end, found = _compare(flawed, flawed)
    assert end == 3 and found == ["Release 2: noise on values of type float64; it is exact on 64-bit integers only."]


def priced(values, others, counts, certificates, end, given=None):
    steps = [
        Step(t, "update", {}, count, None if c is None else SimpleNamespace(epsilon=c, delta=0.0, rho=None))
        for t, (count, c) in enumerate(zip(counts, certificates, strict=True), 1)
    ]
    left, right = (Transcript(steps, [vector(v) for v in row]) for row in (values, others))
    return _priced(left, right, end, given)


def test_prices_add_up_to_where_the_runs_differ_and_are_held_against_every_claim():
    values, others = [0, 1, 2, 3], [0, 3, 1, 9]  # 0, 1, 1/2 and 3
    price, overspent, claim = priced(values, others, [1, 3, 4], [1.0, 2.0, 5.0], 4)
    assert price.pure == 4.5 and overspent is None and claim == Claim(5.0)
    price, overspent, claim = priced(values, others, [1, 3, 4], [1.0, 1.4, 5.0], 4)
    assert overspent == "After round 2 the 3 releases cost epsilon = 1.5; claimed is epsilon = 1.4."
    assert price.pure == 4.5 and claim == Claim(5.0)
    assert priced(values, others, [1, 3, 4], [1.0, None, 5.0], 4)[1] is None
    price, overspent, _ = priced(values, others, [1, 3, 4], [1.0, 2.0, 5.0], 2)
    assert price.pure == 1.0 and overspent is None
    given = Claim(4.4, 0.0, 9.0)
    price, overspent, claim = priced(values, others, [1, 3, 4], [0.1, 0.1, 0.1], 4, given)
    assert claim is given and overspent is None  # rho decides, 5.125
    overspent = priced(values, others, [1, 3, 4], [9.0, 9.0, 9.0], 4, Claim(4.4, 0.0, 5.0))[1]
    assert overspent == (
        "After round 3 the 4 releases cost epsilon = 4.5, rho = 5.125; claimed is epsilon = 4.4, rho = 5."
    )
    assert priced(values, others, [1, 3, 4], [9.0] * 3, 4, Claim(4.4))[1].startswith("After round 3 the 4 releases")
    with pytest.raises(ValueError, match="no certificate; say by claim, and delta, what is claimed"):
        priced(values, others, [1, 3, 4], [None] * 3, 4)
    assert _priced(Transcript([], []), Transcript([], []), 0, Claim(1.0)) == (Price(), None, Claim(1.0))
