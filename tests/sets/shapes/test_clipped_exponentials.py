"""Minimisers of <c, x> + sum x log x over capped simplices: one price for all entries that no end holds."""

import numpy as np
import pytest

from dpcvx.sets.shapes.clipped_exponentials import clipped_exponentials

CASES = {  # lower, upper, total
    "a simplex": (np.zeros(4), np.ones(4), 1.0),
    "caps": (np.zeros(4), np.array([0.3, 0.3, 0.5, 0.2]), 1.0),
    "nearly all is taken by lower ends": (np.array([0.95, 0.04, 0.0, 0.0]), np.full(4, 2.0), 1.0),
    "nearly all is left by upper ends": (np.zeros(4), np.array([0.3, 0.3, 0.2, 0.2001]), 1.0),
    "ends on both sides": (np.array([0.1, 0.0, 5.0, 1.0]), np.array([0.2, 9.0, 6.0, 1.5]), 8.0),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("strength", [0.0, 1.0, 30.0])
def test_the_sum_is_right_and_entries_between_their_ends_have_one_price(name, strength):
    """At the minimiser c + log x + 1 is the price between the ends, above it at lower and below it at upper ends."""
    lower, upper, total = CASES[name]
    c = strength * np.random.default_rng(0).standard_normal((20, 4))
    found = clipped_exponentials(lower, upper, total, c)
    assert np.all(found >= lower) and np.all(found <= upper)
    assert found.sum(axis=1) == pytest.approx(np.full(20, total), rel=1e-11)
    with np.errstate(divide="ignore"):
        price = c + np.log(found)
    for one, x in zip(price, found, strict=True):
        at_most = one[x > lower].max(initial=-np.inf)  # entries that may fall
        at_least = one[x < upper].min(initial=np.inf)  # entries that may rise
        assert at_most <= at_least + 1e-9 * max(1.0, strength)
