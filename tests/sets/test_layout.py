"""Arrays in the shape of a variable and vectors: column by column as NumPy's order F, on any leading axes."""

import numpy as np
import pytest

from dpcvx.sets.layout import Layout


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (3, 1), (2, 3, 4), (4, 2, 3, 2)])
@pytest.mark.parametrize("leading", [(), (5,), (2, 3), (2, 1, 3)])
def test_points_become_vectors_column_by_column_and_come_back(shape, leading):
    layout = Layout(shape)
    points = np.arange(np.prod([*leading, *shape], dtype=int), dtype=float).reshape((*leading, *shape))
    vectors = layout.flatten(points)
    assert layout.size == int(np.prod(shape)) and vectors.shape == (*leading, layout.size)
    for index in np.ndindex(*leading):
        assert np.array_equal(vectors[index], points[index].ravel(order="F"))
    assert np.array_equal(layout.unflatten(vectors), points) and layout.unflatten(vectors).shape == points.shape
    whole = points.astype(int)
    assert np.array_equal(layout.flatten(whole), vectors) and layout.flatten(whole.tolist()).dtype == float
    assert layout.flatten(points.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4)])
def test_other_shapes_are_refused_by_name(shape):
    layout = Layout(shape)
    for wrong in (np.zeros(shape[:-1]), np.zeros((*shape[:-1], shape[-1] + 1)), np.zeros((*shape, 2))):
        with pytest.raises(
            ValueError, match=r"The thing has shape \(.*\); expected .*, or a batch of these on leading"
        ):
            layout.flatten(wrong, "thing")


def test_a_vector_is_one_finite_point():
    layout = Layout((2, 3))
    point = np.arange(6.0).reshape(2, 3)
    assert layout.vector(point, "loss").tolist() == [0, 3, 1, 4, 2, 5]
    for wrong in (point[None], np.stack([point, point]), point * np.nan, point + np.inf):
        with pytest.raises(ValueError, match=r"loss must be one array of shape \(2, 3\) without NaN or infinities"):
            layout.vector(wrong, "loss")
