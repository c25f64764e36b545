"""The filter behind the samplers is right next to integers, where floating-point numbers alone are wrong."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpcvx.privacy.samplers import brackets, floating, floors
from dpcvx.privacy.samplers.categorical import _times
from dpcvx.privacy.samplers.geometric import low_bits

_EXACT = Context(prec=120)
_BITS = 63


def _next_to_integers(scale: float, count: int) -> list[int]:
    """Heads of which -scale ln(head/2^63) is as close to an integer as 63 bits allow, on either side."""
    heads = []
    for k in np.unique(np.linspace(1, 7 * scale, count).astype(np.int64)).tolist():
        edge = int(_EXACT.multiply(_EXACT.exp(-Decimal(k) / Decimal(scale)), Decimal(2**_BITS)))
        heads += [h for h in range(edge - 2, edge + 3) if 2**45 < h < 2**63]
    return heads


def _true_floor(head: int, bits: int, scale: float) -> int:
    """floor(-scale ln(head/2^bits)), with 120 digits."""
    log = _EXACT.subtract(_EXACT.ln(Decimal(2**bits)), _EXACT.ln(Decimal(head)))
    return math.floor(_EXACT.multiply(log, Decimal(scale)))


def _wrong(scale: float, monkeypatch: pytest.MonkeyPatch, word: int) -> int:
    """How many answers next to integers are none that the drawn fraction allows, where all further bits are `word`."""
    monkeypatch.setattr(floors, "extended", lambda head, bits: (head << 64 | word, bits + 64))
    heads = _next_to_integers(scale, 120)
    answers = floors.floors(np.array(heads, dtype=np.uint64), _BITS, scale)
    true = [_true_floor((head << 64) | word, _BITS + 64, scale) for head in heads]
    return sum(int(a) != b for a, b in zip(answers, true, strict=True))


@pytest.mark.parametrize("scale", [1.5, 1000.25, 123456789.0, 2.0**28])
@pytest.mark.parametrize("word", [2**60 + 12345, 2**64 - 98765])
def test_draws_next_to_integers_are_decided_by_further_bits(
    scale: float, word: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _wrong(scale, monkeypatch, word) == 0


def test_a_filter_without_its_error_bound_decides_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floors, "_FIXED", 0.0)
    monkeypatch.setattr(floors, "_RELATIVE", 0.0)
    assert _wrong(2.0**28, monkeypatch, 2**60 + 12345) > 20


def test_heads_with_few_digits_are_refined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floors, "extended", lambda head, bits: (head << 64 | 12345, bits + 64))
    heads = [0, 1, 2, 3, 1000, 2**40 + 1, 2**44 + 77]
    answers = floors.floors(np.array(heads, dtype=np.uint64), _BITS, 1e8)
    assert answers.tolist()[1:] == [_true_floor(h << 64 | 12345, _BITS + 64, 1e8) for h in heads[1:]]
    assert answers[0] == _true_floor(12345, _BITS + 64, 1e8)


def test_low_bits_are_split_off_until_floors_can_draw_the_rest() -> None:
    """Scales up to `WIDEST` are drawn whole; of wider ones a scale between half of it and it is left."""
    assert low_bits(floors.WIDEST) == 0
    for scale in (math.nextafter(floors.WIDEST, math.inf), 3e9, 2.0**40, math.nextafter(2.0**41, 0.0), 1e17):
        low = low_bits(scale)
        assert low > 0 and floors.WIDEST / 2 <= math.ldexp(scale, -low) <= floors.WIDEST


def test_a_draw_beyond_64_bits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floors, "extended", lambda head, bits: (head << 64 | (bits > 2000), bits + 64))
    with pytest.raises(OverflowError, match="does not fit into 64-bit integers"):
        floors.floors(np.zeros(1, dtype=np.uint64), _BITS, 2.0**28, below=2**35)


def test_brackets_hold_the_truth_and_close() -> None:
    rng = np.random.default_rng(20)
    for _ in range(200):
        bits = int(rng.integers(64, 257))
        rate = Fraction(int(rng.integers(0, 10**9)), int(rng.integers(1, 10**9)))
        low, high = brackets.exponential(rate, bits)
        quotient = _EXACT.divide(Decimal(-rate.numerator), Decimal(rate.denominator))
        true = _EXACT.multiply(_EXACT.exp(quotient), 2**bits)
        assert high - low <= 3
        assert low <= true <= high
        head = int(rng.integers(1, 2**62))
        low, high = brackets.negative_log(head, 64, 30)
        true = _EXACT.multiply(_EXACT.subtract(_EXACT.ln(Decimal(2**64)), _EXACT.ln(Decimal(head))), Decimal(10) ** 30)
        assert low <= true <= high and high - low <= 3


@pytest.mark.parametrize("bits", [64, 128, 192])
def test_brackets_of_the_logarithms_of_times_hold_the_truth_and_close(bits: int) -> None:
    """At random fractions and next to 0 and 1, where an end is infinite; as close as half as many digits as bits."""
    random_heads = [int.from_bytes(np.random.default_rng(k).bytes(bits // 8)) for k in range(20)]
    for head in (*random_heads, 1, 2, 2**bits // 2, 2**bits - 3, 2**bits - 2):
        low, high = brackets.log_exponential(head, bits)
        ends = [
            _EXACT.ln(_EXACT.subtract(_EXACT.ln(Decimal(2**bits)), _EXACT.ln(Decimal(2**bits - one))))
            for one in (head, head + 1)
        ]
        if head in random_heads:
            assert high - low <= Fraction(ends[1]) - Fraction(ends[0]) + Fraction(10, 10 ** (bits // 2 - 6))
        assert low <= Fraction(ends[0]) and high >= Fraction(ends[1])
    assert brackets.log_exponential(0, bits)[0] == -math.inf and brackets.log_exponential(0, bits)[1] < math.inf
    assert brackets.log_exponential(2**bits - 1, bits)[1] == math.inf
    assert brackets.log_exponential(2**bits - 1, bits)[0] > 3


@pytest.mark.parametrize("late", [0.0, 0.3, 1e6])
def test_times_of_a_race_lie_between_their_bounds(late: float) -> None:
    """ln(-ln(1 - V)) + late for both ends of V; near 0 its logarithm is large and so must the room be."""
    heads = [0, 1, 2, 1000, 2**40, *np.random.default_rng(3).integers(2**50, 2**63, 50).tolist(), 2**64 - 2048]
    first, last = _times(np.array(heads, dtype=np.uint64), np.full(len(heads), late))
    for head, low, high in zip(heads, first.tolist(), last.tolist(), strict=True):
        ends = [_EXACT.subtract(_EXACT.ln(Decimal(2**64)), _EXACT.ln(Decimal(2**64 - one))) for one in (head, head + 1)]
        assert head == 0 or Decimal(low) < _EXACT.add(_EXACT.ln(ends[0]), Decimal(late))
        assert _EXACT.add(_EXACT.ln(ends[1]), Decimal(late)) < Decimal(high)
        if 2**53 < head < 2**63:
            assert high - low < 1e-12 * (1 + late)
    assert first[0] == -math.inf


def _arguments(count: int) -> np.ndarray:
    rng = np.random.default_rng(21)
    near = 1 - np.ldexp(rng.integers(1, 2**20, count // 4).astype(float), -53)
    wide = np.exp2(-12 * rng.random(count // 2))
    return np.concatenate([near, wide, 1 - rng.random(count - near.size - wide.size) * (1 - 2.0**-12)])


def _check_functions(count: int) -> None:
    x = _arguments(count)
    for function, arguments in (("log", x[x < 1]), ("log1p", -x[x < 1]), ("exp", -40 * x)):
        assert floating.largest_error(function, arguments) <= 8


def test_functions_of_numpy_are_as_accurate_as_assumed() -> None:
    _check_functions(2**13)


@pytest.mark.slow
def test_functions_of_numpy_are_as_accurate_as_assumed_on_a_million_arguments() -> None:
    _check_functions(340_000)


def test_an_inaccurate_logarithm_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = np.log
    floating.check_platform.cache_clear()
    monkeypatch.setattr(np, "log", lambda x: exact(x) * (1 + 2.0**-48))
    try:
        with pytest.raises(RuntimeError, match=r"numpy\.log is off by"):
            floating.check_platform()
    finally:
        floating.check_platform.cache_clear()
