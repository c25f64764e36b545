"""The Toeplitz factorisation: exact products, a sensitivity that is never too small, error close to the lower bound."""

import math
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcvx.privacy.counters import toeplitz_factors as module
from dpcvx.privacy.counters.toeplitz_factors import (
    ExponentialFilter,
    _mixture,
    _squares,
    prefix_lower_bound,
    toeplitz_factors,
)

SMALL = (1, 2, 3, 4, 5, 7, 10, 33, 100, 300)


def _entries(rates, gains, size):
    return rates ** np.arange(size)[:, None] @ gains


def _toeplitz(column):
    i = np.arange(column.size)
    return np.where(i[:, None] >= i, column[i[:, None] - i], 0.0)


def _by_recurrence(rates, gains, size):
    """The norm of an impulse response, one step after the other."""
    state, total = np.ones(rates.size), 0.0
    for _ in range(size):
        total += float(gains @ state) ** 2
        state = state * rates
    return math.sqrt(total)


@pytest.mark.parametrize("size", SMALL)
def test_product_of_the_factors_is_the_prefix_matrix(size):
    factors = toeplitz_factors(size)
    B = _toeplitz(_entries(factors.theta, factors.omega, size))
    C = _toeplitz(_entries(factors.poles, factors.gains, size))
    np.testing.assert_allclose(B @ C, np.tri(size), rtol=0, atol=1e-10)


@pytest.mark.parametrize("theta", [(0.1, 0.5, 0.9), (0.0, 0.3, 0.98), (0.4,), (0.0,)])
def test_mixtures_with_and_without_a_rate_of_0_are_inverted(theta):
    """1/((1-z) B(z)) has a pole at 0 where no rate of B is 0."""
    theta, omega = np.array(theta), np.arange(1.0, len(theta) + 1)
    omega /= omega.sum()
    poles, gains = module._inverse(theta, omega)
    assert poles.size == theta.size + (theta[0] > 0) and poles[0] == 1 and (poles[-1] == 0) == (theta[0] > 0)
    product = np.convolve(_entries(theta, omega, 30), _entries(poles, gains, 30))[:30]
    np.testing.assert_allclose(product, np.ones(30), rtol=0, atol=1e-12)
    np.testing.assert_allclose(module._geometric(poles, 30), [sum(p**i for i in range(30)) for p in poles.tolist()])


@pytest.mark.parametrize("size", [*SMALL, 2**14, 2**20, 2**30])
def test_poles_interlace_and_every_weight_is_positive(size):
    factors = toeplitz_factors(size)
    assert np.all(factors.omega > 0) and math.isclose(factors.omega.sum(), 1, rel_tol=1e-14)
    assert np.all(factors.gains > 0) and math.isclose(factors.gains.sum(), 1, rel_tol=1e-9)  # C_0 = 1/B_0
    assert np.all(factors.theta >= 0) and np.all(factors.theta < 1) and factors.poles[0] == 1
    merged = np.empty(2 * factors.theta.size)
    rising = factors.poles[::-1] if factors.theta[0] > 0 else np.append(0.0, factors.poles[::-1])
    merged[0::2], merged[1::2] = rising[:-1], factors.theta
    assert np.all(np.diff(merged[1:]) > 0) and merged[-1] < 1 and factors.theta.size <= 12


def test_sensitivity_is_never_below_the_state_recurrence():
    for size in [*range(1, 301), 2**14]:
        factors = toeplitz_factors(size)
        truth = _by_recurrence(factors.poles, factors.gains, size)
        assert truth <= factors.sensitivity <= truth * (1 + 1e-6)


@pytest.mark.parametrize("size", [3, 40, 200])
def test_sensitivity_is_never_below_its_value_in_exact_arithmetic(size):
    factors = toeplitz_factors(size)
    gains = [Fraction(g) for g in factors.gains]
    powers, total = [Fraction(1)] * len(gains), Fraction(0)
    for _ in range(size):
        total += sum(g * p for g, p in zip(gains, powers, strict=True)) ** 2
        powers = [p * Fraction(pole) for p, pole in zip(powers, factors.poles, strict=True)]
    ratio = Fraction(factors.sensitivity) ** 2 / total
    assert 1 < ratio < 1 + Fraction(1, 10**11)


@pytest.mark.parametrize("size", [10, 10**6])
def test_sensitivity_leaves_room_for_the_roundings_that_its_proof_counts(size):
    """3 size of an impulse that runs through the filter and its squares, and 200 of a sum; 4 size + 1000 are taken."""
    factors = toeplitz_factors(size)
    computed = math.sqrt(float(_squares(factors.poles, factors.gains, np.asarray(size))))
    room = (factors.sensitivity / computed - 1) * 2.0**53
    assert 3 * size + 200 < room == pytest.approx(4 * size + 1000, abs=8)


def test_first_column_is_the_longest_and_other_columns_fit_under_the_sensitivity():
    factors = toeplitz_factors(64)
    C = _toeplitz(_entries(factors.poles, factors.gains, 64))
    assert np.linalg.norm(C, axis=0).max() <= factors.sensitivity


