"""Trips take fastest routes, none through a zone; equilibria and days are what they are said to be."""

import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from routing_networks import braess, grid, network, random_network

from dpcvx.studies.routing.days import travel_days
from dpcvx.studies.routing.declared import declare_times
from dpcvx.studies.routing.roads import Roads
from dpcvx.studies.routing.traffic import Demand, equilibrium, has_traffic, link_times


def fastest_by_enumeration(made, origin, destination):
    """The time of the fastest route among all simple ones that pass no zone on the way."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(len(made.nodes)))
    for k, (u, v) in enumerate(zip(made.tails.tolist(), made.heads.tolist(), strict=True)):
        graph.add_edge(u, v, key=k)
    found = np.inf
    for path in nx.all_simple_edge_paths(graph, origin, destination):
        if not made.closed[[head for _, head, _ in path[:-1]]].any():
            found = min(found, sum(made.times[k] for *_, k in path))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_fastest_routes_are_those_of_an_enumeration(seed):
    made = random_network(seed)
    times, _, _ = Roads(made).fastest(made.times, np.arange(8))
    for origin, destination in itertools.permutations(range(8), 2):
        expected = fastest_by_enumeration(made, origin, destination)
        assert times[origin, destination] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_trips_are_conserved_and_take_fastest_routes(seed):
    made, rng = random_network(seed), np.random.default_rng(seed)
    origins, demand = np.array([0, 1, 5]), rng.uniform(0, 10, (3, 8))
    demand[np.arange(3), origins] = 4.0  # who is there already drives nowhere
    roads = Roads(made)
    volumes, total = roads.load(made.times, origins, demand)
    found, _, _ = roads.fastest(made.times, origins)
    demand[np.arange(3), origins] = 0.0
    demand[np.isinf(found[:, :8])] = 0.0  # where there is no route, nobody drives
    assert total == pytest.approx(float(demand[demand > 0] @ found[:, :8][demand > 0]), abs=1e-5)
    out = np.bincount(made.tails, volumes, 8) - np.bincount(made.heads, volumes, 8)
    expected = -demand.sum(axis=0)
    expected[origins] += demand.sum(axis=1)
    assert np.allclose(out, expected)


def test_of_parallel_links_the_fastest_carries_all():
    made = network([0, 0, 1, 0], [1, 1, 2, 2], [2.0, 1.0, 0.0, 9.0])
    volumes, total = Roads(made).load(made.times, np.array([0]), np.array([[0.0, 1.0, 2.0]]))
    assert volumes.tolist() == [0, 3, 2, 0] and total == 3


def test_in_equilibrium_all_routes_of_braess_take_92():
    made = braess()
    found = equilibrium(Roads(made), Demand.of(made), link_times(made), steps=400)
    assert np.allclose(found.volumes, [4, 2, 2, 4, 2], atol=0.02) and found.gap < 1e-3
    t01, t02, t13, t23, t12 = found.times
    assert [t01 + t13, t02 + t23, t01 + t12 + t23] == pytest.approx([92] * 3, rel=1e-3)


def test_more_steps_close_the_gap_of_a_grid():
    made = grid()
    few, many = (equilibrium(Roads(made), Demand.of(made), link_times(made), steps) for steps in (2, 200))
    assert many.gap < 5e-3 < few.gap and (many.times >= made.times).all()


def test_rounding_makes_no_gap_negative():
    for seed in (45, 58, 62, 93):  # where the last of two steps rounds to less than the fastest routes take
        made, rng = grid(seed=seed), np.random.default_rng(seed)
        trips = {(a, b): rng.random() for a in range(16) for b in range(16) if a != b}
        demand = Demand.of(replace(made, trips=trips))
        start = rng.uniform(1, 2, len(made.links))
        assert equilibrium(Roads(made), demand, lambda volumes, made=made: made.times, 60, start).gap >= 0


def test_links_without_capacity_are_never_slower():
    made = network(
        [0, 1],
        [1, 2],
        [2.0, 3.0],
        capacity=np.array([0.0, np.inf]),
        b=np.ones(2),
        power=np.full(2, 4.0),
        trips={(0, 2): 9},
    )
    assert link_times(made)(np.full(2, 9.0)).tolist() == [2, 3]


@pytest.mark.parametrize("demand", [True, False])
def test_days_come_from_their_seed_and_say_what_was_assumed(demand):
    made = grid(demand=demand)
    assert has_traffic(made) is demand
    days, again, others = (travel_days(made, 6, seed) for seed in (3, 3, 4))
    assert days.times.shape == (6, len(made.links)) and (days.times >= made.times - 1e-12).all()
    assert np.array_equal(days.times, again.times) and not np.allclose(days.times, others.times)
    assert (days.times.std(axis=0) > 0).mean() > 0.9 and (days.traffic is not None) is demand
    said = " ".join(days.assumed)
    assert ("850 trips a day by the BPR formula" in said) if demand else ("has no trips, capacity, b, power" in said)


def test_usual_times_are_about_the_mean_of_days_without_incidents():
    made = grid(demand=False)
    days = travel_days(made, 4000, 1)
    # of times up to three times as long with probability 2 %: the mean is 4 % above; 4000 days leave 6 deviations
    assert np.allclose(days.times.mean(axis=0), 1.04 * days.usual, rtol=0.06)


def test_times_above_the_box_are_clipped_and_counted():
    empty, days = np.array([1.0, 2.0, 0.0]), np.array([[1.0, 9.0, 0.0], [4.0, 8.0, 0.0], [5.0, 2.0, 0.0]])
    declared = declare_times(empty, days, unit=2.0)
    assert declared.clipped == pytest.approx(2 / 6)
    assert np.allclose(declared.days, [[0.5, 4, 0], [2, 4, 0], [2, 1, 0]])
    assert all(declared.loss_set.contains(day, 1e-9) for day in declared.days)
    assert float(declared.loss_set.diameter(1)) == pytest.approx(1.5 + 3 + 1e-4)
    assert declared.loss_set.diameter(1).kind == "exact"  # as of a box, which links of no time must not spoil
    change = declared.change(100)
    assert float(change.norm(1)) == pytest.approx(4.5001 / 100) and change.contains([0.015, -0.03, 0.0])
    assert not change.contains([0.016, 0.0, 0.0])
    with pytest.raises(ValueError, match="ceiling must be above 1, not 1"):
        declare_times(empty, days, 1.0, ceiling=1.0)
