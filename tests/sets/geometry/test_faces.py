"""Facial reduction: sets in a face of curved cones get their dimension in any units; nothing else is reduced."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import DecisionSet, DegenerateSetError, EmptySetError
from dpcvx.barriers import Exponential, Nonnegative, Power, SecondOrder, Semidefinite
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry import certificates, faces

UNITS = (1e-6, 1.0, pytest.param(1e6, marks=pytest.mark.slow))
_Q = np.linalg.qr(np.random.default_rng(5).standard_normal((4, 4)))[0]
_N = np.array([0.6, 0.0, 0.8])


def _vector(n, make):
    x = cp.Variable(n, name="x")
    return x, make(x)


def _matrix(k, make, **attributes):
    S = cp.Variable((k, k), name="S", **(attributes or {"symmetric": True}))
    return S, make(S)


# a declaration in a unit, its dimension, and a point of it
FACES = {
    "S v = 0": (lambda s: _matrix(4, lambda S: [S >> 0, S @ _Q[:, 0] == 0, cp.trace(S) <= s]), 6, None),
    "S[0, 0] = 0": (lambda s: _matrix(3, lambda S: [S >> 0, S[0, 0] == 0, cp.trace(S) == s]), 2, None),
    "PSD attribute": (lambda s: _matrix(3, lambda S: [S[1, 1] <= 0, cp.trace(S) <= s], PSD=True), 3, None),
    "<C, S> = 0": (
        lambda s: _matrix(4, lambda S: [S >> 0, cp.trace(_Q[:, :2].T @ S @ _Q[:, :2]) <= 0, cp.trace(S) <= s]),
        3,
        None,
    ),
    "largest eigenvalue": (lambda s: _matrix(3, lambda S: [cp.lambda_max(S) <= s, cp.trace(S) >= 3 * s]), 0, np.eye(3)),
    "two reductions": (
        lambda s: _matrix(4, lambda S: [S >> 0, S[0, 0] == 0, S[1, 1] + S[0, 2] <= 0, cp.trace(S) == s]),
        2,
        None,
    ),
    "three reductions": (
        lambda s: _matrix(
            5, lambda S: [S >> 0, S[0, 0] == 0, S[1, 1] + S[0, 2] <= 0, S[3, 3] + S[1, 2] <= 0, cp.trace(S) == s]
        ),
        2,
        None,
    ),
    "norm2 <= 0": (lambda s: _vector(3, lambda x: [cp.norm2(x - s * _N) <= 0]), 0, _N),
    "half-space and ball": (lambda s: _vector(3, lambda x: [cp.norm2(x) <= s, _N @ x >= s]), 0, _N),
    "half-space and ball, and an interval": (
        lambda s: _vector(4, lambda x: [cp.norm2(x[:3]) <= s, _N @ x[:3] >= s, x[3] >= 0, x[3] <= 2 * s]),
        1,
        np.append(_N, 1.0),
    ),
    "two balls": (lambda s: _vector(3, lambda x: [cp.norm2(x) <= s, cp.norm2(x - 3 * s * _N) <= 2 * s]), 0, _N),
    "a ball and an implicit equality": (
        lambda s: _vector(3, lambda x: [cp.norm2(x[:2]) <= x[2], x[2] <= 0, x >= -s]),
        0,
        None,
    ),
    "nuclear norm": (
        lambda s: _vector((2, 3), lambda X: [cp.normNuc(X) <= s, X[0, 0] >= s]),
        0,
        np.eye(2, 3) * [1, 0, 0],
    ),
    "exp at its tangent": (
        lambda s: _vector(2, lambda x: [cp.exp(x[0] / s) <= x[1] / s, x[1] <= x[0] + s]),
        0,
        np.array([0.0, 1.0]),
    ),
    "kl_div <= 0": (
        lambda s: _vector(2, lambda x: [cp.kl_div(x[0] / s, 2) <= 0, x[1] >= 0, x[1] <= s]),
        1,
        np.array([2, 0.5]),
    ),
    "entr at 0": (
        lambda s: _vector(2, lambda x: [cp.entr(x[0] / s) >= 0, x[0] <= 0, x[1] >= 0, x[1] <= s]),
        1,
        np.array([0, 0.5]),
    ),
    "geo_mean at 0": (
        lambda s: _vector(3, lambda x: [cp.geo_mean(x) >= 0, x[0] == 0, x <= s]),
        2,
        np.array([0, 0.5, 0.5]),
    ),
    "power cone at 0": (
        lambda s: _vector(3, lambda x: [cp.PowCone3D(x[0], x[1], x[2], 0.3), x[0] == 0, x[1] <= s]),
        1,
        np.array([0, 0.5, 0]),
    ),
    "power cone at its tangent": (
        lambda s: _vector(3, lambda x: [cp.PowCone3D(x[0], x[1], x[2], 0.5), x[0] + x[1] <= 2 * s, x[2] >= s]),
        0,
        np.ones(3),
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("declare", "dim", "point"), FACES.values(), ids=FACES)
def test_sets_in_a_face_get_their_dimension_and_their_points(declare, dim, point, unit):
    S = DecisionSet(*declare(unit))
    assert S.dim == dim
    if point is not None:
        assert S.contains(unit * np.asarray(point), 1e-6)
    rng = np.random.default_rng(0)
    for _ in range(2):
        best = S.argmin(rng.standard_normal(S.shape))
        assert S.contains(best, 1e-7)
        assert not S.contains(best + unit * rng.standard_normal(S.shape))
    S.dikin(S.center).sample(rng, 3)


@pytest.mark.parametrize("order", [3, 5])
@pytest.mark.parametrize("rank", [1, 2])
def test_random_faces_of_semidefinite_matrices_have_the_dimension_of_smaller_ones(order, rank):
    rng = np.random.default_rng(10 * order + rank)
    Q = np.linalg.qr(rng.standard_normal((order, order)))[0]
    inside, across = Q[:, :rank], Q[:, rank:]
    S = DecisionSet(*_matrix(order, lambda S: [S >> 0, cp.trace(across.T @ S @ across) <= 0, cp.trace(S) <= 1]))
    assert S.dim == rank * (rank + 1) // 2
    R = rng.standard_normal((rank, rank))
    assert S.contains(inside @ (R @ R.T) @ inside.T / np.trace(R @ R.T) * 0.9, 1e-7)
    assert not S.contains(Q @ np.diag(np.full(order, 0.5 / order)) @ Q.T)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_a_half_space_that_misses_a_ball_leaves_nothing(gap):
    with pytest.raises(EmptySetError, match="cannot hold together"):
        DecisionSet(*_vector(3, lambda x: [cp.norm2(x) <= 1, _N @ x >= 1 + gap]))


@pytest.mark.parametrize("depth", [1e-1, 1e-3, 1e-5])
def test_a_cap_of_a_ball_is_not_taken_for_a_point(depth):
    assert DecisionSet(*_vector(3, lambda x: [cp.norm2(x) <= 1, _N @ x >= 1 - depth])).dim == 3


def test_what_is_only_reached_at_infinity_is_empty():
    with pytest.raises(EmptySetError):
        DecisionSet(*_vector(2, lambda x: [cp.exp(x[0]) <= x[1], x[1] <= 0, x[0] >= -5]))


@pytest.mark.parametrize("width", [1e-9, 1e-10])
def test_a_slab_without_room_stays_refused_with_the_room_in_the_sentence(width):
    with pytest.raises(DegenerateSetError, match=r"x\[0\].*e-"):
        DecisionSet(*_vector(2, lambda x: [cp.norm2(x) <= 1, cp.abs(x[0] - x[1]) <= width]))


def test_without_certificates_nothing_is_reduced(monkeypatch):
    """Teeth: a normal that is not constant on the hull must be refused, and then the set is."""
    monkeypatch.setattr(faces, "_RESIDUAL", -1.0)
    with pytest.raises(DegenerateSetError, match="no proof that there is none"):
        DecisionSet(*_vector(3, lambda x: [cp.norm2(x) <= 1, _N @ x >= 1]))


# a cone, a normal, the dimension of the face it exposes, and a point of that face
EXPOSED = [
    (Nonnegative(1), [1.0], 0, [0.0]),
    (SecondOrder(1, 3), [1.0, 0.0, 0.0], 0, [0.0, 0.0, 0.0]),
    (SecondOrder(1, 3), [1.0, 0.6, 0.8], 1, [5.0, -3.0, -4.0]),
    (Semidefinite(1, 3), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 3, [0.0, 0.0, 2.0, 0.0, 0.5, 1.0]),
    (Semidefinite(1, 2), [1.0, 0.0, 1.0], 0, [0.0, 0.0, 0.0]),
    (Exponential(1), [0.0, 1.0, 0.0], 2, [-2.0, 0.0, 3.0]),
    (Exponential(1), [0.0, 1.0, 1.0], 1, [-2.0, 0.0, 0.0]),
    (Exponential(1), [-1.0, -0.5, np.exp(-0.5)], 1, [0.5, 1.0, np.exp(0.5)]),
    (Exponential(1), [-1.0, 0.0, 3.0], 0, [0.0, 0.0, 0.0]),
    (Power(np.array([[0.3, 0.7]])), [1.0, 0.0, 0.0], 1, [0.0, 2.0, 0.0]),
    (Power(np.array([[0.5, 0.5]])), [0.5, 0.5, -1.0], 1, [2.0, 2.0, 2.0]),
    (Power(np.array([[0.5, 0.5]])), [1.0, 1.0, 0.1], 0, [0.0, 0.0, 0.0]),
]


@pytest.mark.parametrize(("cone", "normal", "dim", "point"), EXPOSED, ids=lambda value: repr(value))
def test_each_cone_knows_the_face_that_a_normal_exposes(cone, normal, dim, point):
    normal, point = np.array(normal), np.array(point)
    face = cone.exposed(normal, 1e-9)
    assert np.allclose(face.normal, normal) and abs(normal @ point) < 1e-12
    assert len(face.onto) == dim and np.linalg.matrix_rank(np.concatenate([face.zero, face.onto])) == cone.block
    assert np.allclose(face.zero @ point, 0)
    image = face.onto @ point
    inside = image >= 0 if face.cone is None else face.cone.interior(image + 1e-9 * face.cone.identity())
    assert np.all(inside)
    assert cone.exposed(1e-12 * normal, 1e-9) is None
    rng = np.random.default_rng(0)
    for _ in range(20):  # no other point of the cone is orthogonal to the normal
        s = cone.identity() + 0.4 * rng.uniform(-1, 1, cone.block)
        assert not cone.interior(s) or normal @ s > 0


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
def test_curved_constraints_that_contradict_each_other_are_empty_in_any_units(unit):
    """Found by random declarations: in units of 1e-5 no proof was found."""
    x = cp.Variable(3, name="x")
    z = cp.multiply(np.array([1 / unit, 1.0, 10.0]), x)
    with pytest.raises(EmptySetError, match="empty"):
        DecisionSet(x, [cp.pnorm(z, 3, approx=False) <= 1, cp.sum(z) >= 4, cp.norm2(z) <= 5])


@pytest.mark.parametrize("p", [3, 3.3])
def test_a_ball_of_power_cones_in_units_far_apart_has_its_dimension(p):
    """Found by random declarations: called empty, or flat."""
    u = np.array([2.44140625e-04, 1.5625e-02, 512.0, 512.0, 8192.0, 131072.0])
    m = np.array([0.45459124, 0.98918871, 1.04693832, 0.54556196, 1.34003921, 0.91410667])
    x = cp.Variable(6, nonneg=True, name="x")
    S = DecisionSet(x, [cp.pnorm(cp.multiply(1 / u, x) - m, p, approx=False) <= 0.43339])
    assert S.dim == 6 and S.contains(u * m) and not S.contains(u * (m + 0.44))


def test_the_summary_says_which_constraints_touch():
    S = DecisionSet(*_vector(3, lambda x: [cp.norm2(x) <= 1, _N @ x >= 1]))
    assert "leave no interior; reduced to a face of their cones" in S.summary() and "<= 1.0" in S.summary()
    assert "face" not in DecisionSet(*_vector(3, lambda x: [cp.norm2(x) <= 1, _N @ x >= 0.9])).summary()


@pytest.mark.parametrize("name", ["half-space and ball", "two balls", "nuclear norm"])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 30.0])
def test_a_proof_holds_for_points_far_out_also_where_the_set_is_close_to_the_origin(name, unit, monkeypatch):
    asked = []

    def certify(conic, normal, reach):
        asked.append(reach)
        return certificates.certify(conic, normal, reach)

    monkeypatch.setattr(faces, "certify", certify)
    make, dim, point = FACES[name]
    X = DecisionSet(*make(unit))
    assert X.dim == dim and X.center == pytest.approx(unit * point, abs=1e-6 * unit)
    assert asked and min(asked) >= 16 * max(1.0, np.abs(X.geometry.chart.v0).max() / 2)


def test_equalities_of_a_face_are_those_that_are_new_at_the_point_where_they_miss_least():
    x = cp.Variable(3, name="x")
    conic = lift(declare(x, [x >= -9, x[0] + x[1] == 1]))
    new, implied, none = np.array([0.0, 2, 1]), np.array([5.0, 5, 0]), np.array([1e-9, 0, 0])
    v = np.array([0.4, 0.6, 0.0])
    for values, left in (([2.0, 5.0, 0.0, 4.0], 0.0), ([2.0, 5.0, 0.03, 4.0], 0.03), ([2.0, 5.0, 0.0, 4.2], None)):
        rows, levels, chosen, missed = faces._independent(
            conic, np.array([new, implied, none, 2 * new]), np.array(values), v
        )
        assert len(rows) == 1 and chosen[0] in (0, 3)
        assert np.abs(rows[0]) == pytest.approx(new / np.sqrt(5), rel=1e-12)
        off = np.abs(values[3] / 2 - values[0]) / np.sqrt(5)  # half of it at either
        assert levels[0] == pytest.approx(2 / np.sqrt(5) + off / 2, rel=1e-9)
        assert missed == pytest.approx(off / 2 if left is None else left, abs=1e-9)
    assert faces._independent(conic, np.array([implied]), np.array([5.0]), v)[0].shape == (0, 3)


def test_what_is_left_of_numbers_that_cancel_is_no_coefficient():
    """Up to 1e-12 of their magnitudes, of 4 at most in the first row and of 2 in its right-hand side."""
    rows = np.array([[1.0, -1.0], [2.0, 2.0]])
    for off, level in ((3.5e-12, 1.5e-12), (5e-12, 2.5e-12)):
        A, b = np.array([[1.0, 3.0], [1 + off, 1.0]]), np.array([1.0, 1 + level])
        left, right = faces._without_rounding(rows, A, b)
        assert left[0] == pytest.approx([-off if off > 4e-12 else 0.0, 2.0], rel=1e-3, abs=0)
        assert left[1] == pytest.approx([4.0, 8.0]) and right[1] == pytest.approx(4)
        assert right[0] == pytest.approx(-level if level > 2e-12 else 0.0, rel=1e-3, abs=0)


def test_a_normal_and_what_vanishes_on_its_face_in_other_units_of_the_rows():
    """Rows times (2, 8): <n, s> is the same for n divided by them, and what vanishes has entries of size 1."""
    x = cp.Variable(2, name="x")
    A = lift(declare(x, [4 * x[0] <= 1, 16 * x[1] <= 3])).A
    face = faces.Face(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [3.0, -1.0]]), np.array([[0.0, 1.0]]), 1.0)
    found = faces._in_rows(face, np.array([2.0, 8.0]), A)
    assert found.normal.tolist() == [2, 16] and found.onto.tolist() == [[0, 8]]
    assert found.zero == pytest.approx(np.array([[2, 0], [6, -8]]) / np.array([[8], [128]]), rel=1e-12)
