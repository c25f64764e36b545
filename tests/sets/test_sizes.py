"""Sizes of sets and losses against sampled truth."""

import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from loss_sets import box_losses

import decision_sets as ds
from dpcvx.sets.sizes import Sizes


def sampled_vertices(X, rng, count=40):
    return np.array([X.argmin(c) for c in rng.standard_normal((count, *X.shape))])


@pytest.fixture(scope="module", params=list(CATALOGUE))
def sizes(request):
    X = CATALOGUE[request.param][0]()
    return Sizes(X, box_losses(X.shape))


@pytest.mark.sampled(3)
def test_sizes_hold_for_sampled_points(sizes):
    X, Y = sizes.decision_set, sizes.loss_set
    rng = np.random.default_rng(0)
    vertices = X.flatten(sampled_vertices(X, rng))
    assert np.linalg.norm(vertices - sizes.middle, axis=1).max() <= sizes.radius * (1 + 1e-9)
    lower = X.flatten(X.bounding_box()[0])
    assert (vertices - lower).sum(axis=1).max() <= sizes.mass * (1 + 1e-9) + 1e-9
    samples = Y.flatten(np.array([Y.argmin(c) for c in rng.standard_normal((40, *X.shape))]))
    values = samples @ vertices.T
    assert np.ptp(values, axis=1).max() <= sizes.variation * (1 + 1e-9)
    assert max(np.linalg.norm(sizes.tangential(loss)) for loss in samples) <= sizes.loss_radius * (1 + 1e-9)
    if sizes.total is not None:
        assert vertices.sum(axis=1) == pytest.approx(np.full(len(vertices), sizes.total), abs=1e-7)


def test_chords_are_exact_on_the_simplex_and_on_0_1_polytopes():
    for X, most in ((ds.simplex(6), 1 - 1 / 6), (ds.capped_simplex(6, 2), 2 - 2 * 2 * 2 / 6 + 6 / 9)):
        middle = X.flatten(X.center)
        assert X.recognised.chord_bound(lambda x, m=middle: (x - m) ** 2) == pytest.approx(most, rel=1e-9)


def test_a_set_and_losses_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        Sizes(ds.simplex(4), box_losses(3))
