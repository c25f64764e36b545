"""The demo: its routes are the paths of the town, its claims those of learners without a seed."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from dpcvx.studies import demo, town
from dpcvx.studies.demo import EPSILON, EPSILONS, Size
from dpcvx.studies.settings import SETTINGS

SIZE = Size(horizon=90, replicas=3, secure_rounds=4)


@pytest.fixture(scope="module")
def found():
    heard = []
    findings = demo.run(SIZE, heard.append, progress=False)
    assert len(heard) == len(set(heard)) == demo.STAGES
    return findings


def test_the_declared_routes_are_the_paths_from_home_to_work():
    X, graph = town.routes(), nx.DiGraph(town.ROADS.keys())
    assert X.dim == len(town.ROADS) - len(town.PLACES) + 1
    rng = np.random.default_rng(0)
    drawn = {tuple(X.sample_vertex(X.center, rng).round(9)) for _ in range(400)}
    paths = [list(pairwise(path)) for path in nx.all_simple_paths(graph, "home", "work")]
    assert drawn <= {tuple(float(road in path) for road in town.ROADS) for path in paths}
    assert all(X.contains([float(road in path) for road in town.ROADS]) for path in paths)
    assert not X.contains([float(road in paths[0][:-1]) for road in town.ROADS])  # a path that ends before work


def test_travel_times_are_losses_of_the_declared_set_and_the_accident_changes_the_best_route():
    X, Y, losses = town.routes(), town.times(), town.travel_times(600)
    crash, closed = town.accident(600), list(town.ROADS).index(town.CLOSED)
    assert all(Y.contains(loss, 1e-12) for loss in losses[::50])
    before, after = (X.argmin(part.mean(axis=0)) for part in (losses[:crash], losses[crash:]))
    assert (before[closed], after[closed]) == pytest.approx((1.0, 0.0), abs=1e-9)
    assert np.array_equal(losses, town.travel_times(600)) and not np.array_equal(losses, town.travel_times(600, 1))


def test_claims_come_from_learners_without_a_seed_that_played(found):
    for setting in SETTINGS:
        claimed = found.certificates[setting]
        assert claimed.secure and claimed.epsilon == EPSILON and claimed.rounds == SIZE.secure_rounds
        assert claimed.horizon == SIZE.horizon and claimed.regret_bound is not None


def test_simulations_claim_nothing_and_cover_both_settings_with_and_without_privacy(found):
    assert set(found.runs) == {(setting, epsilon) for setting in SETTINGS for epsilon in EPSILONS}
    for (_, epsilon), run in found.runs.items():
        assert run.rounds[-1] == SIZE.horizon and run.bound.total > 0
        if epsilon is None:
            assert run.bound.privacy == 0 and "private" not in run.learner
        else:
            assert run.certificate.epsilon == epsilon and not run.certificate.secure


def test_the_price_table_shows_the_regret_of_the_runs(found):
    rows = found.price()
    assert [row[0] for row in rows] == ["none", "3", "1", "0.3"]
    run = found.runs["bandit", 1.0]
    assert rows[2][3].startswith(f"{run.final / 90:.3f} ±") and rows[2][4] == f"{run.bound.total / 90:.3f}"
    assert "±" not in rows[0][1]  # nothing is drawn there
    adaptive = found.practice[1.0]
    assert rows[2][5].startswith(f"{adaptive.final / 90:.3f} ±") and adaptive.bound is None
    assert adaptive.certificate.epsilon == 1 and "Adaptive" in adaptive.learner
    assert found.idle == pytest.approx(found.losses.mean(axis=0) @ found.routes.center - found.best) and found.idle > 0


def test_flows_are_mixtures_of_routes(found):
    for flows in found.flows.values():
        assert all(found.routes.contains(flow, 1e-7) for flow in flows)


def test_flows_are_taken_before_the_accident_and_in_the_end():
    rounds = np.arange(300.0)[:, None]
    before, after = demo.around_accident(rounds)
    assert before == np.mean(np.arange(70, 100)) and after == np.mean(np.arange(270, 300))
