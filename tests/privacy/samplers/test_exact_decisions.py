"""What is decided where random bits come close to a probability: by whole numbers, and on the right side."""

import decimal
import importlib
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcvx.privacy.samplers import brackets, floating

coins, geometric = (importlib.import_module(f"dpcvx.privacy.samplers.{name}") for name in ("coins", "geometric"))


def test_an_exponential_lies_between_its_integers_where_its_rate_rounds_to_nothing():
    for bits in (1, 16, 64, 200):
        low, high = brackets.exponential(Fraction(1, 10 ** (bits + 40)), bits)
        assert low < 2**bits <= high and high - low <= 3


@pytest.mark.parametrize("digits", [3, 28])
@pytest.mark.parametrize("bits", [8, 16, 53, 100, 300])
def test_exponentials_and_logarithms_lie_between_their_integers_whatever_digits_the_user_works_with(bits, digits):
    rng = np.random.default_rng(bits)
    with decimal.localcontext(prec=digits), mpmath.workdps(400):
        for rate in [*rng.exponential(2.0, 40).tolist(), math.log(2), 3 * math.log(2), 0.0]:
            low, high = brackets.exponential(Fraction(rate), bits)
            assert low <= mpmath.exp(-mpmath.mpf(rate)) * 2**bits <= high and high - low <= 3
        for head in [1, 2**bits - 1, *(int(share * 2**bits) | 1 for share in rng.random(20))]:
            low, high = brackets.negative_log(head, bits, bits // 2)
            exact = bits * mpmath.log(2) - mpmath.log(head)
            assert low <= exact * mpmath.mpf(10) ** (bits // 2) <= high and high - low <= 3
            first, last = brackets.log_exponential(head - 1, bits)
            v = [mpmath.log(-mpmath.log1p(-mpmath.mpf(one) / 2**bits)) for one in (head - 1, head) if 0 < one < 2**bits]
            assert all(_exactly(first) <= one <= _exactly(last) for one in v)


def _exactly(number):
    return mpmath.mpf(number.numerator) / number.denominator if isinstance(number, Fraction) else mpmath.mpf(number)


@pytest.mark.parametrize("word", [2**15, 2**15 - 1])
def test_a_coin_whose_bits_meet_its_probability_is_decided_by_whole_numbers(monkeypatch, word):
    """P is 1/2 but for 2^-50, and U begins right above it or right below."""
    asked = []

    def decide(head, bits, bracket):
        asked.append((head, bits, bracket(40)))
        return True

    monkeypatch.setattr(coins, "quarter_words", lambda count: np.full(count, word, dtype=np.uint16))
    monkeypatch.setattr(coins, "is_below", decide)
    shown = coins.exponential_coins(np.array([1], dtype=np.int64), 1 / math.log(2))
    (head, bits, (low, high)), *others = asked
    assert not others and shown.tolist() == [True]
    assert (head, bits) == (word, 16) and low <= 2**39 <= high


@pytest.mark.parametrize("low", [3, 18, 19, 30])
def test_a_remainder_is_dropped_where_its_fraction_is_below_what_its_weight_lacks(monkeypatch, low):
    """Of the words r, head: dropped where head is below (1 - e^(-r/t)) 2^bits, by one at least, and else kept."""
    scale = math.ldexp(1.37, low + 27)
    whole = 32 if low <= 18 else 64
    bits = whole - low
    words, expected = [], []
    for r in {0, 1, 2**low // 3, 2**low - 1}:
        with mpmath.workdps(60):
            edge = int(mpmath.floor(-mpmath.expm1(-mpmath.mpf(r) / mpmath.mpf(scale)) * 2**bits))
        for head in {0, edge - 2, edge + 2, 2 * edge + 7, 2**bits - 1}:
            if 0 <= head < 2**bits and abs(head - edge) > 1:
                words.append(r << bits | head)
                expected.append(head < edge)
    assert any(expected) == (bits > 28) and not all(expected)
    kind = np.uint32 if whole == 32 else np.uint64
    for name in ("half_words", "words"):
        monkeypatch.setattr(geometric, name, lambda count: np.array(words, dtype=kind))
    drawn, again = geometric._tried(low, scale, len(words))
    assert drawn.tolist() == [word >> bits for word in words]
    assert np.isin(np.arange(len(words)), again).tolist() == expected
    if whole == 64:
        alone = [geometric.remainder_one(word, low, scale) for word in words]
        assert alone == [None if gone else word >> bits for word, gone in zip(words, expected, strict=True)]


def test_errors_are_counted_in_halves_of_the_last_place(monkeypatch):
    assert 1 - floating.UNIT < 1 == 1 - floating.UNIT / 4 and floating.ALLOWED == 4 * np.spacing(1.0)
    exact, away = np.exp, 6 * floating.UNIT
    monkeypatch.setattr(np, "exp", lambda x: exact(x) * (1 + away))
    assert 5 <= floating.largest_error("exp", np.array([-0.1, -0.5, -2.0])) <= 8
