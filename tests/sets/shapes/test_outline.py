"""Polytopes around a body that is known by its support: farthest points of bodies told by hand."""

import numpy as np
import pytest

from dpcvx.sets.shapes.outline import Outline


def _interval(low, high):
    """The certified maxima of <c, y> over [low, high]."""
    return lambda covectors: np.maximum(covectors[:, 0] * low, covectors[:, 0] * high)


@pytest.mark.parametrize("p", [1, 1.5, 2])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (-3.0, 2.0), (-1e-3, 1e-4)])
def test_on_a_line_the_tightest_half_spaces_count(p, low, high):
    covectors = np.array([[1.0], [2.0], [0.5], [-1.0], [-0.5], [-4.0]])
    ends = _interval(low, high)(covectors) * [7, 1, 9, 8, 1, 6]  # one on each side is not loose
    outline = Outline(np.zeros(1), np.ones((1, 1)), _interval(low, high), covectors, ends, symmetric=False)
    assert outline.norm_bound(p, 100.0) == pytest.approx(max(-low, high), rel=1e-6)
    assert outline.norm_bound(p, 0.5 * high) == 0.5 * high


@pytest.mark.parametrize("origin", [0.0, 2.0, -3.0])
def test_on_a_line_the_farthest_point_depends_on_the_origin(origin):
    covectors = np.array([[1.0], [-1.0]])
    ends = _interval(-1.0, 2.0)(covectors)
    outline = Outline(np.array([origin]), np.ones((1, 1)), _interval(-1.0, 2.0), covectors, ends, symmetric=False)
    assert outline.norm_bound(2, 100.0) == pytest.approx(max(abs(origin - 1), abs(origin + 2)), rel=1e-6)


@pytest.mark.parametrize(("p", "truth"), [(1, 2 * np.sqrt(2)), (1.5, 2 * 2 ** (1 / 6)), (2, 2.0)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_around_a_disc_cuts_lead_from_the_square_to_its_radius(p, truth, symmetric):
    def support(covectors):
        return 2 * np.linalg.norm(covectors, axis=1)

    first = np.concatenate([np.eye(2), -np.eye(2)])
    outline = Outline(np.zeros(2), np.eye(2), support, first, support(first), symmetric=symmetric)
    assert truth <= outline.norm_bound(p, 100.0) <= 1.02 * truth
