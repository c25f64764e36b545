"""Exp2: the actions it plays, its tuning, and its regret against the proved bound."""

import copy
import math

import numpy as np
import pytest
from catalogue_sets import CATALOGUE
from loss_sets import ball_losses, box_losses
from playing import breaks_the_bound, keeps_its_bound

import decision_sets as ds
from dpcvx import Exp2, simulate
from dpcvx.actions import Arms, BoxCorners, KSets, PointList
from dpcvx.errors import HorizonError, ProtocolError, UnsupportedConeError
from dpcvx.learners.bandits.action_set import ActionSet
from dpcvx.learners.bandits.exp2_tuning import TUNINGS, Game
from dpcvx.learners.bandits.private_bandit import PrivateBandit

POINTS = np.random.default_rng(3).normal(size=(12, 4))
SETS = {
    "simplex": Arms,
    "scaled simplex": Arms,
    "capped simplex": PointList,
    "box": BoxCorners,
    "box of matrices": BoxCorners,
    "ball, p = 1": PointList,
    "polytope": PointList,
    "convex hull": PointList,
    "permutahedron": PointList,
    "Birkhoff polytope": PointList,
    "transport polytope": PointList,
    "flow polytope": PointList,
}


def named(name):
    return CATALOGUE[name][0]()


# actions of declared sets


@pytest.mark.parametrize("name", SETS)
def test_polytopes_of_the_catalogue_are_played_by_their_vertices(name):
    X = named(name)
    learner = Exp2(X, box_losses(X.shape), 20, seed=0, replicas=4)
    assert type(learner.family) is SETS[name]
    assert learner.family.rank in (X.dim, X.dim + 1)
    for _ in range(20):
        action = learner.act()
        assert action.shape == (4, *X.shape)
        assert all(X.contains(one, 1e-7) for one in action)
        learner.update(np.random.default_rng(0).normal(size=4))
    known = {tuple(row) for row in X.flatten(X.vertices()).round(6)}
    assert {tuple(row) for row in X.flatten(action).round(6)} <= known


def test_few_k_sets_are_listed_and_many_are_not():
    few, many = (Exp2(ds.capped_simplex(n, 4), box_losses(n), 10, seed=0) for n in (9, 14))
    assert isinstance(few.family, PointList) and len(few.family.points) == 126
    assert isinstance(many.family, KSets) and many.act().sum() == 4
    assert few.exploration.reach == pytest.approx(9, rel=1e-6) and many.exploration.reach == 14


def test_changing_an_action_changes_no_learner():
    for actions in (np.eye(3), ds.cube(3), POINTS[:, :3]):
        learner = Exp2(actions, box_losses(3), 200, seed=0)
        for _ in range(50):
            learner.act()[:] = 99.0
            learner.update(0.1)
        assert np.abs(learner.act()).max() < 10


def test_sets_without_a_short_list_are_refused_by_a_sentence():
    with pytest.raises(UnsupportedConeError, match="not a polytope"):
        Exp2(ds.norm_ball(4, 2), box_losses(4), 10)
    rows = np.random.default_rng(0).normal(size=(60, 20))
    with pytest.raises(UnsupportedConeError, match=r"may have .* vertices"):
        Exp2(ds.polytope(rows, np.ones(60), -1, 1), box_losses(20), 10)
    with pytest.raises(UnsupportedConeError, match="The hull of 3000 actions of size 2 is too large"):
        Exp2(np.random.default_rng(0).normal(size=(3000, 2)), box_losses(2), 10)
    with pytest.raises(UnsupportedConeError, match=r"has at least 1\d\d vertices; they are listed up to 100"):
        named("permutahedron").vertices(most=100)


def test_lists_are_declared_by_their_weights_up_to_a_number(monkeypatch):
    monkeypatch.setattr("dpcvx.learners.bandits.action_set.DENSE_LIMIT", 20)
    points = np.random.default_rng(0).normal(size=(19, 2))
    assert Exp2(points[:18], box_losses(2), 10).decision_set.name == "hull of 18 actions"
    with pytest.raises(UnsupportedConeError, match=r"19 actions of size 2 .* done up to 18 of them\. Declare"):
        Exp2(points, box_losses(2), 10)


