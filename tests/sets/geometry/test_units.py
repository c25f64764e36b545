"""Sets of any size: quadratic epigraphs far from 1 keep their dimension, their points and their digits."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.sets.conic import presolve


def _powers(n, p, level, **attributes):
    x = cp.Variable(n, name="x", **attributes)
    return x, [cp.sum(cp.power(x, p)) <= level]


SMALL = {
    "each power(x, 4) <= 1e-10": lambda: (x := cp.Variable(2, name="x"), [cp.power(x, 4) <= 1e-10]),
    "sum power(x, 4) <= 1e-10": lambda: _powers(2, 4, 1e-10),
    "sum power(x, 4) <= 1e-16": lambda: _powers(3, 4, 1e-16),
    "sum power(x, 4) <= 1e12": lambda: _powers(2, 4, 1e12),
    "sum power(x, 3) <= 1e-12": lambda: _powers(2, 3, 1e-12, nonneg=True),
    "sum_squares <= 1e-14": lambda: (x := cp.Variable(3, name="x"), [cp.sum_squares(x) <= 1e-14, cp.sum(x) <= 1e-8]),
    "power(x, 4) and a half-space": lambda: (
        x := cp.Variable(2, name="x"),
        [cp.sum(cp.power(x, 4)) <= 1e-10, cp.sum(x) <= 1e-3],
    ),
    "1e-7 x 1e7": lambda: (
        x := cp.Variable(2, name="x"),
        [cp.abs(x[0]) <= 1e-7, cp.norm2(cp.multiply([1e7, 1e-7], x)) <= 1],
    ),
    "pnorm of x/1e-6": lambda: (x := cp.Variable(3, name="x"), [cp.pnorm(x / 1e-6, 3.3, approx=False) <= 1]),
}


@pytest.mark.parametrize("declare", SMALL.values(), ids=SMALL)
def test_a_set_contains_its_own_answers_in_any_units(declare):
    S = DecisionSet(*declare())
    assert S.dim == S.size
    rng = np.random.default_rng(0)
    for _ in range(3):
        best = S.argmin(rng.standard_normal(S.shape))
        assert S.contains(best, 1e-7)
        assert S.contains(S.project(S.center + 3 * (best - S.center) * rng.standard_normal(S.shape)), 1e-7)
        assert not S.contains(S.center + 1.001 * (best - S.center))


@pytest.mark.parametrize("level", [1e-16, 1e-10, 1.0, 1e12])
def test_the_extreme_point_of_a_sum_of_powers_is_the_one_of_the_formula(level):
    S = DecisionSet(*_powers(2, 4, level))
    c = np.array([1.0, -2.0])
    dual = (np.abs(c) ** (4 / 3)).sum() ** (3 / 4)  # the dual norm of the 4-norm
    assert np.isclose(c @ S.argmin(c), -dual * level**0.25, rtol=1e-7)


def test_without_own_units_the_digits_are_lost(monkeypatch):
    """Teeth: in the units of the declaration a set of size 1e-4 is taken for a point."""
    monkeypatch.setattr(presolve, "in_own_units", lambda conic: conic)
    assert DecisionSet(*_powers(3, 4, 1e-16)).dim == 0
