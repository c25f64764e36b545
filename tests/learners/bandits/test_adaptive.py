"""The adaptive bandit: unbiased estimates on every family, the inequality behind `paid`, play on bodies, and regret."""

import math

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import AdaptiveBandit, DecisionSet, PrivateBandit, check_learner, private_bandit
from dpcvx.actions import Arms, BoxCorners, KSets, Paths, PointList
from dpcvx.learners.bandits.adaptive_barrier import AdaptiveBarrier
from dpcvx.learners.bandits.adaptive_weights import RECIPES, AdaptiveWeights, exploration_of


def grid(n):
    steps = ((0, 1), (1, 0))
    return nx.DiGraph(
        [((i, j), (i + a, j + b)) for i in range(n) for j in range(n) for a, b in steps if i + a < n and j + b < n]
    )


def paths(n):
    edges = list(grid(n).edges)
    nodes = {node: k for k, node in enumerate(grid(n).nodes)}
    tails, heads = (np.array([nodes[edge[k]] for edge in edges]) for k in (0, 1))
    return Paths(tails, heads, nodes[0, 0], nodes[n - 1, n - 1])


def corners(lower, upper):
    return np.array(np.meshgrid(*zip(lower, upper, strict=True), indexing="ij")).reshape(len(lower), -1).T


FAMILIES = {
    "arms": (Arms(4, 2.0), 2 * np.eye(4)),
    "list": (PointList(POINTS := np.column_stack([np.random.default_rng(3).normal(size=(9, 3)), np.ones(9)])), POINTS),
    "box": (BoxCorners(L := np.array([-1.0, 0, 2]), U := np.array([1.0, 3, 2.5])), corners(L, U)),
    "k-sets": (KSets(5, 2, 1.5), KSets(5, 2, 1.5).listed()),
    "paths": (paths(3), paths(3).listed()),
}


def law(points, covector):
    weights = np.exp(-(points @ covector) + (points @ covector).min())
    return weights / weights.sum()


@pytest.mark.parametrize("name", FAMILIES)
def test_partition_and_ends_are_those_of_the_listed_actions(name):
    family, points = FAMILIES[name]
    for scale in (0.1, 3.0, 400.0):
        covector = scale * np.random.default_rng(0).normal(size=(2, points.shape[1]))
        scores = covector @ points.T
        exact = np.log(np.exp(scores.min(axis=1, keepdims=True) - scores).sum(axis=1)) - scores.min(axis=1)
        assert np.allclose(family.log_partition(covector), exact, rtol=1e-10, atol=1e-9)
        low, high = family.ends(covector)
        assert np.allclose(low, scores.min(axis=1)) and np.allclose(high, scores.max(axis=1))


@pytest.mark.parametrize("name", FAMILIES)
def test_estimates_of_differences_are_unbiased_whatever_the_baseline(name):
    """By enumeration: the draw is replaced by each action in turn, by its probability."""
    family, points = FAMILIES[name]
    rng = np.random.default_rng(1)
    covector, loss, mixing, shift = rng.normal(size=points.shape[1]), rng.normal(size=points.shape[1]), 0.3, 7.0
    exploration = family.exploration("uniform")
    p = (1 - mixing) * law(points, covector) + mixing / len(points)
    measures = {}
    draws = np.random.default_rng(2)
    for _ in range(4000):  # until every action came
        action, measure = family.centered(covector, np.float64(mixing), exploration, draws)
        measures[tuple(action.round(9))] = measure
        if len(measures) == len(points):
            break
    estimate = sum(p[i] * measures[tuple(a.round(9))] * (a @ loss - shift) for i, a in enumerate(points))
    got, true = points @ estimate, points @ loss
    assert np.allclose(got - got[0], true - true[0], atol=1e-8)
    share = np.array([mixing, 0.1])
    actions, many = family.centered(np.tile(covector, (2, 1)), share, exploration, np.random.default_rng(5))
    one = measures[tuple(actions[0].round(9))]
    assert np.allclose(points @ many[0] - (points @ many[0])[0], points @ one - (points @ one)[0])


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("setting", RECIPES)
def test_the_inequality_behind_what_was_paid_holds_on_every_path(name, setting):
    """sum f_t (-x_t(u)) <= beta_1 ln K + sum (delta + dbeta H), for every action u, without any expectation."""
    family, points = FAMILIES[name]
    Y = box_losses(points.shape[1])
    plays = AdaptiveWeights(family, Y, 2.0, 0.5, setting)
    known, rng = plays.start(()), np.random.default_rng(0)
    worth = np.zeros(len(points))
    for t in range(150):
        before = known
        action, how = plays.draw(known, t, rng)
        known = plays.after(known, how, np.float64(action.sum() / 5 + rng.laplace()), t)
        step = known.estimates - before.estimates
        q = law(points, before.estimates / before.temperature)
        worth += points @ step - q @ points @ step
        assert known.temperature >= before.temperature > 0
    assert np.all(-worth <= known.paid + 1e-9)  # what was paid has the cost of exploring besides
    if (name, setting) == ("arms", "middle"):
        assert (-worth).max() > 0.05 * known.paid  # a twentieth of it would not do


