"""The samplers that sets bring along: what they draw is a vertex, and its mean is the point they were given."""

from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest

import decision_sets as ds
from decision_sets.simplices import systematic_sample
from dpcvx import DecisionSet

SAMPLES = 10_000
FALSE_ALARM = 1e-6  # probability that a correct sampler fails, by Hoeffding's inequality for every coordinate
DAG = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (3, 4), (2, 4), (5, 4), (3, 6)])
CENTER = np.array([1.0, 2.0, 3.0])


@dataclass(frozen=True)
class Sampled:
    """A set, how to recognise its vertices (extreme points), and the length of their range in any coordinate."""

    make: Callable[[], DecisionSet]
    is_vertex: Callable[[np.ndarray], bool]
    spread: float


def is_indicator(x: np.ndarray) -> bool:
    return bool(np.all((x == 0) | (x == 1)))


def is_path(x: np.ndarray) -> bool:
    edges = [edge for edge, used in zip(DAG.edges, x, strict=True) if used]
    return is_indicator(x) and nx.is_path(DAG, [0, *(head for _, head in edges)]) and edges[-1][1] == 4


def is_permutation_matrix(X: np.ndarray) -> bool:
    return is_indicator(X) and bool(np.all(X.sum(axis=0) == 1) and np.all(X.sum(axis=1) == 1))


def has_singular_values(expected: list[float]) -> Callable[[np.ndarray], bool]:
    return lambda X: np.allclose(np.linalg.svd(X, compute_uv=False), expected, rtol=0, atol=1e-12)


SAMPLERS = {
    "simplex": Sampled(lambda: ds.simplex(5, 3.0), lambda x: np.sort(x).tolist() == [0, 0, 0, 0, 3], 3.0),
    "k-sets": Sampled(lambda: ds.capped_simplex(7, 3), lambda x: is_indicator(x) and x.sum() == 3, 1.0),
    "box": Sampled(
        lambda: ds.box([-1, 0, 2], [1, 1, 5]),
        lambda x: all(v in p for v, p in zip(x, ((-1, 1), (0, 1), (2, 5)), strict=True)),
        3.0,
    ),
    "cube": Sampled(lambda: ds.cube(4, 2.0), lambda x: bool(np.all(np.abs(x) == 2)), 4.0),
    "ball, p = 1": Sampled(
        lambda: ds.norm_ball(3, 1, 1.5, CENTER), lambda x: np.sort(np.abs(x - CENTER)).tolist() == [0, 0, 1.5], 3.0
    ),
    "ball, p = infinity": Sampled(
        lambda: ds.norm_ball(3, np.inf, 1.5, CENTER), lambda x: bool(np.all(np.abs(x - CENTER) == 1.5)), 3.0
    ),
    "permutahedron": Sampled(lambda: ds.permutahedron(6), lambda x: np.sort(x).tolist() == [1, 2, 3, 4, 5, 6], 5.0),
    "Birkhoff polytope": Sampled(lambda: ds.birkhoff(4), is_permutation_matrix, 1.0),
    "spectrahedron": Sampled(lambda: ds.spectrahedron(3), has_singular_values([1, 0, 0]), 1.0),
    "nuclear ball": Sampled(lambda: ds.nuclear_ball(3, 2, 2.0), has_singular_values([2, 0]), 4.0),
    "spectral ball": Sampled(lambda: ds.spectral_ball(3, 2, 2.0), has_singular_values([2, 2]), 4.0),
    "flow polytope": Sampled(lambda: ds.flow_polytope(DAG, 0, 4), is_path, 1.0),
}


def inner_points(declared: DecisionSet, rng: np.random.Generator) -> list[np.ndarray]:
    """The center, a point on the way to the boundary, and one on the segment between two boundary points."""
    a, b = (declared.argmin(rng.normal(size=declared.shape)) for _ in range(2))
    return [declared.center, 0.1 * declared.center + 0.9 * a, 0.3 * a + 0.7 * b]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("samples", [SAMPLES // 10, pytest.param(SAMPLES, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SAMPLERS)
def test_drawn_vertices_have_the_given_mean(name, samples):
    case = SAMPLERS[name]
    declared, rng = case.make(), np.random.default_rng(5)
    points = inner_points(declared, rng)
    tolerance = case.spread * np.sqrt(np.log(2 * declared.size * len(points) / FALSE_ALARM) / (2 * samples))
    for point in points:
        drawn = np.stack([declared.sample_vertex(point, rng) for _ in range(samples)])
        assert np.abs(drawn.mean(axis=0) - point).max() <= tolerance


@pytest.mark.parametrize("name", SAMPLERS)
def test_everything_drawn_is_a_vertex_of_the_set(name):
    case = SAMPLERS[name]
    declared, rng = case.make(), np.random.default_rng(6)
    for point in inner_points(declared, rng):
        for _ in range(50):
            vertex = declared.sample_vertex(point, rng)
            assert case.is_vertex(vertex)
            assert declared.contains(vertex, 1e-9)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_vertex_is_drawn_from_itself(name):
    case = SAMPLERS[name]
    declared, rng = case.make(), np.random.default_rng(7)
    for _ in range(20):
        vertex = declared.sample_vertex(declared.center, rng)
        assert np.allclose(declared.sample_vertex(vertex, rng), vertex, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_same_seed_draws_the_same_vertices(name):
    declared = SAMPLERS[name].make()
    first, second = (
        [declared.sample_vertex(declared.center, rng) for _ in range(10)] for rng in map(np.random.default_rng, (8, 8))
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("excess", [0.0, 1e-12, -1e-12])
def test_systematic_sample_has_exactly_k_members_whatever_rounding_does(excess):
    rng = np.random.default_rng(9)
    for k in range(1, 8):
        certain = np.r_[np.full(k, 1.0 + excess), np.zeros(8 - k)]
        assert systematic_sample(k, certain, rng)[:k].sum() == k
        for _ in range(200):
            mixed = systematic_sample(k, np.full(8, k / 8) + excess, rng)
            assert is_indicator(mixed)
            assert mixed.sum() == k
