"""Samplers at the edges: where bits just decide or do not, next to ties, for scales and scores far out, bit by bit."""

import importlib
import math
import os
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpcvx.privacy.samplers import (
    LARGEST_SCALE,
    LEAST_SCALE,
    LaplaceStream,
    brackets,
    entropy,
    exact_scale,
    exponential_coins,
    floating,
    floors,
    is_below,
    uniform_below,
)

MODULES = ("categorical", "coins", "gaussian", "geometric", "laplace", "laplace_stream", "uniform")
categorical, coins, gaussian, geometric, laplace, stream, uniform = (
    importlib.import_module(f"dpcvx.privacy.samplers.{name}") for name in MODULES
)

# coins


@pytest.mark.parametrize(("head", "shown"), [(0, True), (4, True), (5, False), (6, False), (15, False)])
def test_a_coin_is_decided_without_more_bits_where_its_bits_decide(head: int, shown: bool) -> None:
    """P is 5/16: U in (4/16, 5/16) is below it, and U in (5/16, 6/16) is not."""
    asked: list[int] = []
    assert is_below(head, 4, lambda bits: asked.append(bits) or (5 << bits - 4, 5 << bits - 4)) == shown
    assert asked == [4]


def test_coins_of_probability_0_and_1_need_no_luck() -> None:
    assert is_below(15, 4, lambda bits: (1 << bits, 1 << bits)) and not is_below(0, 4, lambda bits: (0, 0))
    with pytest.raises(ValueError, match="A coin cannot have a probability above 1"):
        is_below(15, 4, lambda bits: ((1 << bits) + 1, (1 << bits) + 1))
    asked: list[int] = []
    ends = np.array([0.0, 1.0])
    assert coins.coins(ends, ends, lambda i, bits: asked.append(i)).tolist() == [False, True] and not asked
    with pytest.raises(ValueError, match=r"A probability of at least 1\.5 is above 1"):
        coins.coins(np.array([0.0, 1.5]), np.array([0.0, 2.0]), lambda i, bits: (0, 1))
    for low, high in ((0.5, 0.4), (math.nan, 0.5), (0.5, math.nan)):
        with pytest.raises(ValueError, match="must be numbers, the lower one first"):
            coins.coins(np.array([0.1, low]), np.array([0.1, high]), lambda i, bits: (0, 1))


@pytest.mark.parametrize(("word", "decided"), [(9, True), (10, None), (11, None), (12, None), (13, False)])
def test_sixteen_bits_decide_outside_of_the_bounds(word: int, decided: bool | None, monkeypatch: Any) -> None:
    """Bounds are 10.5 and 12.5 in units of 2^-16: what is between them is asked for."""
    monkeypatch.setattr(coins, "quarter_words", lambda count: np.full(count, word, dtype=np.uint16))
    asked: list[tuple[int, int]] = []

    def bracket(i: int, bits: int) -> tuple[int, int]:
        asked.append((i, bits))
        return 1 << bits, 1 << bits

    shown = coins.coins(np.full(2, 10.5) / 2**16, np.full(2, 12.5) / 2**16, bracket)
    assert shown.tolist() == [decided is not False] * 2
    assert asked == ([] if decided is not None else [(0, 16), (1, 16)])


def test_costs_are_64_bit_integers_from_0_on() -> None:
    assert exponential_coins(np.zeros(3, dtype=np.int64), 1e-300).tolist() == [True] * 3
    assert exponential_coins(np.array([2**62, 0]), 1e-300).tolist() == [False, True]  # e^-(10^318), without a warning
    with pytest.raises(ValueError, match="64-bit integers of at least 0"):
        exponential_coins(np.zeros(3, dtype=np.int32), 1.0)


