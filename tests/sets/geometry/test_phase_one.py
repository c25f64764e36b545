"""The deepest point of sets whose depth is known, and points moved onto equalities by every way to solve them."""

import cvxpy as cp
import numpy as np
import pytest

from dpcvx.sets.conic.declaration import declare
from dpcvx.sets.conic.lift import lift
from dpcvx.sets.geometry import phase_one as module
from dpcvx.sets.geometry.phase_one import on_equalities, phase_one
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