def test_matrix_actions_keep_the_shape_of_the_variable():
    X = ds.birkhoff(3)
    learner = Exp2(X, box_losses((3, 3)), 5, seed=0)
    action = learner.act()
    assert action.shape == (3, 3)
    assert np.allclose(action.sum(axis=0), 1) and np.allclose(action.sum(axis=1), 1)
    learner.update(float((np.arange(9.0).reshape(3, 3) * action).sum()))
    learner.act()


def test_an_array_is_played_by_its_rows_within_their_hull():
    learner = Exp2(POINTS, box_losses(4), 30, seed=0)
    assert learner.family.log_count == pytest.approx(math.log(12))
    for _ in range(30):
        action = learner.act()
        assert (POINTS == action).all(axis=1).any() and learner.decision_set.contains(action, 1e-7)
        learner.update(0.3)
    ends = learner.loss_set.ranges(POINTS)
    assert learner.magnitude == max(np.abs(end).max() for end in ends)


def test_the_same_actions_are_measured_anew_for_other_losses():
    X = ds.simplex(4)
    for size in (1.0, 3.0, 1.0):
        assert Exp2(X, box_losses(4, -size, size), 30).magnitude == pytest.approx(size, rel=1e-12)


def test_one_action_costs_nothing():
    learner = Exp2(np.array([[1.0, 2.0]]), box_losses(2), 3, seed=0)
    assert learner.uncapped_bound == 0
    for _ in range(3):
        assert (learner.act() == [1.0, 2.0]).all()
        learner.update(1e300)
    assert Exp2(np.eye(1), box_losses(1), 3).decision_set.name == "one action"


def test_the_summary_counts_actions_up_to_e_to_the_thirty():
    for n, said in ((3, "8 of rank"), (43, "8796093022208 of rank"), (44, "e^30.5 of rank")):
        assert f"actions          {said}" in Exp2(ds.cube(n), ball_losses(n, 1), 100).summary()


# play


def test_probabilities_stay_positive_and_sum_to_one():
    learner = Exp2(np.eye(5), box_losses(5), 400, noise_scale=3.0, seed=0, replicas=7)
    rng = np.random.default_rng(0)
    for _ in range(400):
        p = learner.probabilities
        assert p.min() >= learner.mixing / 5 * (1 - 1e-12)
        assert np.allclose(p.sum(axis=-1), 1, atol=1e-12)
        learner.act()
        learner.update(rng.laplace(size=7) * 10)


@pytest.mark.parametrize("X", [ds.simplex(5), ds.capped_simplex(14, 4), ds.cube(3), ds.permutahedron(4)], ids=str)
@pytest.mark.parametrize("value", [1e300, -1e300, 1.7e308])
def test_huge_feedback_does_not_overflow(X, value):
    learner = Exp2(X, box_losses(X.shape), 12, seed=0, replicas=3, noise_scale=1.0)
    for sign in (1, 1, -1) * 4:
        assert np.isfinite(learner.act()).all()
        learner.update(np.array([value, -value, 0.0]) * sign)


def test_replicas_are_independent_and_end_with_the_horizon():
    loss = np.linspace(-1, 1, 4)
    many = Exp2(ds.cube(4), ball_losses(4, 1, 2.0), 50, seed=0, replicas=3)
    for _ in range(50):
        many.update(many.act() @ loss)
    assert many._estimates.shape == (3, 4)
    assert len(np.unique(many._estimates[:, 0])) == 3
    with pytest.raises(HorizonError):
        many.act()


def test_turns_and_feedback_are_checked():
    learner = Exp2(np.eye(3), box_losses(3), 5, seed=0)
    with pytest.raises(ProtocolError):
        learner.update(0.0)
    learner.act()
    for wrong in (np.nan, [0.0, 1.0], "x"):
        with pytest.raises(ValueError, match="feedback"):
            learner.update(wrong)
    learner.update(0.5)
    assert copy.deepcopy(learner).rounds == 1


