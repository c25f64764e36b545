"""Scores of an audit, against likelihood ratios and counts that are known otherwise."""

import math
from collections import Counter

import numpy as np
import pytest

from dpcvx.privacy.audit import bits
from dpcvx.privacy.audit.learned_score import learn_score
from dpcvx.privacy.audit.low_bits import learn_low_bits, marks

# marks


def mark(x):
    """Sign, exponent, and exponent of the lowest set bit."""
    above, below = float(x).as_integer_ratio()
    lowest = (above & -above).bit_length() - below.bit_length() if above else None
    return math.copysign(1, x) if x else 0, math.frexp(x)[1], lowest


def test_marks_are_alike_where_sign_exponent_and_lowest_bit_are():
    rng = np.random.default_rng(0)
    short = np.ldexp(rng.integers(-64, 65, 400).astype(float), rng.integers(-4, 5, 400))
    values = [*short, *rng.normal(size=50), *np.ldexp(rng.random(50), rng.integers(-1070, 1024, 50)), 5e-324, 1.7e308]
    named = {}
    codes = marks(np.array(values))
    for code, value in zip(codes.tolist(), values, strict=True):
        assert named.setdefault(code, mark(value)) == mark(value)
        assert (code > 0) - (code < 0) == mark(value)[0]
    assert len(named) == len({mark(value) for value in values})
    above = sorted((mark(value)[1:], code) for value, code in zip(values, codes, strict=True) if code > 0)
    assert [code for _, code in above] == sorted(code for _, code in above)  # by exponent, then by lowest bit
    assert codes.dtype == np.int64


def test_low_bits_score_by_how_often_their_marks_came():
    """ln of (n_1 + 2)/(n_2 + 2) of each mark, summed over the coordinates; what never came says nothing."""
    rng = np.random.default_rng(1)
    first = np.column_stack([rng.integers(-3, 9, 60) / 4, rng.integers(0, 5, 60)]).astype(float)
    second = np.column_stack([rng.integers(-6, 6, 60) / 2, rng.integers(2, 9, 60)]).astype(float)
    fresh = np.vstack([first[:7], second[:7], [[1e300, 3.0], [0.25, -77.0], [-1e-300, 1e300], [0.0, 0.0]]])
    counts = [[Counter(mark(x) for x in column) for column in outputs.T] for outputs in (first, second)]
    expected = []
    for row in fresh:
        pairs = [(counts[0][j][mark(x)], counts[1][j][mark(x)]) for j, x in enumerate(row)]
        expected.append(sum(math.log((a + 2) / (b + 2)) for a, b in pairs))
    np.testing.assert_allclose(learn_low_bits(first, second)(fresh), expected, rtol=1e-12, atol=1e-12)
    assert max(expected) > 1 and min(expected) < -1


# learned scores


def gaussians(rng, n, mean, root):
    return mean + rng.normal(size=(n, len(mean))) @ root


@pytest.mark.parametrize("size", [2, 8])
def test_a_learned_score_of_two_gaussian_laws_is_their_log_likelihood_ratio(size):
    """Which is a quadratic function: means, variances and correlations differ; far from 0, in units of 100."""
    rng, n = np.random.default_rng(2), 20_000
    roots = np.eye(size), np.diag(np.linspace(1, 1.3, size))
    roots[1][0, 1] = 0.6
    means = np.full(size, 30.0), np.full(size, 30.0) + np.linspace(0.5, 0, size)
    first, second = (100 * gaussians(rng, n, mean, root) for mean, root in zip(means, roots, strict=True))
    fresh = 100 * gaussians(rng, 4_000, means[0], roots[0])
    logs = []
    for mean, root in zip(means, roots, strict=True):
        z = (fresh / 100 - mean) @ np.linalg.inv(root)
        logs.append(-(z**2).sum(axis=1) / 2 - np.linalg.slogdet(root)[1])
    exact, score = logs[0] - logs[1], learn_score(first, second)(fresh)
    assert np.corrcoef(exact, score)[0, 1] > 0.99
    assert np.sqrt(np.mean((score - exact) ** 2)) < 0.12 * exact.std()