def test_what_was_paid_is_stated_at_the_end_by_the_middle_setting_alone():
    for setting, stated in (("recipe", False), ("middle", True)):
        learner = AdaptiveBandit(np.eye(3), box_losses(3), 30, setting=setting, seed=0)
        for _ in range(30):
            assert learner.paid is None
            learner.update(float(learner.act()[0]))
        assert (learner.paid is not None) == stated
    assert learner.paid > 0


@pytest.mark.parametrize("seed", [None, 5])
def test_a_private_bandit_adds_its_batches_and_the_one_that_was_not_released(seed):
    X, Y, T = ds.simplex(3), box_losses(3), 50
    private = PrivateBandit(AdaptiveBandit(X, Y, T, setting="middle", seed=0), 1.0, batch=4, seed=seed)
    for _ in range(T):
        assert private.paid is None
        private.update(float(private.act()[0]))
    inner = private._learner
    assert inner.rounds == 12 and inner.paid is None and np.isfinite(private.paid)
    assert seed is None or private.paid > 50
    error = private.certificate.grid / 2 if seed is None else 0.0
    assert private.paid == pytest.approx(4 * inner.paid_with(error) + 2 * private.sizes.variation)
    assert inner.paid_with(1.0) > inner.paid_with(0.0) + 12
    recipe = PrivateBandit(AdaptiveBandit(X, Y, T, seed=0), 1.0, seed=seed)
    for _ in range(T):
        recipe.update(float(recipe.act()[0]))
    assert recipe.paid is None


def test_the_mean_of_what_was_paid_is_above_the_mean_regret_and_a_twentieth_is_not():
    """200 private runs on a game with a gap; 6 standard errors: a false alarm is less likely than 1e-8."""
    X, Y, T, R = ds.simplex(4), box_losses(4, 0.0, 1.0), 1000, 200
    private = PrivateBandit(AdaptiveBandit(X, Y, T, setting="middle").simulated(R, 1), 1.0, seed=2)
    loss, incurred = np.array([0.2, 0.8, 0.8, 0.8]), np.zeros(R)
    for _ in range(T):
        values = private.act() @ loss
        incurred += values
        private.update(values)
    regret, paid = incurred - 0.2 * T, private.paid
    error = 6 * np.hypot(regret.std(), paid.std()) / np.sqrt(R)
    assert regret.mean() <= paid.mean() + error
    assert regret.mean() > paid.mean() / 20 + error


def played(make, losses, epsilon, replicas=8):
    learner = make(len(losses)).simulated(replicas, 1)
    playing = learner if epsilon is None else PrivateBandit(learner, epsilon, seed=2)
    incurred = np.zeros(replicas)
    for loss in losses:
        values = playing.act() @ loss
        incurred += values
        playing.update(values)
    return (incurred + learner.decision_set.support(-losses.sum(axis=0))) / len(losses)


@pytest.mark.parametrize(("epsilon", "goal"), [(None, 0.06), (1.0, 0.3)])
def test_the_cube_is_learnt_within_two_thousand_rounds(epsilon, goal):
    """Doing nothing costs 0.5 a round. Measured 0.045 and 0.24 with an error of 0.005 and 0.01."""
    loss = np.full(10, 0.05) * np.array([1, -1] * 5)
    regret = played(lambda T: AdaptiveBandit(ds.cube(10), ball_losses(10, 1), T), np.tile(loss, (2000, 1)), epsilon)
    assert regret.mean() < goal


def test_a_learner_of_the_wrong_sign_learns_nothing():
    loss = np.tile(np.array([-0.5, 0.5, 0.5]), (1000, 1))
    good = played(lambda T: AdaptiveBandit(np.eye(3), box_losses(3), T), loss, None).mean()
    learner = AdaptiveBandit(np.eye(3), box_losses(3), 1000, seed=1)
    wrong = 0.0
    for row in loss:
        value = float(learner.act() @ row)
        wrong += value + 0.5
        learner.update(-value)
    assert good < 0.1 < 0.6 < wrong / 1000


