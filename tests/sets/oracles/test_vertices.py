"""Random vertices with a given mean."""

import cvxpy as cp
import numpy as np
import pytest
from declared_sets import DECLARED

from dpcvx import DecisionSet, OracleError, UnsupportedConeError
from dpcvx.sets.oracles.enumeration import reach_far_enough, reach_in_every_direction
from dpcvx.sets.oracles.vertex_sampling import VertexPeeling


def _is_vertex(X, point):
    """Whether no chord of the set has the point in its middle: 40 random directions of the tangent space."""
    rng = np.random.default_rng(1)
    V = X.basis
    for _ in range(40):
        d = X.unflatten(V @ rng.standard_normal(X.dim))
        if X.contains(point + 1e-4 * d, 1e-8) and X.contains(point - 1e-4 * d, 1e-8):
            return False
    return True


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "count"),
    [
        *[("polytope", 600), ("flow with dead edges", 600), ("norm1", 80), ("hull of points", 80), ("interval", 600)],
        *[
            pytest.param(name, 1500, marks=pytest.mark.slow)
            for name in ("polytope", "flow with dead edges", "interval")
        ],
        *[pytest.param(name, 250, marks=pytest.mark.slow) for name in ("norm1", "hull of points")],
    ],
)
def test_vertices_have_the_right_mean(name, count):
    # Hoeffding: the mean of `count` draws of an entry with range w is off by more than w sqrt(ln(2e7)/(2 count)) with
    # probability at most 1e-7, for at most 7 entries: 1e-6 in all
    X = DecisionSet(*DECLARED[name]())
    rng = np.random.default_rng(41)
    point = X.barrier.argmin(2 * rng.standard_normal(X.shape))
    sample = np.array([X.sample_vertex(point, rng) for _ in range(count)])
    lower, upper = X.bounding_box()
    off = np.abs(sample.mean(axis=0) - point)
    assert np.all(off <= (upper - lower) * np.sqrt(np.log(2e7) / (2 * count)) + 1e-9)
    for vertex in sample[:25]:
        assert X.contains(vertex, 1e-7)
        assert _is_vertex(X, vertex)
    assert np.any(np.abs(sample - point) > 1e-3)


def test_a_vertex_is_its_own_sample_and_outside_points_are_refused():
    X = DecisionSet(*DECLARED["polytope"]())
    rng = np.random.default_rng(42)
    vertex = X.argmin(rng.standard_normal(4))
    assert np.allclose(X.sample_vertex(vertex, rng), vertex, atol=1e-7)
    with pytest.raises(ValueError, match="project"):
        X.sample_vertex(np.full(4, 9.0), rng)
    with pytest.raises(UnsupportedConeError, match="polytope"):
        DecisionSet(*DECLARED["norm2"]()).sample_vertex(np.zeros(4), rng)


def test_boxes_and_simplices_need_no_own_sampler():
    x = cp.Variable(6, name="x")
    rng = np.random.default_rng(43)
    box = DecisionSet(x, [x >= 0, x <= 1])
    assert set(np.unique(np.round(box.sample_vertex(np.full(6, 0.3), rng), 9))) <= {0.0, 1.0}
    simplex = DecisionSet(x, [x >= 0, cp.sum(x) == 1])
    assert np.sort(np.round(simplex.sample_vertex(np.full(6, 1 / 6), rng), 9))[-1] == 1


def test_a_path_that_rounding_ends_is_tried_anew_seven_times(monkeypatch):
    tries, vertex = [], np.array([1.0, 0.0])

    def peel(self, x, rng):
        tries.append(x)
        if len(tries) < works:
            raise OracleError("lost")
        return vertex

    monkeypatch.setattr(VertexPeeling, "_peel", peel)
    sampler = VertexPeeling(DecisionSet(*DECLARED["norm1"]()).geometry.centered_form, 2)
    for works in (1, 2, 8):
        tries.clear()
        assert sampler.sample(np.zeros(2), np.random.default_rng(0)) is vertex and len(tries) == works
    works = 9
    tries.clear()
    with pytest.raises(OracleError, match="lost"):
        sampler.sample(np.zeros(2), np.random.default_rng(0))
    assert len(tries) == 8


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("away", [0.0, 50.0])
def test_corners_reach_far_enough_up_to_a_share_of_the_size_of_the_set_in_any_unit(unit, away):
    """A square of side 1, which may be away from the origin; bounds that lie outside by more mean that one is lost."""
    corners = unit * (away + np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))

    def bound(beyond):
        return lambda c: float((corners @ c).max()) + beyond * unit * float(np.linalg.norm(c))

    assert reach_far_enough(corners, bound(5e-8)) and not reach_far_enough(corners, bound(1e-6))
    assert reach_in_every_direction(corners, bound(1e-9)) and not reach_in_every_direction(corners, bound(1e-6))
    for lost in range(4):
        left = np.delete(corners, lost, axis=0)
        assert not reach_far_enough(left, bound(0.0)) and not reach_in_every_direction(left, bound(0.0))