@pytest.mark.parametrize("horizon", [1, 2])
def test_short_horizons_and_two_arms(horizon):
    for tuning in TUNINGS:
        learner = Exp2(np.eye(2), box_losses(2), horizon, tuning=tuning, noise_scale=1.0, seed=0)
        for _ in range(horizon):
            learner.act()
            learner.update(0.1)
        assert 0 < learner.mixing <= 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tuning": "best"}, "tuning must be one of sharp, moments, rigorous, paper"),
        ({"exploration": "none"}, "exploration must be"),
        ({"exploration": [0.5, 0.5]}, "3 probabilities"),
        ({"exploration": [0.5, 0.5, 0.5]}, "sum 1.5"),
        ({"exploration": [0.5, 0.5, 0.0]}, "leaves out directions"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number"),
        ({"noise_scale": -1.0}, "noise_scale"),
    ],
)
def test_wrong_arguments_are_sentences(settings, words):
    with pytest.raises(ValueError, match=words):
        Exp2(np.eye(3), box_losses(3), 10, **settings)


def test_wrong_actions_are_sentences():
    shown = [(np.zeros(3), r"\(3,\)"), ([[np.nan, 1.0]], r"\(1, 2\)"), (np.zeros((0, 3)), r"\(0, 3\)")]
    for wrong, came in [("arms", "'arms'"), *((array, f"an array of shape {shape}") for array, shape in shown)]:
        with pytest.raises(ValueError, match=rf"actions must be a DecisionSet or a finite array .* not {came}\."):
            Exp2(wrong, box_losses(3), 10)
    with pytest.raises(ValueError, match="is for arms"):
        Exp2(POINTS, box_losses(4), 10, tuning="paper")
    with pytest.raises(ValueError, match="needs a list of actions"):
        Exp2(ds.cube(3), box_losses(3), 10, exploration=[1.0])
    with pytest.raises(ValueError, match="probabilities are not listed"):
        _ = Exp2(ds.cube(3), box_losses(3), 10).probabilities
    with pytest.raises(ValueError, match="shape"):
        Exp2(np.eye(3), box_losses(4), 10)


# tuning and bounds


def test_tuning_for_noise_is_the_formula_of_the_theory():
    N, T, lam = 10, 5000, 2.0
    learner = Exp2(np.eye(N), box_losses(N), 100, tuning="moments").with_noise(lam, T)
    V = 1 + 7 / 3 * lam**2
    eta = math.sqrt(math.log(N) / (N * T * (V + 4 * lam)))
    gamma = 2 * eta * N * lam
    assert gamma < 0.5
    assert (learner.horizon, learner.noise_scale) == (T, lam)
    assert learner.learning_rate == pytest.approx(eta, rel=1e-6) and learner.mixing == pytest.approx(gamma, rel=1e-6)
    bound = math.log(N) / eta + eta * N * T * V / (1 - gamma) + 2 * gamma * T
    assert learner.uncapped_bound == pytest.approx(bound, rel=1e-6)
    capped = learner.with_noise(lam, 20)
    assert capped.mixing == 0.5 and capped.learning_rate == pytest.approx(0.5 / (2 * N * lam), rel=1e-6)
    assert capped.uncapped_bound > capped.regret_bound.total == 20 * capped.sizes.variation


