"""Fitted exponents: right on power laws, with intervals that hold the truth as often as they say."""

import numpy as np
import pytest

from dpcvx.experiments.exponents import Exponent, fit_exponent

SIZES = [2.0**10, 2.0**12, 2.0**14, 2.0**16]


def power_law(rng, sizes, exponent, replicas, spread, misfit=0.0):
    """Replicas around 3 size^exponent, with a relative spread, and each size off the law by a factor of its own."""
    off = np.exp(misfit * rng.standard_normal(len(sizes)))
    return [
        3 * size**exponent * factor * (1 + spread * rng.standard_normal(replicas))
        for size, factor in zip(sizes, off, strict=True)
    ]


def test_an_exact_power_law_gives_its_exponent():
    fitted = fit_exponent(SIZES, [[5 * size**0.7] for size in SIZES])
    assert fitted.value == pytest.approx(0.7, abs=1e-12)
    assert fitted.upper - fitted.lower <= 1e-6
    assert str(Exponent(0.52, 0.48, 0.56, 0.95)) == "0.52 [0.48, 0.56]"


def test_a_known_factor_is_divided_out():
    regrets = [np.full(3, np.sqrt(size * np.log(size))) for size in SIZES]
    assert fit_exponent(SIZES, regrets, divide=lambda size: np.sqrt(np.log(size))).value == pytest.approx(0.5)
    assert fit_exponent(SIZES, regrets).value > 0.54


@pytest.mark.parametrize(("count", "replicas", "misfit"), [(2, 30, 0.0), (3, 20, 0.1), (5, 20, 0.1)])
def test_intervals_hold_the_truth_as_often_as_they_say(count, replicas, misfit):
    """80 % intervals on 200 laws hold the truth in at least 115 of them, and ones a third as wide do not.

    They hold it with probability 0.77 or more (3,000 laws): fewer than 115 have binomial probability below 1e-9.
    """
    rng = np.random.default_rng(count)
    sizes = np.geomspace(100, 10_000, count)
    held = narrow = 0
    for _ in range(200):
        fitted = fit_exponent(sizes, power_law(rng, sizes, 0.5, replicas, 0.5, misfit), level=0.8)
        held += fitted.lower <= 0.5 <= fitted.upper
        narrow += abs(fitted.value - 0.5) <= (fitted.upper - fitted.lower) / 6
    assert narrow < 115 <= held


def test_the_interval_is_not_wider_than_the_data_deserve():
    """Four sizes, 100 replicas of spread 0.3: a standard error of 0.03/(sd of x) for the slope.

    An interval is at most half wider than that with probability 0.7 or more (300 laws): fewer than 20 of 60 have
    binomial probability below 1e-8.
    """
    rng = np.random.default_rng(0)
    fitted = [fit_exponent(SIZES, power_law(rng, SIZES, 0.5, 100, 0.3)) for _ in range(60)]
    deserved = 0.03 / np.linalg.norm(np.log(SIZES) - np.log(SIZES).mean())
    assert sum(one.upper - one.lower <= 1.5 * 2 * 1.96 * deserved for one in fitted) >= 20


def test_bent_laws_have_wide_intervals():
    """Teeth: regret size^0.3 up to the middle and size^0.7 beyond has no exponent, whatever the replicas say."""
    bent = [np.full(50, size**0.3) if size <= 2**13 else np.full(50, size**0.7) for size in SIZES]
    fitted = fit_exponent(SIZES, bent)
    assert fitted.upper - fitted.lower > 0.5 and fitted.meets(0.4, 0.65)
    assert not fit_exponent(SIZES, [np.full(5, size**0.3) for size in SIZES]).meets(0.4, 0.65)


@pytest.mark.parametrize(
    ("sizes", "samples", "sentence"),
    [
        ([10], [[1.0, 2.0]], "at least 2 different positive numbers"),
        ([10, 10], [[1.0, 2.0]] * 2, "at least 2 different positive numbers"),
        ([10, -1], [[1.0, 2.0]] * 2, "at least 2 different positive numbers"),
        ([10, 20], [[1.0, 2.0], [1.0, -4.0]], "regret is not positive at size 20: its mean is -1.5"),
        ([10, 20], [[1.0, np.nan], [1.0, 2.0]], "regret is not positive at size 10"),
        ([10, 20], [[1.0, 2.0]], "one array for each of the 2 sizes"),
        ([10, 20], [[1.0, 2.0], []], "at least one replica"),
        ([10, 20], [[1.0, 2.0], [1.0]], "at least 2 replicas each"),
    ],
)
def test_what_has_no_exponent_is_refused(sizes, samples, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit_exponent(sizes, samples)
