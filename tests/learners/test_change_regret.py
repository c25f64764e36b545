"""One of 1,000 people takes another path through a grid: privacy at epsilon = 1 costs next to nothing.

Seeds are fixed. What is compared are means of runs on the same losses; the margins are more than 6 standard errors of
the difference in earlier runs, which is a false alarm of less than 1e-6.
"""

import numpy as np
import pytest
from declared_changes import grid_graph

import decision_sets as ds
import dpcvx
from dpcvx.experiments.losses import const


@pytest.fixture(scope="module")
def town():
    graph = grid_graph(5)
    X, Y = ds.flow_polytope(graph, (0, 0), (4, 4)), ds.loss_box(40, 0.0, 1.0)
    return X, Y, ds.one_path(graph, (0, 0), (4, 4), 1000)


@pytest.mark.slow
def test_hiding_one_path_of_a_thousand_costs_full_information_less_than_3_percent(town):
    X, Y, change = town
    free = dpcvx.FTRL(X, Y, 512)
    options = {"regularizer": free.regularizer, "seed": 0}
    private = dpcvx.FTRL(X, Y, 512, 1.0, neighbours=change, **options)
    whole = dpcvx.FTRL(X, Y, 512, 1.0, **options)
    alone, said, unsaid = (
        dpcvx.simulate(one, const(X, Y, 512), k, 0, checkpoints=1).final
        for one, k in ((free, 1), (private, 3), (whole, 1))
    )
    assert abs(said / alone - 1) < 0.03
    assert unsaid > 5 * alone


@pytest.mark.filterwarnings("ignore::dpcvx.WeakPrivacyWarning")
def test_the_noise_for_one_path_of_a_thousand_is_that_of_2500_times_the_epsilon(town):
    _, Y, change = town
    said, unsaid = (
        dpcvx.PrivateSums(Y, 2048, e, noise="laplace", neighbours=by) for e, by in ((1.0, change), (2500.0, "replace"))
    )
    assert said.certificate.scale == pytest.approx(unsaid.certificate.scale, rel=1e-4)
    assert said.certificate.epsilon_for("replace") == pytest.approx(2500, rel=1e-4)


@pytest.mark.slow
def test_hiding_one_path_of_a_thousand_costs_bandits_what_epsilon_1000_costs(town):
    X, Y, change = town
    losses = const(X, Y, 1024)
    found = []
    for epsilon, by in ((1.0, change), (1000.0, "replace"), (1e5, "replace")):
        bandit = dpcvx.private_bandit(X, Y, 1024, epsilon, neighbours=by, seed=0)
        found.append(dpcvx.simulate(bandit, losses, 32, 0, checkpoints=1).final)
    assert max(np.abs(np.array(found[1:]) / found[0] - 1)) < 0.05