def test_rigorous_and_paper_tunings_are_their_formulas():
    N, T, lam = 10, 10**6, 2.0
    arms = Exp2(np.eye(N), box_losses(N), T, noise_scale=lam, tuning="rigorous")
    cut, V = 1 + 2 * lam * math.log(T), 1 + 2 * lam**2
    eta = math.sqrt(math.log(N) / (N * T * (2 * V + 2 * cut)))
    gamma = eta * N * cut
    bound = math.log(N) / eta + eta * T * N * V / (1 - gamma) + 2 * gamma * T + 2
    assert arms.learning_rate == pytest.approx(eta, rel=1e-6) and arms.mixing == pytest.approx(gamma, rel=1e-6)
    assert arms.uncapped_bound == pytest.approx(bound, rel=1e-6)
    paper = Exp2(np.eye(N), box_losses(N), T, noise_scale=lam, tuning="paper")
    spread = 1 + 2 * lam**2 * math.log(N * T)
    eta = math.sqrt(math.log(N) / (2 * N * T * spread))
    assert paper.learning_rate == pytest.approx(eta) and paper.mixing == pytest.approx(eta * N * math.sqrt(spread))
    assert paper.regret_bound is None and math.isinf(paper.uncapped_bound)
    assert "no bound is proved" in paper.summary() and "its proof needs" in paper.summary()
    assert Exp2(np.eye(N), box_losses(N), T, noise_scale=lam).uncapped_bound < 0.6 * bound


def test_the_tuned_rate_is_nearly_the_best_of_the_bound():
    game = Game(log_count=math.log(50), rank=7, reach=7.5, magnitude=1.5, noise_scale=2.0, horizon=10**6, regret=2.0)
    for name in ("sharp", "moments"):
        tuning = TUNINGS[name]
        eta, gamma = tuning.rates(game, None)
        others = [tuning.bound(game, *tuning.rates(game, eta * factor)) for factor in np.geomspace(0.3, 3, 41)]
        assert tuning.bound(game, eta, gamma) <= 1.01 * min(others)


def test_the_sharp_bound_is_its_formula_and_below_that_by_moments():
    N, T, lam = 10, 5000, 2.0
    learner = Exp2(np.eye(N), box_losses(N), T, noise_scale=lam)
    eta, gamma = learner.learning_rate, learner.mixing
    k = eta * N / gamma
    assert k * lam < 1
    second = (math.exp(k) - 1 - k) / k**2 + math.exp(k) * lam**2 / (1 - (k * lam) ** 2)
    regret = 2 * (1 - 1 / N)  # of even draws, losses between -1 and 1
    assert learner.uncapped_bound == pytest.approx(math.log(N) / eta + eta * N * T * second + gamma * regret * T)
    assert learner.uncapped_bound < Exp2(np.eye(N), box_losses(N), T, noise_scale=lam, tuning="moments").uncapped_bound


def test_the_inequality_behind_the_sharp_bound_holds_and_a_smaller_one_does_not():
    rng = np.random.default_rng(0)
    s, most = rng.uniform(0.01, 3, 20_000), rng.uniform(0, 0.99, 20_000)  # k M and (k lam)^2
    x, y = rng.uniform(-5, 1, 20_000), most * rng.uniform(0, 1, 20_000)
    x = np.where(x > 0, x * s, x)
    phi = (np.expm1(s) - s) / s**2
    left = np.exp(x) / (1 - y)
    assert np.all(left <= (1 + x + phi * x**2 + np.exp(s) * y / (1 - most)) * (1 + 1e-12))
    assert np.any(left > 1 + x + 0.9 * phi * x**2 + np.exp(s) * y / (1 - most))


@pytest.mark.parametrize(("name", "figure"), [("3-sets", 0.273), ("paths", 0.912)])
def test_centered_sharp_bounds_are_those_of_the_theory(name, figure):
    import networkx as nx

    grid = nx.DiGraph(
        [
            ((i, j), (i + a, j + b))
            for i in range(5)
            for j in range(5)
            for a, b in ((0, 1), (1, 0))
            if i + a < 5 and j + b < 5
        ]
    )
    X = ds.capped_simplex(10, 3) if name == "3-sets" else ds.flow_polytope(grid, (0, 0), (4, 4))
    private = PrivateBandit(Exp2(X, box_losses(X.size, 0.0, 1.0), 2**16), 1.0)
    assert 0.97 * figure <= private.uncapped_bound / 2**16 <= figure