def test_products_are_looked_at_up_to_eight_coordinates():
    """Two coordinates that are correlated on one stream, and on the other with another sign."""
    rng, n = np.random.default_rng(3), 4_000
    for size, seen in ((8, True), (9, False)):
        first, second = (rng.normal(size=(n, size)) for _ in range(2))
        first[:, 1] += first[:, 0]
        second[:, 1] -= second[:, 0]
        score = learn_score(first, second)
        apart = score(first).mean() - score(second).mean()
        assert apart > 1.5 if seen else apart < 0.5


def test_directions_without_noise_are_seen_however_small_the_difference():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 500, 1))
    score = learn_score(np.hstack([x, x]), np.hstack([y, y + 1e-3]))
    assert score(np.hstack([x, x])).min() > 1 > -1 > score(np.hstack([y, y + 1e-3])).max()
    score = learn_score(np.zeros((9, 1)), np.full((9, 1), 1e-9))
    assert score(np.zeros((1, 1))) > 1 > -1 > score(np.full((1, 1), 1e-9))
    far = np.array([[0, 1e6]])  # features are cut off, so that no output is infinitely far
    assert abs(learn_score(np.hstack([x, y]), np.hstack([y + 1, x]))(far)) < 1e5


# arithmetic


@pytest.mark.parametrize(("value", "scale"), [(0.0, 1.0), (1.0, 1.0), (-3.7, 0.4), (100.0, 25.0)])
def test_textbook_noise_reaches_the_logarithms_of_multiples_and_nothing_between(value, scale):
    k = np.array([1, 2, 3, 5, 1000, 2**20 + 1, 2**44 + 12345, 2**51, 2**52 - 1, 2**52])
    size = scale * np.log(k * 2.0**-52)
    outputs = np.concatenate([value + size, value - size])
    assert bits.reachable(outputs, value, scale).all()
    coarse = size[:5]  # next to these no other multiple comes near
    for sign in (-1, 1):
        for away in (-1e-9, 1e-9):
            assert not bits.reachable(value + sign * coarse * (1 + away), value, scale).any()
    assert not bits.reachable(np.array([value + scale * 36.2, value - scale * 36.2]), value, scale).any()  # k below 1


def test_noise_beyond_the_last_multiple_is_not_reached():
    above = math.log1p(2.0**-52)  # of k = 2^52 + 1: a uniform number above 1
    assert bits.reachable(np.array([2.0**-52, 0.0]), 0.0, 1.0).all() and not bits.reachable(np.array([above]), 0.0, 1.0)


def test_scores_name_the_input_that_alone_can_produce_an_output():
    own = np.log(7 * 2.0**-52)  # from 0, and once 1 is added rounded
    outputs = np.array([[own, 9.0], [1 + own, 9.0], [0.3, 9.0]])
    reached = [[bits.reachable(outputs[:, 0], x, 1.0)[i] for x in (0.0, 1.0)] for i in range(3)]
    assert reached[0] == [True, False] and reached[1][1]
    expected = [int(a) - int(b) for a, b in reached]
    assert bits.bits_score(0.0, 1.0, 1.0)(outputs).tolist() == expected
    assert bits.bits_score(1.0, 0.0, 1.0)(outputs).tolist() == [-each for each in expected]
    grid = np.array([[0.5, 0.1], [0.75, 0.1], [0.3, 0.5], [-1.25, 0.5]])
    assert bits.on_grid(grid[:, 0], 0.25, 0.5).tolist() == [False, True, False, True]
    assert bits.grid_score(0.25, 0.5, 0.5)(grid).tolist() == [-1, 1, 0, 1]


@pytest.mark.parametrize(("first", "second"), [(0, 1000), (-40, 3)])
def test_fractions_fit_the_item_that_was_added_up_to_rounding(first, second):
    weight = 0.4870129
    rng = np.random.default_rng(5)
    z = rng.integers(-100_000, 100_000, (300, 2)).astype(float)
    fit = {}
    for item in (first, second):
        releases = np.column_stack([item + z[:, 0], item + weight * z[:, 0] + z[:, 1]])
        fit[item] = bits.fraction_score(first, second, weight)(releases)
        room = 4e-15 * (np.abs(releases).sum(axis=1) + abs(item) + 1)
        for share, sign in ((0.8, 1), (1.3, 0)):
            moved = releases + np.column_stack([0 * room, share * room])
            assert (bits.fraction_score(first, second, weight)(moved) == sign * fit[item]).mean() > 0.9
    assert (fit[first] == 1).all() and (fit[second] == -1).all()
    assert bits.fraction_score(first, first, weight)(releases).tolist() == [0] * 300
