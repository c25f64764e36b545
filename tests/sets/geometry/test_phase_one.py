"""The deepest point of sets whose depth is known, and points moved onto equalities by every way to solve them."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx import EmptySetError
from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry import phase_one as module
from dpcvx.sets.geometry.phase_one import FAR, TOUCHING, Deepest, holds_strictly, on_equalities, phase_one
from dpcvx.sets.solvers.cone_program import Answer

NAMES = ["first", "second", "third"]


def _conic(make, n=3):
    x = cp.Variable(n, name="x")
    return lift(declare(x, make(x)))


DEPTHS = {
    "a box": (lambda x: [x >= 1, x <= 1.5], 0.25),
    "a box without points": (lambda x: [x >= 1, x <= 0.5], -0.25),
    "a box on a plane": (lambda x: [x >= 1, x <= 1.5, x[0] == 1.2], 0.2),
    "a ball": (lambda x: [cp.norm2(x - 3) <= 0.5], 0.25),  # half of which is the room for its tail
    "a simplex": (lambda x: [x >= 0, cp.sum(x) == 0.6], 0.2),
    "an orthant, where the depth is cut at 1": (lambda x: [x >= 0], 1.0),
}


@pytest.mark.parametrize("name", DEPTHS)
def test_the_room_is_the_depth_of_the_set(name):
    make, depth = DEPTHS[name]
    deepest = phase_one(_conic(make), NAMES)
    assert deepest.room == pytest.approx(depth, abs=1e-8)
    assert deepest.is_strict == (depth > 0)


def test_without_a_usable_answer_the_point_is_the_nearest_to_the_origin_on_the_equalities(monkeypatch):
    conic = _conic(lambda x: [x >= -1, x <= 2, cp.sum(x) == 1.5])

    def failed(conic, tolerance):
        return Answer("NumericalError", np.full(conic.columns + 1, np.nan), np.full(len(conic.b) + 1, np.nan))

    monkeypatch.setattr(module, "_maximise_least_slack", failed)
    deepest = phase_one(conic, NAMES)
    assert deepest.v == pytest.approx(np.full(3, 0.5), abs=1e-12)
    assert deepest.room == 0 and not deepest.dual.any() and deepest.is_strict


@pytest.mark.parametrize("way", ["dense", "iterative", "sparse"])
def test_a_point_moves_onto_the_equalities_by_as_little_as_it_takes(way, monkeypatch):
    conic = _conic(lambda x: [x >= -9, x[0] + x[1] == 1, x[1] + 2 * x[2] == 3])
    monkeypatch.setattr(module, "DENSE_ROWS", 200_000 if way == "dense" else 0)
    monkeypatch.setattr(module, "MOST_PRODUCTS", 0 if way == "iterative" else 10**9)
    E = conic.E.toarray()
    for v in np.random.default_rng(0).standard_normal((4, 3)):
        moved = on_equalities(conic, v, NAMES)
        wanted = v - np.linalg.pinv(E) @ (E @ v - conic.e)
        assert moved == pytest.approx(wanted, abs=1e-10)
        assert on_equalities(conic, moved, NAMES) == pytest.approx(moved, abs=1e-10)


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_a_slack_counts_from_a_trillionth_of_its_numbers_on(size):
    """A slack that is left of size/2 - x: the two together are of that size."""
    for share, holds in ((0.9, False), (1.1, True)):
        room = share * TOUCHING * size
        conic = _conic(lambda x: [x <= size / 2, x >= -size])
        assert holds_strictly(conic, np.full(3, size / 2 - room)) == holds
    curved = _conic(lambda x: [cp.SOC(cp.Constant(size), x)])
    for share, holds in ((0.5, False), (4.0, True)):
        assert holds_strictly(curved, np.array([size * (1 - share * TOUCHING), 0, 0])) == holds


def test_a_point_is_far_out_from_ten_thousand_times_the_numbers_on():
    for level, numbers in ((0.5, 1.0), (7.0, 7.0), (-30.0, 30.0)):
        for conic in (
            _conic(lambda x, level=level: [x <= level]),
            _conic(lambda x, level=level: [x <= 0.1, x == level]),
        ):
            for share, far in ((0.99, False), (1.01, True)):
                v = np.array([0.0, -share * FAR * numbers, 1.0])
                assert Deepest(conic, v, "Solved", 0.0, np.zeros(1)).is_far == far


def test_constraints_with_a_ten_thousandth_of_the_largest_weight_are_blamed():
    conic = _conic(lambda x: [x[0] <= 1, x[1] <= 1, x[2] == 1])
    for weight, words in (
        (-9e-5, "first"),
        (-1.1e-4, "first and second"),
        (1.1e-4, "first and second"),
        (0.0, "first"),
    ):
        dual = np.array([0.0, -1.0, weight])  # of the equality first
        assert Deepest(conic, np.zeros(3), "Solved", 0.0, dual).blame(NAMES) == words
    assert Deepest(conic, np.zeros(3), "Solved", 0.0, np.array([2.0, 0, 1])).blame(NAMES) == "third and second"


def test_equalities_that_miss_each_other_are_named_with_the_distance():
    conic = _conic(lambda x: [x[0] == 1, x[1] == 1, x[0] + x[1] == 3])
    words = r"^The set is empty: first, second and third cannot hold together; equalities miss by 5\.8e-01\.$"
    with pytest.raises(EmptySetError, match=words):
        phase_one(conic, NAMES)
    near = _conic(lambda x: [x[0] == 1, x[1] == 1, x[0] + x[1] == 2 + 1e-10, x <= 3, x >= -3])
    assert phase_one(near, [*NAMES, "", ""]).v[:2] == pytest.approx([1, 1], abs=1e-9)


def test_sparse_equalities_that_contradict_others_are_named_with_the_amount(monkeypatch):
    monkeypatch.setattr(module, "DENSE_ROWS", 0)
    conic = _conic(lambda x: [x <= 9, x[0] + x[1] == 1, 2 * x[0] + 2 * x[1] == 5])
    with pytest.raises(EmptySetError, match=r"(second|third) contradicts the other equalities by (1\.5|3\.0)e\+00\.$"):
        on_equalities(conic, np.zeros(3), NAMES)
    for off, size, holds in ((5e-10, 1.0, True), (3e-9, 1.0, False), (5e-8, 100.0, True)):
        conic = _conic(lambda x, off=off: [x <= 9, x[0] + x[1] == 1, x[0] + x[1] == 1 + off])
        if holds:
            moved = on_equalities(conic, np.array([size, 0, 0]), NAMES)
            assert conic.E @ moved == pytest.approx(conic.e, abs=1e-7)
        else:
            with pytest.raises(EmptySetError, match="contradicts"):
                on_equalities(conic, np.array([size, 0, 0]), NAMES)
