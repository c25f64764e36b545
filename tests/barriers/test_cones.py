"""Identities that every barrier of a cone satisfies, checked without reference values."""

import math

import numpy as np
import pytest

from dpcvx.barriers import KINDS, Exponential, Nonnegative, Power, Product, SecondOrder, Semidefinite
from dpcvx.barriers.face import ray

CONES = [
    Nonnegative(7),
    SecondOrder(1, 2),
    SecondOrder(3, 5),
    Semidefinite(1, 1),
    Semidefinite(2, 4),
    Exponential(3),
    Power(np.array([[0.3, 0.7], [0.5, 0.5]])),
    Power(np.array([[0.1, 0.2, 0.7]])),
    Product([Nonnegative(3), SecondOrder(2, 4), Semidefinite(1, 3), Exponential(2), Power(np.array([[0.25, 0.75]]))]),
]


def test_every_registered_cone_is_checked():
    assert {type(cone) for cone in CONES} == {*KINDS, Product}


def interior_points(cone, count, rng):
    """Points strictly inside, some of them within 1e-6 of the boundary."""
    identity = cone.identity()
    points = []
    for k in range(count):
        step = rng.standard_normal(cone.size)
        low, high = 0.0, 1e3
        for _ in range(80):
            middle = (low + high) / 2
            if cone.interior(identity + middle * step):
                low = middle
            else:
                high = middle
        points.append(identity + (0.5, 0.9, 1 - 1e-6)[k % 3] * low * step)
    return np.array(points)


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_barrier_satisfies_the_identities_of_logarithmic_homogeneity(cone):
    s = interior_points(cone, 12, np.random.default_rng(1))
    g = cone.gradient(s)
    D = cone.half(s, np.eye(cone.size))
    H = np.swapaxes(D, -1, -2) @ D
    assert np.all(cone.interior(s))
    assert np.allclose((g * s).sum(-1), -cone.nu, rtol=1e-8)
    assert np.allclose((H @ s[..., None])[..., 0], -g, rtol=1e-6, atol=1e-6 * np.abs(g).max())
    assert np.allclose(cone.value(3 * s), cone.value(s) - cone.nu * np.log(3))
    assert np.allclose(cone.gradient(3 * s) * 3, g)
    assert np.all(np.linalg.eigvalsh(H)[..., 0] > 0)
    d = np.random.default_rng(6).standard_normal(cone.size)
    for point, hessian in zip(s, H, strict=True):
        assert np.allclose(
            cone.hessian_product(point, d), hessian @ d, rtol=1e-5, atol=1e-8 * np.abs(hessian @ d).max()
        )


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_derivatives_agree_with_finite_differences(cone):
    rng = np.random.default_rng(2)
    s = interior_points(cone, 8, rng)[[0, 1, 3, 4, 6, 7]]
    D = cone.half(s, np.eye(cone.size))
    H = np.swapaxes(D, -1, -2) @ D
    for i, point in enumerate(s):
        d = rng.standard_normal(cone.size)
        d /= np.sqrt(d @ H[i] @ d)  # a unit step in the local norm
        h = 1e-5
        slope = (cone.value(point + h * d) - cone.value(point - h * d)) / (2 * h)
        assert slope == pytest.approx(cone.gradient(point) @ d, abs=1e-6 * max(1, cone.nu))
        change = (cone.gradient(point + h * d) - cone.gradient(point - h * d)) / (2 * h)
        error = change - H[i] @ d
        assert np.sqrt(error @ np.linalg.solve(H[i], error)) < 1e-6


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_a_wrong_parameter_is_noticed(cone):
    s = interior_points(cone, 3, np.random.default_rng(3))
    assert not np.allclose((cone.gradient(s) * s).sum(-1), -(cone.nu - 1), rtol=1e-6)


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_batches_equal_single_points(cone):
    rng = np.random.default_rng(4)
    s = interior_points(cone, 6, rng).reshape(2, 3, -1)
    M = rng.standard_normal((cone.size, 4))
    for oracle in (cone.value, cone.gradient, lambda p: cone.half(p, M), cone.interior):
        batch = oracle(s)
        assert np.allclose(batch[1, 2], oracle(s[1, 2]))


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_the_dual_cone_holds_gradients_and_makes_acute_angles_with_the_cone(cone):
    """Teeth: vectors that are near those of the dual cone and make an obtuse angle with the cone are not in it."""
    rng = np.random.default_rng(6)
    s = interior_points(cone, 60, rng)
    y = -cone.gradient(s)
    assert np.all(cone.dual_interior(y))
    assert not np.any(cone.dual_interior(-y))
    drawn = y[rng.integers(60, size=400)] * rng.uniform(-0.2, 1.5, (400, cone.size))
    inside = cone.dual_interior(drawn)
    assert np.all(drawn[inside] @ s.T > 0)
    obtuse = (drawn @ s.T).min(axis=1) < 0
    assert obtuse.any() and not inside[obtuse].any()


@pytest.mark.parametrize("cone", [c for c in CONES if not isinstance(c, Product)], ids=repr)
def test_dual_rays_are_in_the_dual_cone_and_negative_points_outside_the_cone(cone):
    s = interior_points(cone, 30, np.random.default_rng(5))
    for row in cone.dual_rays():
        assert np.all(s[:, row] > 0)
    assert not cone.interior(-cone.identity())
    assert cone.recedes(cone.identity()[: cone.block])
    assert not cone.recedes(-cone.identity()[: cone.block])


@pytest.mark.parametrize(
    "given", [[0.1, 0.2, 0.7 + 1e-12], [0.3, 0.7 + 2.3e-16], [1 / 3] * 3, [0.1] * 10, [1e-3] * 1000]
)
def test_exponents_of_a_power_cone_sum_to_one_as_closely_as_clarabel_asks(given):
    a = Power(np.array([given])).exponents[0]
    assert abs(1 - sum(a.tolist())) < np.finfo(float).eps * len(a) / 2  # Clarabel's own assertion
    assert np.allclose(a, given, rtol=1e-11)


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_half_hessian_of_no_direction_is_empty(cone):
    assert cone.half(cone.identity(), np.zeros((cone.size, 0))).shape[-1] == 0


@pytest.mark.parametrize("k", [2, 3, 6])
def test_matrices_are_judged_inside_by_more_than_rounding_in_any_units_of_their_diagonal(k):
    rng, cone = np.random.default_rng(k), Semidefinite(1, k)
    for _ in range(100):
        unit = 2.0 ** rng.integers(-20, 20, k)
        F = np.rint(4 * rng.standard_normal((k, k - 1)))
        singular = F @ F.T
        for S, is_inside in ((singular, False), (singular + 1e-3 * np.eye(k), True)):
            s = cone.vector(S * unit * unit[:, None])
            assert cone.interior(s) == is_inside
            assert not is_inside or np.isfinite(cone.gradient(s)).all()


@pytest.mark.parametrize("far", [1.0, 1e150, 1e300])
def test_the_ray_of_a_face_is_one_however_far_out_the_cone_is_touched(far):
    found = ray(np.zeros(3), np.array([math.log(far), 1.0, far]), 1.0)
    assert np.linalg.norm(found.onto) == pytest.approx(1, rel=1e-15) and found.onto[0, 2] > 0
    assert found.zero.shape == (2, 3) and np.abs(found.zero @ found.onto[0]).max() <= 1e-15
    assert found.zero @ found.zero.T == pytest.approx(np.eye(2), abs=1e-15)