@pytest.mark.parametrize("size", [1, 2, 3, 50, 300])
def test_row_norms_are_those_of_the_dense_matrix(size):
    factors = toeplitz_factors(size)
    dense = np.linalg.norm(_toeplitz(_entries(factors.theta, factors.omega, size)), axis=1)
    rows = factors.row_norm(np.arange(1, size + 1))
    np.testing.assert_allclose(rows, dense, rtol=1e-12)
    assert np.all(np.diff(rows) >= 0) and factors.row_norm(size) == rows[-1]
    square = np.arange(1, 5).reshape(2, 2) % size + 1
    np.testing.assert_array_equal(factors.row_norm(square), rows[square - 1])


@pytest.mark.parametrize(("size", "goal"), [(2**10, 1.13), (2**16, 1.09), (2**20, 1.075)])
def test_error_is_close_to_the_lower_bound(size, goal):
    start = time.perf_counter()
    factors = toeplitz_factors(size)
    seconds = time.perf_counter() - start
    error = factors.sensitivity * float(factors.row_norm(size))
    quality = error / prefix_lower_bound(size)
    print(f"size {size}: {factors.theta.size} terms, error {error:.4f}, {quality:.5f} of the bound, {seconds:.4f} s")
    assert 1 <= quality <= goal


@pytest.mark.parametrize("size", range(1, 40))
def test_error_is_within_a_thousandth_of_the_square_root_at_small_sizes(size):
    f = np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1, size)))
    factors = toeplitz_factors(size)
    assert factors.sensitivity * float(factors.row_norm(size)) <= 1.001 * float(f @ f)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 257])
def test_lower_bound_is_the_nuclear_norm_over_the_size(size):
    assert math.isclose(prefix_lower_bound(size), np.linalg.norm(np.tri(size), "nuc") / size, rel_tol=1e-12)


@pytest.mark.parametrize("size", [1, 5, 6, 7, 20])
def test_long_sums_are_added_up_in_parts(size, monkeypatch):
    """The lower bound by its singular values, and row norms, both by a few terms at a time."""
    factors = toeplitz_factors(size)
    whole, rows = prefix_lower_bound(size), factors.row_norm(np.arange(1, size + 1))
    monkeypatch.setattr(module, "_CHUNK", 3)
    monkeypatch.setattr(module, "_ROWS", 3)
    assert prefix_lower_bound(size) == pytest.approx(whole, rel=1e-13)
    np.testing.assert_allclose(factors.row_norm(np.arange(1, size + 1)), rows, rtol=1e-14)


@pytest.mark.parametrize(("size", "off", "more"), [(300, 0.033, 1.8e-5), (3_000, 0.035, 5.2e-5), (10**6, 0.1, 5.8e-4)])
def test_long_factors_are_close_to_the_square_root(size, off, more):
    """Entries binom(2i, i)/4^i within a few per cent, and the error of both together within less than a thousandth."""
    root = np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1, size)))
    factors, first = toeplitz_factors(size), root[:3_000]
    entries = _entries(factors.theta, factors.omega, first.size)
    assert np.abs(entries / first - 1).max() <= off
    assert factors.sensitivity * float(factors.row_norm(size)) <= (1 + more) * float(root @ root)
    assert factors.second_entry == pytest.approx(entries[1], rel=1e-14)


@pytest.mark.parametrize("steps", [1, 2, 30])
def test_matrices_are_those_of_impulses(steps):
    factors = toeplitz_factors(30)
    for matrix, stream in zip(factors.matrices(steps), (factors.b_filter(), factors.c_filter()), strict=True):
        column = [float(stream.step(float(i == 0))) for i in range(steps)]
        np.testing.assert_allclose(matrix, _toeplitz(np.array(column)), rtol=1e-12, atol=0)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (100, 200)])
def test_streams_equal_the_dense_matrices(shape):
    size = 120
    factors = toeplitz_factors(size)
    x = np.random.default_rng(1).normal(size=(size, *shape))
    for stream, entries in [
        (factors.b_filter(shape), _entries(factors.theta, factors.omega, size)),
        (factors.c_filter(shape), _entries(factors.poles, factors.gains, size)),
    ]:
        out = np.stack([stream.step(row) for row in x])
        assert out.shape == x.shape
        np.testing.assert_allclose(out, np.tensordot(_toeplitz(entries), x, 1), rtol=0, atol=1e-11)


@pytest.mark.parametrize("shape", [(), (3,), (2, 5)])
def test_many_steps_at_once_are_the_same_steps(shape):
    rng = np.random.default_rng(4)
    factors = toeplitz_factors(300)
    for make in (factors.b_filter, factors.c_filter):
        one, many = make(shape), make(shape)
        for count in (1, 16, 16, 3, 1, 40):
            x = rng.standard_normal((count, *shape))
            expected = np.stack([one.step(row) for row in x])
            assert np.allclose(many.steps(x), expected, rtol=0, atol=1e-12)
            assert np.allclose(many.state, one.state, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="rows of shape"):
        factors.b_filter((3,)).steps(np.ones(3))


