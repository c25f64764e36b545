"""Capped simplices with weights of any sign, some of them 0, against all of their corners."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from dpcvx.sets.shapes.simplex import CappedSimplex, _bounded


def _columns(scale):
    """x = scale v, entry by entry."""
    return SimpleNamespace(
        squares=scale**2,
        scale=scale if np.all(scale > 0) else None,
        is_positive=bool(np.all(scale > 0)),
        to_x=lambda v: scale * v,
        pull=lambda c: scale * c,
        nearest=lambda p: p / scale,
    )


def _corners(lower, upper, a, beta):
    """All points with every entry at an end, but for at most one that the sum needs elsewhere."""
    n, found = len(a), []
    for ends in product((0, 1), repeat=n):
        v = np.where(ends, upper, lower)
        if abs(a @ v - beta) <= 1e-9 * (np.abs(a) @ np.maximum(np.abs(lower), np.abs(upper))):
            found.append(v)
        for i in np.flatnonzero(a):
            one = (beta - a @ v + a[i] * v[i]) / a[i]
            if lower[i] <= one <= upper[i]:
                found.append(np.where(np.arange(n) == i, one, v))
    return np.array(found)


def _random(rng):
    """Bounds, weights and a sum that some point between them has; the bounds are as tight as it makes them."""
    n = int(rng.integers(2, 6))
    a = rng.choice([-1.0, 1.0], n) * rng.choice([1.0, 1.0, 0.3, 4.0], n) * (rng.random(n) < 0.85)
    a[0] = a[0] or 1.0
    lower = np.where(rng.random(n) < 0.5, 0.0, rng.uniform(-2, 1, n))
    upper = lower + rng.choice([1.0, 0.4, 3.0], n)
    beta = float(a @ (lower + rng.random(n) * (upper - lower)))
    return lower, upper, a, beta


def _conic(lower, upper, a, beta):
    """The rows v <= upper and -v <= -lower that are finite, times positive numbers, and the equality."""
    rows, right = [], []
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        for sign, end in ((1.0, high), (-1.0, low)):
            if np.isfinite(end):
                rows.append((2.0 + i) * sign * np.eye(len(a))[i])
                right.append((2.0 + i) * sign * end)
    return SimpleNamespace(
        A=sparse.csr_array(np.array(rows)), b=np.array(right), is_polyhedral=True, columns=len(a),
        E=sparse.csr_array(a[None]), e=np.array([beta]),
    )  # fmt: skip


def _truth(lower, upper, a, beta):
    """The least and largest value of each entry, by linear programs; None where one has no end."""
    bounds, ends = list(zip(lower, upper, strict=True)), []
    for sign, unit in product((1, -1), np.eye(len(a))):
        best = linprog(sign * unit, A_eq=a[None], b_eq=[beta], bounds=bounds)
        if best.status != 0:
            return None
        ends.append(sign * best.fun)
    return np.array(ends).reshape(2, len(a))


@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_as_tight_as_the_sum_makes_them_and_some_need_not_be_declared(seed):
    rng = np.random.default_rng(seed)
    lower, upper, a, beta = _random(rng)
    for open_ends in ("none", "upper", "lower", "by sign", "other sign", "all"):
        low, high = lower.copy(), upper.copy()
        if open_ends in ("upper", "all"):
            high[a != 0] = np.inf
        if open_ends in ("lower", "all"):
            low[a != 0] = -np.inf
        if open_ends in ("by sign", "other sign"):
            up = (a > 0) == (open_ends == "by sign")
            high[(a != 0) & up], low[(a != 0) & ~up] = np.inf, -np.inf
        found, truth = _bounded(_conic(low, high, a, beta)), _truth(low, high, a, beta)
        if truth is None or np.count_nonzero(a) == 1:  # an entry that is fixed is no longer there
            assert found is None or truth is not None
        else:
            assert found[0] == pytest.approx(truth[0], abs=1e-9) and found[1] == pytest.approx(truth[1], abs=1e-9)
            assert np.array_equal(found[2] * beta, a * found[3]) and abs(found[3]) == abs(beta)


@pytest.mark.parametrize("seed", range(24))
def test_minimisers_and_nearest_points_are_those_that_the_corners_say(seed):
    rng = np.random.default_rng(seed)
    lower, upper, a, beta = _bounded(_conic(*_random(rng)))
    n, scale = len(a), rng.choice([1.0, 0.5, 3.0], len(a)) if seed % 2 else np.ones(len(a))
    shape = CappedSimplex(None, SimpleNamespace(size=n), _columns(scale), lower, upper, a, beta)
    corners = _corners(lower, upper, a, beta) * scale
    size = np.abs(corners).max() + np.ptp(corners, axis=0).max()
    c = rng.standard_normal((2, 5, n))
    c[0, 0] = 0.0
    best = shape.argmin(c)
    assert best.shape == c.shape and np.all(best >= lower * scale) and np.all(best <= upper * scale)
    assert best @ (a / scale) == pytest.approx(np.full((2, 5), beta), abs=1e-12 * size * np.abs(a / scale).sum())
    assert (best * c).sum(axis=-1) == pytest.approx((c @ corners.T).min(axis=-1), abs=1e-12 * size)
    assert np.array_equal(best[1, 3], shape.argmin(c[1, 3]))
    for far in (0.1, 1.0, 1e3, 1e9, 1e14, 1e17):
        p = corners.mean(axis=0) + far * size * rng.standard_normal((2, 5, n))
        x = shape.project(p)
        assert x.shape == p.shape and np.all(x >= lower * scale) and np.all(x <= upper * scale)
        assert x @ (a / scale) == pytest.approx(np.full((2, 5), beta), abs=1e-11 * size * np.abs(a / scale).sum())
        away = (p - x) / far
        gain = (away @ corners.T).max(axis=-1) - (away * x).sum(axis=-1)
        assert np.all(gain <= 1e-9 * size**2)
    inside = corners[0] + rng.random((6, 1)) * (corners[-1] - corners[0])
    assert shape.project(inside) == pytest.approx(inside, abs=1e-12 * size)


@pytest.mark.parametrize("seed", range(6))
def test_one_entry_suffices_where_each_has_room_for_what_the_cheapest_ends_lack(seed):
    """Then corners have all entries but one at the cheap end, as of a simplex; a plain one is called so."""
    rng = np.random.default_rng(seed)
    n = 4
    a = rng.choice([0.5, 2.0], n) * rng.choice([-1.0, 1.0], n)
    for room in (1.0, 0.9):
        lower, upper = np.where(a > 0, 1.0, 1.0 - 2 / np.abs(a)), np.where(a > 0, 1.0 + 2 / np.abs(a), 1.0)
        upper[0] = lower[0] + room * (upper[0] - lower[0]) if a[0] > 0 else upper[0]
        lower[0] = upper[0] - room * (upper[0] - lower[0]) if a[0] < 0 else lower[0]
        beta = float(a.sum()) + 2.0
        shape = CappedSimplex(None, SimpleNamespace(size=n), _columns(np.ones(n)), lower, upper, a, beta)
        assert shape._one_suffices == (room == 1.0) and not shape.is_simplex
        corners = _corners(lower, upper, a, beta)
        c = rng.standard_normal((30, n))
        assert (shape.argmin(c) * c).sum(axis=1) == pytest.approx((c @ corners.T).min(axis=1), abs=1e-12)
    made = lambda low, a, scale: CappedSimplex(  # noqa: E731
        None, SimpleNamespace(size=n), _columns(scale), np.full(n, low), low + 2 / a, a, float(low * a.sum()) + 2.0
    )
    even, ones = np.full(n, 0.5), np.ones(n)
    assert made(0.0, even, ones).is_simplex and made(0.0, even, 3 * ones).is_simplex
    assert (
        made(0.0, even, 3 * ones)._plain().total == pytest.approx(12) and made(0.0, even, 3 * ones)._plain().is_simplex
    )
    assert not made(1.0, even, ones).is_simplex and not made(0.0, even, -ones).is_simplex
    assert not made(0.0, np.array([0.5, 0.5, 0.5, 2]), ones).is_simplex
    assert not made(0.0, even, np.array([1, 1, 1, 2.0])).is_simplex
    assert made(0.0, even, np.array([1, 1, 1, 2.0]))._plain() is None and made(0.0, even, -ones)._plain() is None
    weighted = made(0.0, np.array([0.5, 0.5, 0.5, 1.0]), np.array([1, 1, 1, 2.0]))  # 0.5 x in every entry
    assert weighted._plain().total == pytest.approx(4) and weighted._plain().upper == pytest.approx(np.full(4, 4.0))
