"""The permutahedron's sorting network and the decompositions behind its vertex samplers."""

import itertools

import numpy as np
import pytest

import decision_sets as ds
from decision_sets.permutations import draw_ordering, draw_permutation_matrix, sorting_network


@pytest.mark.parametrize("n", range(2, 11))
def test_network_sorts_all_zero_one_inputs_and_hence_everything(n):
    inputs = np.array(list(itertools.product((0, 1), repeat=n)))
    for i, j in sorting_network(n):
        inputs[:, [i, j]] = np.sort(inputs[:, [i, j]], axis=1)[:, ::-1]
    assert np.all(np.diff(inputs, axis=1) <= 0)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 16, 33])
def test_network_costs_less_than_a_doubly_stochastic_matrix(n):
    assert 2 * len(sorting_network(n)) - 1 < n**2 - n


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_parameter_of_the_permutahedron_is_at_most_that_of_its_network(n):
    assert ds.permutahedron(n).nu <= 2 * len(sorting_network(n)) - 1 <= ds.birkhoff(n).nu


@pytest.mark.parametrize("n", [2, 3, 4])
def test_permutahedron_is_the_hull_of_all_orderings(n):
    orderings = np.array(list(itertools.permutations(range(1, n + 1))), dtype=float)
    declared, hull = ds.permutahedron(n), ds.convex_hull(orderings)
    assert declared.dim == hull.dim == n - 1
    rng = np.random.default_rng(1)
    assert all(declared.contains(ordering, 1e-9) for ordering in orderings)
    for c in rng.normal(size=(20, n)):
        assert declared.support(c) == pytest.approx(hull.support(c), abs=1e-9)
    assert not declared.contains(orderings[0] * 1.01, 1e-9)


def test_orderings_are_drawn_from_large_and_degenerate_points():
    rng = np.random.default_rng(2)
    n = 60
    middle = np.full(n, (n + 1) / 2)
    orderings = np.array([rng.permutation(n) + 1.0 for _ in range(3)])
    for point in (middle, orderings[0], orderings.mean(axis=0), 0.999999 * orderings[0] + 1e-6 * orderings[1]):
        assert np.array_equal(np.sort(draw_ordering(point, rng)), np.arange(1, n + 1))


def test_permutation_matrices_are_drawn_from_large_and_degenerate_points():
    rng = np.random.default_rng(3)
    n = 30
    identity, shifted = np.eye(n), np.roll(np.eye(n), 1, axis=1)
    for point in (
        np.full((n, n), 1 / n),
        identity,
        0.5 * identity + 0.5 * shifted,
        (1 - 1e-9) * identity + 1e-9 * shifted,
    ):
        drawn = draw_permutation_matrix(point, rng)
        assert np.array_equal(drawn.sum(axis=0), np.ones(n))
        assert np.array_equal(drawn.sum(axis=1), np.ones(n))
        assert np.all(point[drawn == 1] > 0)
