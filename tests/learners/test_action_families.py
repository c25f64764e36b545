"""Families of actions against enumeration: moments, samples, exploration and estimates; and the vertices of sets."""

import itertools
import math

import numpy as np
import pytest
from catalogue_sets import CATALOGUE

from dpcvx.learners.action_families import Arms, BoxCorners, KSets, PointList
from dpcvx.learners.optimal_design import optimal_design
from dpcvx.sets.enumeration import vertices

RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(12, 4))
FLAT = np.column_stack([RNG.normal(size=(9, 2)), np.ones(9), np.zeros(9)])  # rank 3 in R^4, off the origin


def corners(lower, upper):
    return np.array(list(itertools.product(*zip(lower, upper, strict=True))))


def subsets(n, k):
    rows = np.zeros((math.comb(n, k), n))
    for row, chosen in zip(rows, itertools.combinations(range(n), k), strict=True):
        row[list(chosen)] = 1.0
    return rows


# name: (the family, all its actions)
FAMILIES = {
    "cube": (BoxCorners(-np.ones(5), np.ones(5)), corners(-np.ones(5), np.ones(5))),
    "box": (BoxCorners(np.array([0.0, -1, 2]), np.array([1.0, 3, 2.5])), corners([0.0, -1, 2], [1.0, 3, 2.5])),
    "2-sets": (KSets(5, 2), subsets(5, 2)),
    "3-sets, scaled": (KSets(6, 3, 0.5), 0.5 * subsets(6, 3)),
    "1-sets": (KSets(4, 1), np.eye(4)),
    "n-1-sets": (KSets(4, 3), subsets(4, 3)),
    "arms": (Arms(6), np.eye(6)),
    "scaled arms": (Arms(3, 2.0), 2 * np.eye(3)),
    "points": (PointList(POINTS), POINTS),
    "flat points": (PointList(FLAT), FLAT),
}


def weights(actions, covector):
    """q by enumeration, (..., k)."""
    logs = -(covector @ actions.T)
    q = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return q / q.sum(axis=-1, keepdims=True)


def moments(actions, q):
    return q @ actions, np.einsum("...k,ki,kj->...ij", q, actions, actions)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("name", FAMILIES)
def test_mean_and_second_moment_are_those_of_the_enumeration(name, scale):
    family, actions = FAMILIES[name]
    covector = scale * np.random.default_rng(0).normal(size=(3, 2, family.size))
    mean, second = moments(actions, weights(actions, covector))
    assert np.allclose(family.mean(covector), mean, rtol=0, atol=1e-10)
    assert np.allclose(family.second_moment(covector), second, rtol=0, atol=1e-10)
    assert family.log_count == pytest.approx(math.log(len(actions)))
    assert family.rank == np.linalg.matrix_rank(actions)


@pytest.mark.parametrize("name", FAMILIES)
def test_samples_have_the_probabilities_of_the_family(name):
    """Each count is within t of its mean, 2 exp(-t^2/2/(np + t/3)) <= 1e-6/k by Bernstein: a false alarm in 1e6."""
    family, actions = FAMILIES[name]
    covector = 0.7 * np.random.default_rng(1).normal(size=family.size)
    draws = 20_000
    drawn = family.sample(covector, np.random.default_rng(2), (draws,))
    counts = np.array([np.isclose(drawn, one, rtol=0, atol=1e-12).all(axis=1).sum() for one in actions])
    expected = draws * weights(actions, covector)
    level = math.log(2 * len(actions) / 1e-6)
    allowed = level / 3 + np.sqrt((level / 3) ** 2 + 2 * level * expected)
    assert counts.sum() == draws
    assert (np.abs(counts - expected) <= allowed).all()
    wrong = draws * weights(actions, -covector)
    assert (np.abs(counts - wrong) > allowed).any()  # the other sign is told apart


