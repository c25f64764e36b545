"""Exact draws of K-norm noise, step by step: rejection by the fraction of its formula, and limits to the digit."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpcvx.privacy.noise import KNorm, k_norm_draws
from dpcvx.privacy.noise.k_norm_draws import VECTOR, BoxNoise, Primitives, opendp_geometric

BOXES = [((3, 3), 4), ((7, 12, 9), 6), ((2**40, 5 * 2**40, 2**40 + 1), 6), ((2**55,) * 25, 50), ((2, 2, 3), 4)]


def noise_on(half, r, spread=1.0, primitives=VECTOR):
    return BoxNoise(tuple(float(h) for h in half), r, spread, primitives)


def share(half, r, k):
    """A(k) = prod_j r (2 floor(k h_j/r) + 1)/(2 h_j (k + j))."""
    return math.prod(Fraction(r * (2 * (k * h // r) + 1), 2 * h * (k + j)) for j, h in enumerate(half, 1))


@pytest.mark.parametrize(("half", "r"), BOXES)
def test_levels_are_kept_with_the_probability_of_the_formula(half, r, monkeypatch):
    """Bounds in floating point hold it, where it is too small for that too, and whole numbers as closely as asked."""
    farthest = 64 * (len(half) + 1)  # of a spread of 1
    k = np.array([0, 1, 2, 3, 5, r - 1, r, r + 1, farthest, farthest if max(half) > 100 else 2**31 + 7])
    asked = []
    monkeypatch.setattr(k_norm_draws, "coins", lambda *given: asked.append(given))
    noise_on(half, r)._kept(k)
    ((low, high, bracket),) = asked
    for i, each in enumerate(k.tolist()):
        exact = share(half, r, each)
        assert Fraction(low[i]) < exact < Fraction(high[i]) and exact <= 1
        room = 18 * len(half) * Fraction(1, 2**53)
        assert Fraction(high[i]) - Fraction(low[i]) < exact * room * Fraction(3, 2) + Fraction(1, 2**998)
        for bits in (1, 64, 200):
            below, above = bracket(i, bits)
            assert below <= exact * 2**bits <= above == below + 1


def test_points_of_a_level_are_counted_where_products_need_more_than_64_bits():
    half, r = (3, 7 * 2**20, 2**45 + 1), 10
    k = [0, 1, 9, 10, 11, 12345, 10 * 2**15 + 7, 2**20 - 1]
    assert noise_on(half, 6)._reach(np.array(k)).tolist() == [[each * h // 6 for h in half] for each in k]
    wide = noise_on((5, 2**30), r)
    wide._half = np.array([5, 2**30])  # k h is above 2^64, and k h/r is not
    assert wide._reach(np.array([2**35 + 3])).tolist() == [[(2**35 + 3) * h // r for h in (5, 2**30)]]


class Scripted(BoxNoise):
    """Its levels are 0, 1, 2, ... from the first draw on."""

    def _levels(self, count):
        start = self.__dict__.setdefault("handed", [])
        levels = np.arange(len(start), len(start) + count)
        start.extend(levels)
        self.__dict__.setdefault("asked", []).append(count)
        return levels


@pytest.mark.parametrize("end", ["low", "high"])
def test_noise_is_uniform_on_the_points_of_its_level_and_drawn_in_parts(end, monkeypatch):
    half, r = (7.0, 0.0, 12.0, 9.0), 6
    monkeypatch.setattr(k_norm_draws, "_ENTRIES", 9)  # three rows of the entries that move
    ends = Primitives(VECTOR.geometric, (lambda bounds: 0 * bounds) if end == "low" else (lambda bounds: bounds - 1))
    noise = Scripted(half, r, 1.0, ends)
    sign = -1 if end == "low" else 1
    assert noise.draw(8).tolist() == [[sign * (k * int(h) // r) for h in half] for k in range(8)]
    assert noise.asked == [3, 3, 2]
    monkeypatch.setattr(k_norm_draws, "_ENTRIES", 1)
    assert noise.draw(2).shape == (2, 4) and noise.asked[3:] == [1, 1]


def test_levels_are_sums_of_geometric_draws_of_which_the_kept_stay_where_they_are(monkeypatch):
    """N + 1 draws make a level; those that are not kept are drawn again, in the same places."""
    shapes, kept = [], iter([[True, False, True, False], [False, True], [True]])

    def drawn(scale, shape):
        shapes.append((scale, shape))
        return np.full(shape, len(shapes)) * 10 ** np.arange(shape[0])[:, None]

    noise = noise_on((7, 12, 9), 6, 2.5, Primitives(drawn, VECTOR.uniform_below))
    monkeypatch.setattr(noise, "_kept", lambda k: np.array(next(kept)))
    assert noise._levels(4).tolist() == [4, 12, 400, 80]
    assert shapes == [(2.5, (4, 4)), (2.5, (2, 4)), (2.5, (1, 4))]


def test_geometric_draws_of_opendp_are_those_that_are_not_negative(monkeypatch):
    asked = []

    def laplace(size, scale):
        asked.append((size, scale))
        return lambda values: [value + z for value, z in zip(values, [0, -1, -2, -1, 7, -3, -4, -1] * 5, strict=False)]

    monkeypatch.setattr(k_norm_draws, "discrete_laplace", laplace)
    assert opendp_geometric(2.5, (3, 5)).tolist() == [[0, 7, 0, 7, 0], [7, 0, 7, 0, 7], [0, 7, 0, 7, 0]]
    assert asked == [(39, 2.5), (16, 2.5), (5, 2.5)]  # twice those that are missing, and three deviations or so
    assert opendp_geometric(1.0, (0, 2)).shape == (0, 2) and opendp_geometric(1.0, (2,)).dtype == np.int64


# limits


@pytest.mark.parametrize(
    ("half", "r", "spread", "fits"),
    [
        ((2**62 // 130 - 2**10,), 2, 1.0, True),  # 2 h (64 * 2/r + 1)
        ((2**62 // 130 + 2**10,), 2, 1.0, False),
        ((2**62 // 130 - 2**10,), 2, 0.01, True),  # levels of narrow laws reach as far as with a spread of 1
        ((2**62 // 130 + 2**10,), 2, 0.01, False),
        ((2**62 // 66 - 2**10,), 4, 1.0, True),
        ((2**62 // 66 + 2**10,), 4, 1.0, False),
        ((*(1000,) * 99, 2**62 // 200 - 2**10), 200, 1.0, True),  # h r
        ((*(1000,) * 99, 2**62 // 200 + 2**10), 200, 1.0, False),
        ((2**4,), 2, 2.0**49, True),
        ((2**4,), 2, 2.0**51, False),
    ],
)
def test_half_widths_and_levels_that_do_not_fit_together_are_refused(half, r, spread, fits):
    level = (len(half) + 1) * max(spread, 1.0) * 64
    whole = max(Fraction(level), 2 * max(half) * (Fraction(level) / r + 1), Fraction(max(half) * r))
    assert (whole < 2**62) == fits
    if fits:
        noise_on(half, r, spread)
    else:
        said = f"K-norm noise of scale {spread / r:.6g} on half-widths up to {max(half):.6g} units does not fit"
        with pytest.raises(OverflowError, match=said.replace("+", r"\+")):
            noise_on(half, r, spread)


def test_levels_are_refused_where_r_is_above_twice_a_half_width():
    noise_on((3, 3), 6), noise_on((3, 0, 50), 6)
    with pytest.raises(ValueError, match="r = 7 is above twice the least half-width, 3 units"):
        noise_on((3, 50), 7)
    for wrong in ((-1.0, 3.0), (3.5, 3.0), (math.inf, 3.0)):
        with pytest.raises(ValueError, match="boxes whose half-widths are whole numbers of units"):
            BoxNoise(wrong, 4, 1.0, VECTOR)


def test_noise_is_laid_on_vectors_of_whole_blocks_only():
    law = KNorm(2.0, (5.0, 0.0, 9.0))
    assert law.exact_draws((2, 4, 6)).shape == (2, 4, 6) and not law.exact_draws((50, 6))[:, [1, 4]].any()
    with pytest.raises(ValueError, match="on 3 entries cannot be laid on a vector of 7"):
        law.exact_draws((2, 7))
    assert law.measurement(6).map(3) == pytest.approx(1.5)
    with pytest.raises(ValueError, match="on balls exists only in simulation"):
        KNorm(2.0, (5.0, 5.0), "ball").exact_draws((1, 2))
