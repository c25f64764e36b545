"""Certified diameters and norms against the best that many searches find: never below it, and seldom far above."""

import warnings

import numpy as np
import pytest
from declared_sets import DECLARED

from dpcvx import LossSet
from dpcvx.sets.shapes.shape import Shape

NORMS = (1, 2)


def _dual_vector(d, p):
    return np.sign(d) * (np.abs(d) / max(np.abs(d).max(), 1e-300)) ** (p - 1)


def _found(Y, p, rng, starts=4, steps=3):
    """The largest |x - x'|_p and |x|_p that alternating linear maximisation finds from random directions."""

    def farthest(c):
        return Y.recognised.farthest(c)

    apart = away = 0.0
    for g in rng.standard_normal((starts, Y.size)):
        c = g
        for _ in range(steps):
            d = farthest(c) - farthest(-c)
            apart, c = max(apart, float(np.linalg.norm(d, p))), _dual_vector(d, p)
        c = g
        for _ in range(steps):
            x = farthest(c)
            away, c = max(away, float(np.linalg.norm(x, p))), _dual_vector(x, p)
    return apart, away


@pytest.fixture(scope="module")
def measured():
    """For each set and norm: bounds of diameter and radius by the set, by its box alone, and what was found."""
    rng, rows = np.random.default_rng(0), []
    for name, declare in DECLARED.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of cvxpy, where it approximates a power
            Y = LossSet(*declare())
        lower, upper = Y.recognised.box
        general = Shape(Y._set.geometry, Y._set.layout)
        general.box = Y.recognised.box  # what no formula of the shape knows
        for p in NORMS:
            ours = (general.diameter(p), general.radius(p)) if Y.size <= 12 else (Y.diameter(p), Y.radius(p))
            boxes = np.linalg.norm(upper - lower, p), np.linalg.norm(np.maximum(abs(lower), abs(upper)), p)
            rows.append((name, np.array(ours, float), np.array(boxes), np.array(_found(Y, p, rng))))
    return rows


@pytest.mark.slow
def test_no_point_is_farther_than_a_certified_size(measured):
    """Teeth: sizes that are 1 % too small would be noticed on most sets."""
    assert all(np.all(ours >= found * (1 - 1e-7)) for _, ours, _, found in measured)
    noticed = [np.any(0.99 * ours < found * (1 - 1e-7)) for _, ours, _, found in measured]
    assert np.mean(noticed) > 0.5


@pytest.mark.slow
def test_certified_sizes_are_within_five_percent_on_most_sets(measured):
    """Teeth: the diagonals of bounding boxes are not."""
    assert len(measured) >= 60
    ours = np.median([size / found for _, size, _, found in measured], axis=0)
    boxes = np.median([size / found for _, _, size, found in measured], axis=0)
    assert np.all(ours < 1.05)
    assert np.all(boxes > 1.05)