@pytest.mark.parametrize("name", FAMILIES)
def test_exploration_reaches_no_farther_than_it_says(name):
    family, actions = FAMILIES[name]
    for kind in ("uniform", "design"):
        mu = family.exploration(kind)
        p = np.full(len(actions), 1 / len(actions)) if mu.weights is None else mu.weights
        assert np.allclose(mu.moment, moments(actions, p)[1], atol=1e-12)
        leverage = np.einsum("ki,ij,kj->k", actions, np.linalg.pinv(mu.moment, rcond=1e-10), actions)
        assert leverage.max() <= mu.reach * (1 + 1e-9)
        assert family.rank * (1 - 1e-9) <= leverage.max()
    slack = 1.0 if name == "box" else 1e-3 * family.rank
    assert family.design().reach <= family.rank + slack + 1e-6


@pytest.mark.parametrize("shape", [(3, 2), (40, 5), (2000, 6), (12, 12), (7, 1)])
def test_design_is_optimal_by_kiefer_and_wolfowitz(shape):
    points = np.random.default_rng(shape[0]).standard_t(2, size=shape)
    mu = optimal_design(points)
    inverse = np.linalg.inv((points.T * mu) @ points)
    assert mu.min() >= 0 and mu.sum() == pytest.approx(1)
    assert ((points @ inverse) * points).sum(axis=1).max() <= shape[1] * (1 + 1e-3)


def test_design_leaves_out_a_point_that_others_stand_for():
    points = np.array([[-1.0, math.sqrt(1.5)], [-1.0, -math.sqrt(1.5)], [1.0, 0.0]])
    assert np.allclose(optimal_design(points), [0.5, 0.5, 0.0], atol=1e-3)


@pytest.mark.parametrize("mixing", [0.01, 0.3])
@pytest.mark.parametrize("name", FAMILIES)
def test_estimate_is_unbiased_on_the_span(name, mixing):
    family, actions = FAMILIES[name]
    rng = np.random.default_rng(4)
    covector, loss = rng.normal(size=family.size), rng.normal(size=family.size)
    mu = family.exploration("uniform" if mixing > 0.1 else "design")
    uniform = np.full(len(actions), 1 / len(actions))
    p = (1 - mixing) * weights(actions, covector) + mixing * (uniform if mu.weights is None else mu.weights)
    if isinstance(family, PointList):
        measures = np.stack([family._measured(p, np.array(i)) for i in range(len(actions))])
    else:
        many = np.broadcast_to(covector, actions.shape)
        measures = family.measure(many, mixing, mu, actions)
    P = moments(actions, p)[1]
    span = np.linalg.pinv(actions) @ actions  # the projection onto it
    assert np.allclose(measures, actions @ np.linalg.pinv(P, rcond=1e-12), atol=1e-9 / mixing)
    assert np.allclose((p * (actions @ loss)) @ measures, span @ loss, atol=1e-9)


@pytest.mark.parametrize("name", ["cube", "box", "2-sets", "arms", "points"])
def test_play_draws_from_the_mixture(name):
    """The mean of 20,000 actions, each entry within 6.5 standard deviations: a false alarm in 1e6 for ten entries."""
    family, actions = FAMILIES[name]
    covector = np.broadcast_to(np.random.default_rng(5).normal(size=family.size), (20_000, family.size))
    mu = family.exploration("uniform")
    played, _ = family.play(covector, 0.4, mu, np.random.default_rng(6))
    p = 0.6 * weights(actions, covector[0]) + 0.4 / len(actions)
    mean, second = moments(actions, p)
    deviation = np.sqrt(np.maximum(np.diag(second) - mean**2, 0) / 20_000)
    assert (np.abs(played.mean(axis=0) - mean) <= 6.5 * deviation).all()


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("permutahedron", 120),
        ("Birkhoff polytope", 24),
        ("flow polytope", 5),
        ("ball, p = 1", 8),
        ("capped simplex", 35),
    ],
)
def test_all_vertices_are_found(name, count):
    X = CATALOGUE[name][0]()
    found = vertices(X)
    assert len(found) == count
    for c in np.random.default_rng(0).normal(size=(50, X.size)):
        assert (found @ c).min() == pytest.approx(float(c @ X.flatten(X.argmin(X.unflatten(c)))), abs=1e-7)
