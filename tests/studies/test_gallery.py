"""The gallery: outlines and ellipses come from the sets' own oracles, and lie where they should."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet
from dpcvx.studies import gallery

FLAT = [gallery.polygon, gallery.cut_power_ball, gallery.uncertain_distributions]


@pytest.mark.parametrize("declare", FLAT)
def test_flat_exhibits_are_two_dimensional_and_so_are_drawn(declare):
    assert declare().dim == 2


def test_outline_of_a_disc_is_its_circle():
    x = cp.Variable(2)
    disc = DecisionSet(x, [cp.norm2(x - np.array([1.0, 2.0])) <= 3])
    offsets = gallery.outline(disc, directions=40) - [1.0, 2.0]
    assert np.linalg.norm(offsets, axis=1) == pytest.approx(np.full(40, 3.0), abs=1e-7)
    angles = np.unwrap(np.arctan2(offsets[:, 1], offsets[:, 0]))
    assert np.all(np.diff(angles) > 0)


def test_plane_coordinates_keep_distances_for_a_set_of_matrices():
    X = cp.Variable((2, 2), symmetric=True)
    declared = DecisionSet(X, [X >> 0, cp.trace(X) == 1])
    states = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]])
    plane = gallery.to_plane(declared, states)
    assert np.linalg.norm(plane[0] - plane[1]) == pytest.approx(np.linalg.norm(states[0] - states[1]))
    for coordinates, state in zip(plane, states, strict=True):
        assert gallery.from_plane(declared, coordinates) == pytest.approx(state - declared.center, abs=1e-9)


@pytest.mark.parametrize("declare", FLAT)
def test_drawn_ellipses_stay_inside_the_set(declare):
    declared = declare()
    for point in gallery.viewpoints(declared, gallery.outline(declared)):
        assert all(declared.contains(p, 1e-9) for p in gallery.dikin_ellipse(declared, point, directions=24))


def test_a_gallery_without_flat_sets_is_refused(tmp_path):
    exhibit = gallery.Exhibit("density matrices", gallery.density_matrices(), 0.0)
    with pytest.raises(ValueError, match="None of the sets is two-dimensional"):
        gallery.draw([exhibit], tmp_path / "nothing.png")


def test_table_has_a_line_for_every_set_and_aligned_columns():
    lines = gallery.table(gallery.declare_all()).splitlines()
    assert len(lines) == 2 + len(gallery.SETS)
    assert len({len(line) for line in lines}) == 1
