"""Losses about something that decisions make use of: sizes through the map hold."""

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import DecisionSet, DeclarationError, LossSet
from dpcvx.learners.full_information.mean_width import mean_width
from dpcvx.privacy.prefix_noise import gaussian_noise
from dpcvx.sets.pairing import Pairing
from dpcvx.sets.sizes import Sizes

TOWN = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("a", "c"), ("c", "b"), ("c", "d"), ("b", "d"), ("d", "c")])


def layered() -> ds.Routes:
    return ds.routes(TOWN, "a", "d", cycles="hops", hops=5)


def mapped_simplex(seed: int) -> DecisionSet:
    """Four arms, each of which uses three things by any amounts, some of them negative."""
    x = cp.Variable(4, nonneg=True)
    M = np.random.default_rng(seed).normal(size=(3, 4)) * 2.5
    return DecisionSet(x, [cp.sum(x) == 1], links_map=M)


SETS = {"layered": layered, "simplex 0": lambda: mapped_simplex(0), "simplex 1": lambda: mapped_simplex(1)}


def ball_losses(size: int) -> LossSet:
    loss = cp.Variable(size)
    return LossSet(loss, [cp.norm(loss - 0.3) <= 1])


def ignored(X: DecisionSet, Y: LossSet) -> Sizes:
    """Sizes that take the first entries of losses for those of decisions: what a forgotten map would give."""
    loss = cp.Variable(X.size)
    lower, upper = (np.resize(end, X.size) for end in Y.bounding_box())
    return Sizes(X, LossSet(loss, [loss >= lower, loss <= upper]))


def violations(sizes: Sizes, X: DecisionSet, Y: LossSet) -> list[str]:
    """The sizes that sampled vertices and extreme losses exceed, through the map."""
    rng = np.random.default_rng(0)
    points = X.vertices()
    used = points @ X.links_map.toarray().T
    losses = np.array([Y.argmin(c) for c in rng.standard_normal((60, *Y.shape))])
    values = losses @ used.T
    covectors = losses @ X.links_map.toarray()
    low, high = sizes.values
    found = {
        "magnitude": np.abs(values).max() <= sizes.magnitude,
        "values": low <= values.min() and values.max() <= high,
        "variation": np.ptp(values, axis=1).max() <= sizes.variation,
        "feedback_range": np.ptp(values, axis=0).max() <= sizes.feedback_range,
        "loss_radius": max(np.linalg.norm(sizes.tangential(c)) for c in covectors) <= sizes.loss_radius,
        "one_norm_diameter": np.abs(used[:, None] - used).sum(axis=-1).max() <= sizes.one_norm_diameter,
        "used_reach": np.linalg.norm(used - X.links_map @ sizes.middle, axis=1).max() <= sizes.used_reach,
    }
    for p in (1.0, 2.0, np.inf):
        found[f"used_radius {p}"] = np.linalg.norm(used, p, axis=1).max() <= sizes.used_radius(p)
        found[f"used_diameter {p}"] = max(np.linalg.norm(used - u, p, axis=1).max() for u in used) <= (
            sizes.used_diameter(p) * (1 + 1e-9)
        )
    noise = rng.standard_normal((400, Y.size))
    width = (noise @ used.T).max(axis=1).mean()  # within 5 deviations of its mean: false alarm below 1e-6
    slack = 5 * (noise @ used.T).max(axis=1).std() / 20
    found["mean_width"] = width - slack <= mean_width(sizes, gaussian_noise(1.0))
    return [name for name, holds in found.items() if not holds]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("losses", [box_losses, ball_losses])
def test_sizes_hold_through_the_map(name, losses):
    X = SETS[name]()
    Y = losses(X.links_map.shape[0])
    assert violations(Sizes(X, Y), X, Y) == []


@pytest.mark.parametrize("name", ["simplex 0", "simplex 1"])
def test_sizes_that_forget_the_map_are_found_out(name):
    X = SETS[name]()
    Y = box_losses(X.links_map.shape[0])
    assert "magnitude" in violations(ignored(X, Y), X, Y)


def test_a_loss_acts_through_the_map_and_back():
    X, rng = layered(), np.random.default_rng(1)
    pairing = Pairing(X, (len(TOWN.edges),))
    loss, points = rng.normal(size=len(TOWN.edges)), rng.normal(size=(3, 2, X.size))
    assert pairing.usage(points).shape == (3, 2, len(TOWN.edges))
    assert pairing.usage(points) @ loss == pytest.approx(points @ pairing.covector(loss))
    assert pairing.covector(loss).tolist() == loss[X.links].tolist()


def test_routes_toward_keep_lengths_and_layered_ones_do_not():
    links = (len(TOWN.edges),)
    straight = ds.routes(TOWN, "a", "d")
    assert Pairing(straight, links).isometric and Pairing(straight, links).selects
    assert not Pairing(layered(), links).isometric and Pairing(layered(), links).selects
    assert not Pairing(mapped_simplex(0), (3,)).selects


@pytest.mark.parametrize("p", [1, 1.5, 2, 4, np.inf])
def test_the_map_stretches_no_vector_by_more_than_is_said(p):
    """Exact for p = 1 and infinity; between them as Riesz and Thorin say, and reached within a factor of two."""
    M = np.random.default_rng(0).normal(size=(3, 4)) * 2.5
    pairing, x = Pairing(mapped_simplex(0), (3,)), np.random.default_rng(1).normal(size=(20_000, 4))
    seen = (np.linalg.norm(x @ M.T, p, axis=1) / np.linalg.norm(x, p, axis=1)).max()
    assert seen <= pairing.stretch(p) <= 2 * seen
    one, infinity = np.abs(M).sum(axis=0).max(), np.abs(M).sum(axis=1).max()
    assert pairing.stretch(p) == pytest.approx(one ** (1 / p) * infinity ** (1 - 1 / p), rel=1e-6)
    y = np.random.default_rng(2).normal(size=(20_000, 3))
    back = (np.linalg.norm(y @ M, p, axis=1) / np.linalg.norm(y, p, axis=1)).max()
    assert back <= pairing.back_stretch(p) <= 2 * back
    plain = Pairing(ds.simplex(4), (4,))
    assert plain.stretch(p) == plain.back_stretch(p) == 1


def test_losses_in_the_shape_of_decisions_are_taken_as_they_are():
    X = layered()
    pairing = Pairing(X, X.shape)
    assert pairing.plain and pairing.usage(X.center).tolist() == X.center.tolist()


def test_wrong_shapes_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"one number for each of its coordinates, or \(8,\), one for each link"):
        Pairing(layered(), (7,))
    x = cp.Variable(2, nonneg=True)
    with pytest.raises(DeclarationError, match="links_map must be a finite matrix with 2 columns"):
        DecisionSet(x, [cp.sum(x) == 1], links_map=np.ones((3, 4)))


def test_losses_that_could_be_about_both_are_refused():
    x = cp.Variable(2, nonneg=True)
    X = DecisionSet(x, [cp.sum(x) == 1], links_map=np.array([[1.0, 1.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="as many of both"):
        Pairing(X, (2,))
    same = DecisionSet(x, [cp.sum(x) == 1], links_map=np.eye(2))
    assert Pairing(same, (2,)).plain