def _captured(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr(module, "coins", lambda *given: found.extend(given) or np.ones(len(given[0]), dtype=bool))
    return found


def _probabilities_fit(found: list[Any], exact: list[Any]) -> None:
    """Floating-point bounds, and those in whole numbers, hold them and are close."""
    low, high, bracket = found
    for i, p in enumerate(exact):
        assert mpmath.mpf(low[i]) <= p <= mpmath.mpf(high[i]) <= mpmath.mpf(low[i]) + mpmath.mpf(2) ** -44
        for bits in (16, 80):
            below, above = bracket(i, bits)
            assert below <= p * 2**bits <= above <= below + 3


@pytest.mark.parametrize("scale", [0.3, 2.5, 1e9, 2.0**54])
def test_gaussian_proposals_are_kept_with_the_probability_of_the_formula(scale: float, monkeypatch: Any) -> None:
    found = _captured(monkeypatch, gaussian)
    proposed = np.array([0, 1, -1, 2, -7, int(scale) + 1, -int(2.3 * scale), int(9 * scale) + 3])
    gaussian._kept(proposed, scale)
    with mpmath.workdps(60):
        s = mpmath.mpf(scale)
        _probabilities_fit(found, [mpmath.exp(-((abs(z) - s) ** 2) / (2 * s**2)) for z in proposed.tolist()])


def test_exponential_coins_have_the_probability_of_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _captured(monkeypatch, coins)
    costs = np.array([0, 1, 7, 10**15])
    exponential_coins(costs, 2.7)
    with mpmath.workdps(60):
        _probabilities_fit(found, [mpmath.exp(-cost / mpmath.mpf(2.7)) for cost in costs.tolist()])


# exponentials and logarithms


@pytest.mark.parametrize("bits", [1, 16, 64, 300])
def test_exponentials_of_any_size_lie_between_their_integers(bits: int) -> None:
    with mpmath.workdps(400):
        for share in (0, 1e-9, 0.3, 0.9, 1 - 0.7 / bits, 1 - 0.2 / bits, 1, 1 + 0.4 / bits, 1 + 1.01 / bits, 1.5, 1e9):
            rate = Fraction(float(bits * math.log(2) * share))
            low, high = brackets.exponential(rate, bits)
            exact = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator) * 2**bits
            assert 0 <= low <= exact <= high <= min(2**bits, low + 3)


# floors


def _true(head: int, bits: int, scale: float) -> int:
    with mpmath.workdps(80):
        return int(mpmath.floor((bits * mpmath.log(2) - mpmath.log(head)) * mpmath.mpf(scale)))