@pytest.mark.parametrize("X", [ds.norm_ball(3, 2), ds.spectrahedron(3)], ids=["ball", "matrices"])
def test_bodies_without_corners_are_played_by_the_barrier_and_stay_inside(X):
    learner = AdaptiveBandit(X, box_losses(X.shape), 200, seed=0)
    assert isinstance(learner._plays, AdaptiveBarrier) and "no list of actions" in learner.summary()
    loss = np.zeros(X.shape)
    loss.flat[0] = 1.0
    first = 0.0
    for t in range(200):
        action = learner.act()
        assert X.contains(action, 1e-7)
        value = float((action * loss).sum())
        first += value if t >= 150 else 0.0
        learner.update(value)
    least = float((X.argmin(loss) * loss).sum())
    assert first / 50 < float((X.center * loss).sum()) * 0.5 + least * 0.5  # half of the way at least


def test_stretched_steps_are_unbiased_on_a_ball():
    """The mean of many estimates is the loss: within 6 of its deviations in each entry, a false alarm below 1e-7."""
    X = ds.norm_ball(3, 2)
    body = AdaptiveBarrier(X, 100, 2.0, 0.0)
    n = 40_000
    known = body.start((n,))
    known = known._replace(point=np.tile(X.geometry.chart.coordinates(np.array([0.3, -0.2, 0.5])), (n, 1)))
    action, how = body.draw(known, 0, np.random.default_rng(0))
    assert np.linalg.norm(action, axis=1).max() <= 1 and (how.stretch >= 1).all() and how.stretch.mean() > 1.1
    loss = np.array([0.4, 1.0, -0.7])
    estimates = body.dim * (action @ loss - 3.0)[:, None] * how.measure
    spread = X.geometry.chart.pull(loss)
    error = estimates.mean(axis=0) - spread
    assert np.all(np.abs(error) <= 6 * estimates.std(axis=0) / math.sqrt(n))


def test_lists_with_the_origin_in_their_hull_are_put_on_a_level():
    points = np.vstack([np.eye(3), -np.eye(3)])
    learner = AdaptiveBandit(points, box_losses(3), 300, seed=0)
    last = 0.0
    for t in range(300):
        action = learner.act()
        assert action.shape == (3,) and np.abs(action).sum() == 1
        value = float(action @ np.array([0.0, 1.0, 0.0]))
        last += value if t >= 200 else 0.0
        learner.update(value)
    assert last < -60  # of 100 rounds most play the one action that costs -1


def test_it_asks_for_its_batch_and_states_no_bound():
    X, Y = ds.simplex(4), box_losses(4)
    chosen = private_bandit(X, Y, 500, 1.0, choose="practice")
    assert chosen.regret_bound is None and chosen.batch == 6 and "no worst-case bound" in chosen.summary()
    assert private_bandit(X, Y, 500, 0.1, choose="practice").batch == 57
    assert private_bandit(X, Y, 500, 1.0, choose="practice", batch=2).batch == 2
    with pytest.raises(ValueError, match='choose must be "bound" or "practice"'):
        private_bandit(X, Y, 500, 1.0, choose="luck")


def test_a_hundred_thousand_arms_make_no_matrix():
    x = cp.Variable(100_000, nonneg=True)
    X = DecisionSet(x, [cp.sum(x) == 1])
    learner = AdaptiveBandit(X, box_losses(100_000), 5, seed=0)
    for _ in range(3):
        learner.update(float(learner.act().max()) * 0.5)


@pytest.mark.parametrize("X", [ds.simplex(4), ds.cube(2), ds.norm_ball(2, 2)], ids=["arms", "box", "ball"])
def test_the_learner_keeps_the_protocol_alone_and_private(X):
    Y = box_losses(X.size)
    check_learner(lambda seed: AdaptiveBandit(X, Y, 40, seed=seed))
    check_learner(lambda seed: PrivateBandit(AdaptiveBandit(X, Y, 40, seed=seed), 1.0, batch=2, seed=seed))


def test_a_point_is_played_without_learning():
    x = cp.Variable(2)
    learner = AdaptiveBandit(DecisionSet(x, [x == 1]), box_losses(2), 5, seed=0)
    assert np.allclose(learner.act(), 1)
    learner.update(0.3)


def test_bad_arguments_are_refused_by_sentences():
    with pytest.raises(ValueError, match="setting must be one of recipe, middle"):
        AdaptiveBandit(ds.simplex(3), box_losses(3), 10, setting="best")


def test_where_uniform_draws_hardly_reach_some_paths_the_design_explores():
    side = 16
    node = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    heads = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    family = Paths(tails, heads, 0, side * side - 1)
    with pytest.raises(ValueError, match="hardly reaches some paths"):
        family.exploration("uniform")
    assert exploration_of(family) is family.design and family.design.reach < 3 * family.rank
