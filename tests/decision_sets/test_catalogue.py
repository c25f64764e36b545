"""Every set of the catalogue: its dimension and parameter, and its own linear oracle against the generic one."""

import inspect
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from catalogue_sets import CATALOGUE

import decision_sets as ds
from dpcvx import DecisionSet

WITH_OWN_ORACLE = [
    "capped simplex",
    "ball, p = 1",
    "ball, p = 1.5",
    "ball, p = 3",
    "ball, p = 10",
    "ellipsoid",
    "convex hull",
    "permutahedron",
    "Birkhoff polytope",
    "spectrahedron",
    "nuclear ball",
    "spectral ball",
    "entropy ball",
    "KL ball",
    "flow polytope",
    "routes",
    "routes of few links",
]
# No polytopes, and no sampler of their own.
WITHOUT_VERTEX_SAMPLER = [
    "ball, p = 1.5",
    "ball, p = 2",
    "ball, p = 3",
    "ball, p = 10",
    "ellipsoid",
    "entropy ball",
    "KL ball",
]


def _returns_a_set(function: Callable[..., object]) -> bool:
    returned = inspect.get_annotations(function, eval_str=True)["return"]
    return isinstance(returned, type) and issubclass(returned, DecisionSet)


FUNCTIONS = {name for name, value in vars(ds).items() if inspect.isfunction(value) and _returns_a_set(value)}


def _without_extras(name: str) -> DecisionSet:
    """A set of the catalogue from its variable and constraints alone."""
    declared = CATALOGUE[name][0]()
    return DecisionSet(declared.variable, declared.constraints)


@pytest.mark.parametrize("name", CATALOGUE)
def test_dimension_and_parameter_are_those_of_the_textbook(name):
    make, dim, nu = CATALOGUE[name]
    declared = make()
    assert declared.dim == dim
    assert nu is None or declared.nu == nu
    assert declared.contains(declared.center, 1e-9)


@pytest.mark.parametrize("name", WITH_OWN_ORACLE)
def test_own_oracle_reaches_the_value_of_the_generic_one(name):
    declared, plain = CATALOGUE[name][0](), _without_extras(name)
    rng = np.random.default_rng(3)
    for _ in range(20):
        c = rng.normal(size=declared.shape)
        own, generic = declared.argmin(c), plain.argmin(c)
        assert plain.contains(own, 1e-9)
        assert np.sum(c * own) == pytest.approx(np.sum(c * generic), abs=1e-7)


@pytest.mark.parametrize("name", WITH_OWN_ORACLE)
def test_own_oracle_answers_ties_and_zero_with_a_point_of_the_set(name):
    declared, plain = CATALOGUE[name][0](), _without_extras(name)
    for c in (np.zeros(declared.shape), np.ones(declared.shape), np.round(np.ones(declared.shape).cumsum()) % 2.0):
        c = np.reshape(c, declared.shape)
        own = declared.argmin(c)
        assert plain.contains(own, 1e-9)
        assert np.sum(c * own) == pytest.approx(np.sum(c * plain.argmin(c)), abs=1e-7)


@pytest.mark.parametrize("name", WITH_OWN_ORACLE)
def test_own_oracle_leaves_its_argument_and_its_earlier_answers_alone(name):
    declared = CATALOGUE[name][0]()
    c = np.random.default_rng(4).normal(size=declared.shape)
    kept = c.copy()
    first = declared.argmin(np.zeros(declared.shape))
    first += 1.0
    assert declared.contains(declared.argmin(np.zeros(declared.shape)), 1e-9)
    declared.argmin(c)
    assert np.array_equal(c, kept)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_pickled_set_gives_the_same_answers(name):
    declared = CATALOGUE[name][0]()
    twin = pickle.loads(pickle.dumps(declared))
    assert (twin.dim, twin.nu) == (declared.dim, declared.nu)
    assert np.array_equal(twin.center, declared.center)
    for c in np.random.default_rng(5).normal(size=(5, *declared.shape)):
        assert np.array_equal(twin.argmin(c), declared.argmin(c))
        assert np.array_equal(twin.project(3 * c), declared.project(3 * c))
    if name not in WITHOUT_VERTEX_SAMPLER:
        rng, its_rng = np.random.default_rng(6), np.random.default_rng(6)
        for _ in range(5):
            assert np.array_equal(
                twin.sample_vertex(twin.center, its_rng), declared.sample_vertex(declared.center, rng)
            )


def test_every_function_of_the_catalogue_is_tried_here():
    tried = {name for make, _, _ in CATALOGUE.values() for name in make.__code__.co_names}
    assert tried >= FUNCTIONS
