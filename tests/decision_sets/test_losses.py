"""The usual loss sets: their sizes are those of the textbook, in every shape."""

import numpy as np
import pytest

import decision_sets as ds


@pytest.mark.parametrize("shape", [3, (3,), (2, 2)])
def test_a_box_of_losses_has_the_sizes_of_a_box(shape):
    Y = ds.loss_box(shape, 0, 2)
    count = int(np.prod(shape))
    assert Y.shape == ((shape,) if isinstance(shape, int) else shape)
    assert float(Y.diameter(1)) == pytest.approx(2 * count) and float(Y.diameter(2)) == pytest.approx(2 * count**0.5)
    assert Y.contains(np.full(Y.shape, 2.0), 1e-9) and not Y.contains(np.full(Y.shape, -0.1))


@pytest.mark.parametrize("p", [1, 2, 3, np.inf])
def test_a_ball_of_losses_is_that_of_the_norm_of_all_entries(p):
    Y = ds.loss_ball((2, 2), p, 1.5)
    ones = np.ones((2, 2)) / np.linalg.norm(np.ones(4), p)
    assert Y.contains(1.499 * ones) and not Y.contains(1.501 * ones)


def test_losses_are_between_minus_one_and_one_or_in_the_unit_ball_by_default():
    assert float(ds.loss_box(3).radius(np.inf)) == pytest.approx(1)
    assert float(ds.loss_ball(3).radius(2)) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"P must be at least 1, not 0\.5\."):
        ds.loss_ball(3, 0.5)