def test_b_after_c_is_the_prefix_sum_over_a_long_stream():
    size = 2**14
    factors = toeplitz_factors(size)
    b, c = factors.b_filter((2,)), factors.c_filter((2,))
    x = np.random.default_rng(2).integers(-5, 6, size=(size, 2))
    out = np.stack([b.step(c.step(row)) for row in x])
    np.testing.assert_allclose(out, np.cumsum(x, axis=0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("signs", ["ones", "random"])
def test_rounding_error_covers_exact_arithmetic(signs):
    size, bound = 200, 0.7
    factors = toeplitz_factors(size)
    rng = np.random.default_rng(3)
    x = np.full(size, bound) if signs == "ones" else rng.uniform(-bound, bound, size)
    stream, states, worst = factors.c_filter(), [Fraction(0)] * factors.poles.size, 0.0
    for value in x:
        states = [Fraction(p) * s + Fraction(value) for p, s in zip(factors.poles, states, strict=True)]
        exact = sum(Fraction(g) * s for g, s in zip(factors.gains, states, strict=True))
        worst = max(worst, abs(float(Fraction(float(stream.step(value))) - exact)))
    allowed = factors.rounding_error(bound)
    assert worst <= allowed <= 1e-11  # the exact state needs 2^-53 times the length of all paths, not more


@pytest.mark.parametrize("size", [1, 2, 7, 200, 2**14, 2**40])
def test_rounding_error_is_that_of_its_proof(size):
    """State by state, by the shorter of the two bounds of its paths; and no smaller than the paths themselves."""
    factors, u = toeplitz_factors(size), mpmath.mpf(2) ** -53
    with mpmath.workdps(60):
        bound = lengths = mpmath.mpf(0)
        for pole, gain in zip(map(mpmath.mpf, factors.poles), map(mpmath.mpf, factors.gains), strict=True):
            total = size if pole == 1 else (1 - pole**size) / (1 - pole)
            paths = (2 * size - 1) * total
            if pole < 1:
                paths = min(paths, (1 + pole) / (1 - pole) ** 2)
            state = paths * u / (1 - 2 * size * u)
            bound += gain * (state + (len(factors.poles) + 1) * u * (total + state))
            if size <= 200:
                lengths += gain * sum((2 * i + 1) * pole**i for i in range(size)) * u
        for inputs in (1.0, 1e-3, 700.0):
            exact = 1.001 * bound * inputs
            assert factors.rounding_error(inputs) == pytest.approx(float(exact), rel=1e-9, abs=0)
            assert lengths * inputs < factors.rounding_error(inputs)
    assert factors.rounding_error(0.0) == 1e-300 and factors.rounding_error(1e-280) > 1e-300


def test_rounding_error_grows_with_the_bound_and_stays_small_at_long_horizons():
    factors = toeplitz_factors(2**20)
    assert math.isclose(factors.rounding_error(8.0), 8 * factors.rounding_error(1.0), rel_tol=1e-12)
    assert 0 < factors.rounding_error(0.0) <= 1e-299 and factors.rounding_error(1.0) < 1e-6


def test_factors_cannot_be_changed():
    factors = toeplitz_factors(10)
    with pytest.raises(ValueError, match="read-only"):
        factors.gains[0] = 0.0


@pytest.mark.parametrize("size", [0, -3, 2.5, "ten", 2**41])
def test_sizes_are_checked(size):
    for function in (toeplitz_factors, prefix_lower_bound):
        with pytest.raises(ValueError, match="size of a factorisation must be"):
            function(size)


def test_arguments_are_checked():
    factors = toeplitz_factors(10)
    for t in (0, 11, 1.5, np.array([1, 11])):
        with pytest.raises(ValueError, match="integers from 1 to 10"):
            factors.row_norm(t)
    for bound in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="bound on the inputs"):
            factors.rounding_error(bound)
    for rates, gains in ((np.ones(2), np.ones(3)), (np.ones((2, 1)), np.ones((2, 1))), (np.ones(()), np.ones(()))):
        with pytest.raises(ValueError, match="as many rates as gains"):
            ExponentialFilter(rates, gains)
    for x in (np.float64(1.0), np.ones((2, 3))):
        with pytest.raises(ValueError, match="takes rows of shape"):
            factors.c_filter((2,)).steps(x)
    with pytest.raises(ValueError, match=r"arrays of shape \(3,\), but one of shape \(2,\)"):
        factors.c_filter((3,)).step(np.ones(2))


@pytest.mark.parametrize("size", [1, 5, 1000, 2**30])
def test_weights_of_a_mixture_sum_to_the_first_coefficient(size):
    theta, omega = _mixture(size)
    assert omega.sum() == pytest.approx(1, abs=1e-15)  # binom(0, 0)
    assert (omega > 0).all() and (np.diff(theta) > 0).all() and theta[0] >= 0 and theta[-1] < 1