def test_a_constant_is_taken_off_the_feedback_only_where_the_actions_are_on_a_level():
    half = box_losses(4, 0.0, 1.0)
    for actions in (np.eye(4), ds.capped_simplex(4, 2), np.array([[1.0, 0, 0, 0], [0, 2.0, 0, 0], [1, 2, 1, 1.0]])):
        learner = Exp2(actions, half, 100)
        assert learner.family.level and learner.middle_value > 0
        low, high = learner.middle_value - learner.magnitude, learner.middle_value + learner.magnitude
        ends = half.ranges(
            learner.decision_set.unflatten(
                learner.family.listed() if learner.family.listed() is not None else learner.decision_set.vertices()
            )
        )
        assert low <= ends[0].min() + 1e-7 and ends[1].max() <= high + 1e-7
    with_zero = np.vstack([np.eye(4), np.zeros(4)])
    for actions in (ds.box(np.zeros(4), np.ones(4)), with_zero):
        learner = Exp2(actions, half, 100)
        assert not learner.family.level and learner.middle_value == 0
    assert Exp2(np.eye(4), half, 100, tuning="paper").middle_value == 0


def test_a_constant_in_all_losses_changes_no_play_of_a_centered_learner():
    losses = np.random.default_rng(2).random((200, 4))
    plays = []
    for low in (0.0, 7.0):
        learner = Exp2(np.eye(4), box_losses(4, low, low + 1), 200, seed=5)
        plays.append([])
        for loss in losses + low:
            action = learner.act()
            learner.update(float(action @ loss))
            plays[-1].append(int(action.argmax()))
    assert plays[0] == plays[1]


def test_an_own_rate_has_a_bound_only_where_the_exploration_suffices():
    Y = box_losses(4)
    slow = Exp2(np.eye(4), Y, 1000, learning_rate=1e-3, tuning="moments")
    assert slow.mixing == pytest.approx(8e-3) and slow.regret_bound is not None
    fast = Exp2(np.eye(4), Y, 1000, learning_rate=1.0, tuning="moments")
    assert fast.regret_bound is None and "needs exploration of 8" in fast.summary()
    loud = Exp2(np.eye(4), Y, 1000, learning_rate=1.0, noise_scale=1.0)
    assert loud.regret_bound is None and "the learning rate 1 is too large" in loud.summary()


def test_settings_survive_with_noise_and_simulated():
    weights = np.array([0.2, 0.3, 0.5])
    learner = Exp2(np.eye(3), box_losses(3), 50, exploration=weights, learning_rate=0.01, tuning="rigorous", seed=0)
    for made in (learner.with_noise(0.5, 20), learner.simulated(6, 1)):
        assert made.tuning == "rigorous" and made.learning_rate == 0.01
        assert np.allclose(made.exploration.weights, weights)
        assert made.decision_set is learner.decision_set
    assert learner.simulated(6, 1).act().shape == (6, 3)


# regret


def gap_losses(size, horizon, good, size_of_gap):
    """One coordinate is better than the others in every round, by coins."""
    rng = np.random.default_rng(9)
    mean = np.full(size, size_of_gap / 2)
    mean[good] = -size_of_gap / 2
    return np.where(rng.random((horizon, size)) < (1 + mean) / 2, 1.0, -1.0)


