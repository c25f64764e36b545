"""The half-spaces that cut an outline: one for each direction that is far from the others."""

import itertools

import numpy as np
import pytest

from dpcvx.sets.shapes.outline import _distinct

CORNERS = np.array(list(itertools.product((1.0, -1.0), repeat=3)))


@pytest.mark.parametrize("p", [1, 1.5, 2, 4])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_of_the_corners_of_a_cube_each_counts_but_the_opposite_ones_do_not(p, unit):
    cuts = _distinct(unit * CORNERS, p)
    assert np.sign(cuts).tolist() == CORNERS[:4].tolist()  # the other four are opposite to them
    attained = (cuts * CORNERS[:4]).sum(axis=1)
    assert attained == pytest.approx(np.full(4, 3 ** (1 / p)), rel=1e-12)


def test_of_points_that_lie_close_together_the_first_counts():
    near = np.array([[3.0, 1.0, 0.0], [3.0, 1.01, 0.0], [-3.0, -1.0, 0.01], [0.0, 0.0, 1.0]])
    assert len(_distinct(near, 2)) == 2
