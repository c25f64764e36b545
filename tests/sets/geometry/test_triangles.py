"""Lower triangles: factors of products, and systems solved with one of them or with a batch."""

import numpy as np
import pytest

from dpcvx.sets.geometry.charts.triangles import backward, divide, forward, lower_triangle, lower_triangle_by_qr

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(5, 1), (7, 4), (4, 4)])
def test_a_triangle_is_a_root_of_the_products_of_the_columns(shape, order):
    M = np.asarray(RNG.standard_normal(shape), order=order)
    given = M.copy()
    for made in (lower_triangle, lower_triangle_by_qr):
        L = np.tril(made(M))
        assert L @ L.T == pytest.approx(M.T @ M, rel=1e-10, abs=1e-12)
    assert np.array_equal(M, given)


def test_columns_that_depend_on_each_other_have_a_triangle_too():
    M = np.array([[1.0, 1.0], [0.0, 1e-12]])  # whose square is lost in the products
    L = np.tril(lower_triangle(M))
    assert L @ L.T == pytest.approx(M.T @ M, rel=1e-12) and abs(L[1, 1]) == pytest.approx(1e-12, rel=1e-3)


@pytest.mark.parametrize("transpose", [0, 1])
@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 4), (2, 3, 4), (0, 4)])
def test_vectors_on_any_axes_are_divided_by_one_triangle(shape, transpose):
    L = np.asfortranarray(np.tril(RNG.standard_normal((4, 4))) + 3 * np.eye(4))
    w = RNG.standard_normal(shape)
    found = divide(L + np.triu(np.full((4, 4), 9.0), 1), w, transpose)  # what is above the diagonal is not read
    inverse = np.linalg.inv(L.T if transpose else L)
    assert found.shape == shape and found == pytest.approx(w @ inverse.T, rel=1e-10)
    assert divide(np.zeros((0, 0)), np.zeros(0), transpose).shape == (0,)


@pytest.mark.parametrize(
    ("batch", "given"), [((), ()), ((), (3,)), ((3,), (3,)), ((3,), (1,)), ((3,), (5, 3)), ((2, 3), (2, 3)), ((3,), ())]
)
def test_a_batch_of_triangles_divides_a_batch_of_vectors(batch, given):
    L = np.tril(RNG.standard_normal((*batch, 4, 4))) + 3 * np.eye(4)
    entries = np.moveaxis(L, (-2, -1), (0, 1)).copy()
    w = RNG.standard_normal((*given, 4))
    kept = w.copy(), entries.copy()
    inverse = np.linalg.inv(L)
    assert forward(entries, w) == pytest.approx((inverse @ w[..., None])[..., 0], rel=1e-9)
    turned = (np.swapaxes(inverse, -1, -2) @ w[..., None])[..., 0]
    assert backward(entries, w) == pytest.approx(turned, rel=1e-9)
    assert np.array_equal(w, kept[0]) and np.array_equal(entries, kept[1])