REGRET = {
    "two arms": (lambda T: Exp2(np.eye(2), box_losses(2), T), 3000, lambda T: gap_losses(2, T, 1, 0.4)),
    "arms with noise": (
        lambda T: Exp2(np.eye(3), box_losses(3), T, noise_scale=1.0),
        3000,
        lambda T: gap_losses(3, T, 0, 0.5),
    ),
    "cube": (
        lambda T: Exp2(ds.cube(2), ball_losses(2, 1), T),
        1000,
        lambda T: 0.5 * gap_losses(2, T, 0, 1.0),
    ),
    "2-sets": (
        lambda T: Exp2(ActionSet(ds.capped_simplex(3, 2), KSets(3, 2)), box_losses(3, -0.5, 0.5), T),
        1000,
        lambda T: 0.5 * gap_losses(3, T, 2, 1.0),
    ),
    "points": (
        lambda T: Exp2(np.array([[1.0, 0], [0, 1], [-0.5, -0.5]]), ball_losses(2, 2), T),
        1500,
        lambda T: gap_losses(2, T, 1, 0.8) / math.sqrt(2),
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", REGRET)
def test_mean_regret_is_below_the_proved_bound(name):
    make, horizon, losses = REGRET[name]
    learner, array = make(horizon), losses(horizon)
    bound = learner.regret_bound.total
    assert bound <= 0.5 * horizon * learner.sizes.variation  # otherwise the comparison says nothing
    assert keeps_its_bound(learner, array, bound)


def test_a_rate_ten_times_too_high_pays_more_than_the_bound():
    """100 runs, 6 standard errors: a false alarm is less likely than 1e-8."""
    X, Y, T = ds.simplex(2), box_losses(2), 2000
    right = Exp2(X, Y, T, noise_scale=2.0)
    fast = Exp2(X, Y, T, noise_scale=2.0, learning_rate=10 * right.learning_rate, exploration=right.exploration)
    losses = np.tile([-1.0, 1.0], (T, 1))
    assert breaks_the_bound(right, fast, losses)


# privacy


def test_the_reduction_runs_secure_and_simulated():
    T, Y = 200, box_losses(10)
    secure = PrivateBandit(Exp2(np.eye(10), Y, T), epsilon=1.0)
    for _ in range(T):
        secure.update(float(secure.act()[0]))
    assert secure.rounds == T and secure.certificate.epsilon == pytest.approx(1.0)
    simulation = simulate(PrivateBandit(Exp2(np.eye(10), Y, T), epsilon=1.0), gap_losses(10, T, 0, 0.5), replicas=5)
    assert simulation.regret.shape[0] == 5 and np.isfinite(simulation.regret).all()
    assert simulation.bound is not None


def test_the_reduction_runs_on_matrices_and_families():
    for X in (ds.birkhoff(3), ds.capped_simplex(14, 4), ds.cube(3)):
        bandit = PrivateBandit(Exp2(X, box_losses(X.shape), 30), epsilon=1.0, seed=0)
        for _ in range(30):
            bandit.update(float(bandit.act().sum() / 20))


# the figures of the theory


def worst_gap(learner, batch, seeds=24):
    """The mean regret on arms of which one is better by c sqrt(N V/T), V with the noise; the largest over c."""
    T, lam = learner.horizon, 2 / batch
    N = learner.decision_set.size
    rounds = math.ceil(T / batch)
    gaps = np.repeat(np.array([0.5, 1, 2, 4, 8]) * math.sqrt(N * 9 / T), seeds)
    playing = learner.with_noise(lam, rounds).simulated(len(gaps), 1)
    rng, regret = np.random.default_rng(5), np.zeros(len(gaps))
    for t in range(rounds):
        held = min(batch, T - t * batch)
        missed = gaps * (1 - playing.act()[:, 0])
        regret += held * missed
        playing.update(missed * held / batch + rng.laplace(0, lam, len(gaps)))
    return regret.reshape(5, -1).mean(axis=1).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tuning", "batch", "figure"), [("rigorous", 1, 6235), ("moments", 1, 3281), ("moments", 3, 3023)]
)
def test_worst_gap_of_ten_arms_is_that_of_the_theory(tuning, batch, figure):
    measured = worst_gap(Exp2(np.eye(10), box_losses(10), 2**14, tuning=tuning), batch)
    assert measured == pytest.approx(figure, rel=0.15)


@pytest.mark.slow
def test_private_cube_costs_at_most_015_per_round_with_a_proof_below_025():
    """Doing nothing costs 0.5 per round on losses of which half of the mass is the same in every round."""
    n, T, lam = 10, 10**5, 2.0
    learner = Exp2(ds.cube(n), ball_losses(n, 1), T).with_noise(lam, T)
    assert learner.regret_bound.total <= 0.25 * T
    playing, rng = learner.simulated(16, 0), np.random.default_rng(1)
    loss = np.full(n, 0.5 / n)
    regret = np.zeros(16)
    for _ in range(T):
        values = playing.act() @ loss
        regret += values + 0.5
        playing.update(values + rng.laplace(0, lam, 16))
    assert regret.mean() <= 0.15 * T