@pytest.mark.parametrize("scale", [0.4, 1.0, 1000.25, 2.0**28])
def test_one_floor_is_what_many_are(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Next to integers, for short heads and for usual ones."""
    monkeypatch.setattr(floors, "extended", lambda head, bits: (head << 64 | 2**63 + 7, bits + 64))
    heads = [1, 2, 77, 2**44 + 5, 2**45 - 1, 2**45, 2**45 + 1, 2**62 + 9, 2**63 - 1]
    with mpmath.workdps(60):
        for k in (1, 2, 3, int(4 * scale)):
            edge = int(mpmath.exp(-k / mpmath.mpf(scale)) * 2**63)
            heads += [edge + off for off in range(-2, 3) if 0 < edge + off < 2**63]
    drawn = np.array(heads, dtype=np.uint64)
    many, logs = floors.floors(drawn, 63, scale), floors.logarithms(drawn, 63).tolist()
    alone = [floors.floor_one(head, 63, log, scale) for head, log in zip(heads, logs, strict=True)]
    exact = [_true(head << 64 | 2**63 + 7, 127, scale) for head in heads]
    assert many.tolist() == alone == exact


def test_short_fractions_are_not_decided_too_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """U in (1, 2) 2^-127 has -ln U between 126 ln 2 = 87.3 and 127 ln 2 = 88.03: the next bits decide."""
    for word, answer in ((2**64 - 1, 87), (0, 88)):
        words = iter([1, word, word])
        monkeypatch.setattr(floors, "extended", lambda head, bits, w=words: (head << 64 | next(w), bits + 64))
        assert floors.floors(np.zeros(1, dtype=np.uint64), 63, 1.0).tolist() == [answer]
        words = iter([1, word, word])
        monkeypatch.setattr(floors, "extended", lambda head, bits, w=words: (head << 64 | next(w), bits + 64))
        assert floors.floor_one(0, 63, -1.0, 1.0) == answer


def test_answers_from_the_limit_on_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floors, "extended", lambda head, bits: (head << 64 | 2**63, bits + 64))
    answer = _true(3 << 64 | 2**63, 127, 10.0)
    heads = np.array([3], dtype=np.uint64)
    assert floors.floors(heads, 63, 10.0, answer + 1).tolist() == [answer]
    assert floors.floor_one(3, 63, 0.0, 10.0, answer + 1) == answer
    for refused in (lambda: floors.floors(heads, 63, 10.0, answer), lambda: floors.floor_one(3, 63, 0.0, 10.0, answer)):
        with pytest.raises(OverflowError, match="does not fit into 64-bit integers; nothing was released"):
            refused()
    for scale in (2.0**57, 2.0**60):  # 42.5 times that is above 2^62
        with pytest.raises(OverflowError, match="nothing was released"):
            floors.floor_one(3, 63, 0.0, scale)
    with pytest.raises(OverflowError, match="nothing was released"):
        floors.floors(heads, 63, 2.0**57)
    assert floors.floor_one(3, 63, 0.0, 2.0**56) == _true(3 << 64 | 2**63, 127, 2.0**56)


@pytest.mark.parametrize(("scale", "low"), [(5.0, 0), (2.0**28, 0), (2.0**28 * 1.5, 1), (2.0**54 * 1.1, 27)])
def test_wide_draws_are_a_narrow_one_with_low_bits_behind_it(scale: float, low: int, monkeypatch: Any) -> None:
    asked: list[tuple[float, int]] = []

    def answers(heads: Any, bits: int, narrow: float, below: int) -> Any:
        asked.append((narrow, below))
        return np.array([0, 3, 1000])

    monkeypatch.setattr(geometric, "floors", answers)
    monkeypatch.setattr(geometric, "_remainders", lambda low, scale, count: np.arange(count))
    drawn = geometric.magnitudes(np.zeros(3, dtype=np.uint64), 64, scale)
    assert asked == [(scale / 2**low, 2**62 >> low)] and geometric.low_bits(scale) == low
    assert drawn.tolist() == ([0, 3, 1000] if not low else [0, (3 << low) + 1, (1000 << low) + 2])


# draws bit by bit


def test_gaussian_draws_are_the_first_proposals_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """About a third more are proposed than are missing, and as often as some are."""
    asked: list[int] = []
    proposals = iter(range(1, 10_000))

    def propose(scale: float, count: int) -> Any:
        asked.append(count)
        return np.array([next(proposals) for _ in range(count)])

    monkeypatch.setattr(gaussian, "laplace", propose)
    monkeypatch.setattr(gaussian, "_kept", lambda proposed, scale: proposed % 2 == 0)
    drawn = gaussian.gaussian(3.0, (4, 50))
    assert asked == [200 + 68 + 16, 58 + 19 + 16, 12 + 4 + 16]
    assert drawn.shape == (4, 50) and drawn.ravel().tolist() == list(range(2, 402, 2))


@pytest.mark.parametrize("scale", [0.6, 40.5])
def test_laplace_draws_are_signs_and_floors_of_their_words(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bit is the sign; minus 0 is drawn again, in its place or from the next word."""
    words = np.random.default_rng(1).integers(0, 2**64, 64, dtype=np.uint64)
    given = iter([words, *np.random.default_rng(2).integers(0, 2**64, (60, 1), dtype=np.uint64)])
    values = [_true(word | 1, 64, scale) * (-1 if word & 1 else 1) for word in words.tolist()]
    lost = [i for i, word in enumerate(words.tolist()) if word & 1 and not values[i]]
    assert lost or scale > 1

    def next_words(count: int) -> Any:
        found = next(given)
        return found if count == found.size else np.concatenate([found, *(next(given) for _ in range(count - 1))])

    monkeypatch.setattr(laplace, "words", next_words)
    drawn = laplace.laplace(scale, 64)
    kept = np.setdiff1d(np.arange(64), lost)
    assert drawn[kept].tolist() == np.array(values)[kept].tolist()
    asked = []
    monkeypatch.setattr(stream, "words", lambda count: asked.append(count) or words)
    source = LaplaceStream()
    assert [source.draw(scale) for _ in kept] == np.array(values)[kept].tolist()[::-1]
    assert asked == [512]
    last = source.draw(scale)
    assert last == np.array(values)[kept].tolist()[-1] and (not lost or asked)


def test_a_stream_adds_low_bits_to_wide_magnitudes(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = 2.0**40
    low = geometric.low_bits(scale)
    monkeypatch.setattr(stream, "remainder_one", lambda word, low, scale: None if word == 5 else word)
    words = iter([np.array([7 << 60, (7 << 60) + 1], dtype=np.uint64), np.array([9, 5, 11], dtype=np.uint64)])
    monkeypatch.setattr(stream, "words", lambda count: next(words))
    size = _true(7 << 60, 64, math.ldexp(scale, -low))
    source = LaplaceStream()
    assert [source.draw(scale), source.draw(scale)] == [-((size << low) + 11), (size << low) + 9]


@pytest.mark.parametrize(("n", "rejected"), [(1, 0), (3, 1), (10, 6), (2**32, 0), (2**63, 0), (2**63 - 1, 2), (7, 2)])
def test_words_above_the_largest_multiple_are_drawn_again(n: int, rejected: int, monkeypatch: Any) -> None:
    assert 2**64 % n == rejected
    words = np.array([2**64 - 1 - k for k in range(9)], dtype=np.uint64)
    bounds = np.full(9, n, dtype=np.uint64)
    assert uniform._rejected(words, bounds).tolist() == list(range(rejected))
    again = iter([words, np.arange(rejected, dtype=np.uint64)])
    monkeypatch.setattr(uniform, "words", lambda count: next(again))
    expected = [int(word) % n for word in words]
    expected[:rejected] = [k % n for k in range(rejected)]
    assert uniform_below(bounds).tolist() == expected


def test_bounds_of_uniform_draws_go_from_1_to_2_to_the_63() -> None:
    assert uniform_below(np.array([1, 1])).tolist() == [0, 0]
    assert uniform_below(np.array([2**63], dtype=np.uint64)).shape == (1,)
    for wrong in (np.array([5, 0]), np.array([1, 2**63 + 1], dtype=np.uint64), np.array([-1, 9])):
        with pytest.raises(ValueError, match=r"must be from 1 to 2\^63"):
            uniform_below(wrong)


# races


@pytest.mark.parametrize("seed", range(30))
def test_races_next_to_a_tie_are_won_by_the_first(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads of which all times agree to 64 bits; the next bits decide, by exact times."""
    rng = np.random.default_rng(seed)
    scale = float(rng.uniform(0.5, 5))
    scores = [int(s) - 4 for s in rng.permutation(6)[:4]]
    with mpmath.workdps(60):
        time = mpmath.mpf(float(rng.exponential(1))) / 4 + mpmath.mpf("0.01")
        shares = [-mpmath.expm1(-time * mpmath.exp(-(s - min(scores)) / mpmath.mpf(scale))) for s in scores]
        heads = [int(mpmath.floor(share * 2**64)) for share in shares]
        further = [int(word) for word in rng.integers(1, 2**64 - 1, 4, dtype=np.uint64)]
        ends = [(head << 64 | word) / mpmath.mpf(2) ** 128 for head, word in zip(heads, further, strict=True)]
        times = [-mpmath.log1p(-v) * mpmath.exp(s / mpmath.mpf(scale)) for v, s in zip(ends, scores, strict=True)]
    monkeypatch.setattr(categorical, "words", lambda count: np.array(heads, dtype=np.uint64))
    behind = dict(zip(heads, further, strict=True))
    monkeypatch.setattr(categorical, "extended", lambda head, bits: (head << 64 | behind[head], bits + 64))
    first = times.index(min(times))
    assert categorical.categorical(scores, scale) == first
    others = [*scores[:first], scores[first] + 10, *scores[first + 1 :]]
    assert categorical.categorical(others, scale) != first


def test_scores_of_any_size_race_without_a_warning() -> None:
    """A warning would tell how far apart the scores are."""
    for scores, scale in (([0, 10**400], 1e-250), ([-(10**400), 0, 7], 1e-300), ([3, 3 + 2**899], 2.0**-200)):
        assert categorical.categorical(scores, scale) == 0
    assert {categorical.categorical([10**400, 10**400 + 1], 1e9) for _ in range(60)} == {0, 1}  # fails with 2^-59


def test_bounds_of_late_times_hold_and_the_latest_have_no_upper_one() -> None:
    heads = np.full(4, 2**63, dtype=np.uint64)
    late = np.array([2.0**799, 2.0**800, 2.0**40, 0.0])
    first, last = categorical._times(heads, late)
    exact = math.log(math.log(2)) + late
    assert (first <= exact).all() and (last >= exact).all() and np.isinf(last).tolist() == [False, True, False, False]
    assert (exact - first <= 40 * floating.UNIT * (3 + late)).all()


# platforms, scales and bits


def test_a_platform_is_looked_at_near_1_and_far_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(floating, "largest_error", lambda function, given: 0.0 * asked.setdefault(function, given).size)
    floating.check_platform.__wrapped__()
    assert set(asked) == {"log", "log1p", "exp"}
    spread = asked["log"]
    assert spread.size == 80 and spread.min() == 2.0**-12 and spread.max() == 1 - 2.0**-53
    assert np.isclose(spread, 0.999, rtol=1e-12).any() and np.isclose(spread, 0.9, rtol=1e-12).any()
    assert np.array_equal(asked["log1p"], -spread) and np.array_equal(asked["exp"], -8 * spread)


def test_a_platform_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(floating, "largest_error", lambda function, given: asked.append(function) or 1.0)
    floating.check_platform.cache_clear()
    try:
        for _ in range(3):
            floating.check_platform()
    finally:
        floating.check_platform.cache_clear()
    assert asked == ["log", "log1p", "exp"]


@pytest.mark.parametrize(("error", "taken"), [(8.0, True), (8.0001, False), (math.nan, False)])
def test_functions_may_be_off_by_eight_and_no_more(error: float, taken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floating, "largest_error", lambda function, arguments: error)
    if taken:
        floating.check_platform.__wrapped__()
    else:
        with pytest.raises(RuntimeError, match=r"numpy\.log is off by (8|nan) times 2\^-53"):
            floating.check_platform.__wrapped__()


@pytest.mark.parametrize(
    ("function", "arguments"), [("log", [0.5, 0.9]), ("log1p", [-0.5, -1e-9]), ("exp", [-3.0, -0.1])]
)
def test_errors_of_each_function_are_relative(function: str, arguments: list[float], monkeypatch: Any) -> None:
    assert floating.largest_error(function, np.array(arguments)) <= 1.5
    assert floating.largest_error(function, np.array([])) == 0.0
    exact = getattr(np, function)
    monkeypatch.setattr(np, function, lambda x: exact(x) * np.where(np.arange(x.size) == 0, 1 + 100 * floating.UNIT, 1))
    assert 98 <= floating.largest_error(function, np.array(arguments)) <= 102


def test_scales_are_taken_up_to_the_largest() -> None:
    assert (LEAST_SCALE, LARGEST_SCALE) == (2.0**-60, 2.0**55)
    assert exact_scale(2.0**55) == 2.0**55 and exact_scale(np.float32(0.5)) == 0.5 and exact_scale(np.int64(3)) == 3.0
    assert exact_scale(5e-324) == 2.0**-60 == exact_scale(2.0**-60)


def test_words_are_the_bytes_of_the_system_and_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: bytes(range(1, count + 1)))
    assert entropy.words(2).tobytes() == bytes(range(1, 17)) and entropy.words(2).dtype == np.uint64
    assert entropy.half_words(3).tobytes() == bytes(range(1, 13)) and entropy.half_words(3).dtype == np.uint32
    assert entropy.quarter_words(5).tobytes() == bytes(range(1, 11)) and entropy.quarter_words(5).dtype == np.uint16
    assert entropy.extended(3, 7) == (3 << 64 | 0x0102030405060708, 71)
