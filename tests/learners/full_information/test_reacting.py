"""FTRL against losses that react, and the choice among learners with full information."""

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import FTRL, DecisionSet, LazyWeights, private_learner


@pytest.mark.parametrize("options", [{}, {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 2.0}])
@pytest.mark.parametrize(
    ("X", "Y", "regularizer"),
    [(ds.norm_ball(3, 2), ball_losses(3), "euclidean"), (ds.simplex(5), box_losses(5, 0.0, 1.0), "entropy")],
    ids=["ball", "simplex"],
)
def test_losses_that_punish_the_last_action_pay_no_more_than_the_bound(X, Y, regularizer, options):
    """The mean of 20 runs against an adversary that takes, of two losses, the worse one at the action."""
    T, n = 600, 20
    learner = FTRL(X, Y, T, regularizer=regularizer, tune_for="reacting", seed=0, replicas=n, **options)
    rng, total, incurred = np.random.default_rng(1), np.zeros((n, X.size)), np.zeros(n)
    for _ in range(T):
        action = learner.act()
        pair = np.stack([Y.clip(rng.uniform(-1, 1, (n, X.size))) for _ in range(2)])
        values = np.vecdot(pair, action)
        loss = np.where((values[0] > values[1])[:, None], pair[0], pair[1])
        incurred += values.max(axis=0)
        total += loss
        learner.update(loss)
    regret = incurred + np.array([X.support(-one) for one in total])
    assert regret.mean() + 5 * regret.std() / np.sqrt(n) <= learner.reacting_bound.proved


def test_the_bound_is_its_formula_and_its_own_rate_makes_it_least():
    X, Y, T = ds.norm_ball(4, 2), ball_losses(4), 10**4
    learner = FTRL(X, Y, T, 1.0, 1e-6, regularizer="euclidean", tune_for="reacting")
    eta, zeta = learner.learning_rate, 2 * learner.noise.deviation
    rounding = T * learner._sums.rounding * learner.sizes.one_norm_diameter
    expected = 0.5 / eta + eta * T * (0.5 + zeta) + rounding
    assert learner.reacting_bound.proved == pytest.approx(expected, rel=1e-6)
    oblivious = FTRL(X, Y, T, 1.0, 1e-6, regularizer="euclidean")
    assert learner.reacting_bound.proved < oblivious.reacting_bound.proved
    for factor in (0.8, 1.25):
        other = FTRL(X, Y, T, 1.0, 1e-6, regularizer="euclidean", learning_rate=eta * factor)
        assert learner.reacting_bound.proved < other.reacting_bound.proved
    assert "react" in learner.summary()


@pytest.mark.parametrize("privacy", [(), (1.0, 1e-6)])
def test_the_rate_for_losses_that_react_is_its_formula_for_losses_of_any_size(privacy):
    """sqrt((R^2/2)/(T (G^2/2 + G E|Z|))) for entries up to 1.5, of which the length is up to G = 3."""
    X, Y, T = ds.norm_ball(4, 2), box_losses(4, -1.5, 1.5), 10**4
    learner = FTRL(X, Y, T, *privacy, regularizer="euclidean", tune_for="reacting")
    zeta = 2 * learner.noise.deviation if privacy else 0.0
    assert learner.learning_rate == pytest.approx(np.sqrt(0.5 / (T * (4.5 + 3 * zeta))), rel=1e-6)


@pytest.mark.slow
def test_logistic_regression_over_a_constrained_set_pays_no_more_than_the_bound():
    """Gradients at the actions, against the best fixed point of the functions themselves."""
    x = cp.Variable(3)
    X = DecisionSet(x, [cp.norm2(x) <= 2, x[0] >= -0.5])
    Y, T, n = ball_losses(3), 800, 10
    rng = np.random.default_rng(0)
    features = rng.standard_normal((T, 3))
    features /= np.maximum(1, np.linalg.norm(features, axis=1, keepdims=True))
    labels = np.where(features @ np.array([1.0, -1.0, 0.5]) + 0.1 * rng.standard_normal(T) > 0, 1.0, -1.0)
    learner = FTRL(X, Y, T, 3.0, 1e-6, regularizer="euclidean", tune_for="reacting", seed=0, replicas=n)
    paid = np.zeros(n)
    for row, label in zip(features, labels, strict=True):
        margin = label * (learner.act() @ row)
        paid += np.log1p(np.exp(-margin))
        learner.update(-label * row * (1 / (1 + np.exp(margin)))[:, None])
    cp.Problem(cp.Minimize(cp.sum(cp.logistic(-cp.multiply(labels, features @ x)))), X.constraints).solve()
    best = float(np.log1p(np.exp(-labels * (features @ x.value))).sum())
    regret = paid - best
    assert regret.mean() + 5 * regret.std() / np.sqrt(n) <= learner.reacting_bound.proved


def test_regularisers_without_one_norm_state_nothing():
    X, Y = ds.simplex(4), box_losses(4)
    assert FTRL(X, Y, 100, regularizer="barrier").reacting_bound is None
    assert FTRL(X, Y, None, 1.0, regularizer="euclidean").reacting_bound is None
    with pytest.raises(ValueError, match="not known to be strongly convex"):
        FTRL(X, Y, 100, regularizer="barrier", tune_for="reacting")
    with pytest.raises(ValueError, match="tune_for must be"):
        FTRL(X, Y, 100, tune_for="everything")


def test_the_choice_has_the_smallest_bound_and_shows_the_others():
    Y = box_losses(3, 0.0, 1.0)
    small = private_learner(ds.simplex(3), Y, 500, 1.0)
    assert isinstance(small, FTRL) and small.certificate.secure
    assert any("LazyWeights" in rival for rival in small.rivals) and small.rivals[0].startswith("FTRL")
    many = private_learner(ds.simplex(300), box_losses(300, 0.0, 1.0), 2**14, 1.0)
    assert isinstance(many, LazyWeights) and "FTRL" in many.summary()
    ball = private_learner(ds.norm_ball(3, 2), ball_losses(3), 100, 1.0, 1e-6, seed=0)
    assert any("LazyWeights: not here" in rival for rival in ball.rivals)
    with pytest.raises(TypeError, match="has no argument counter"):
        private_learner(ds.simplex(3), Y, 10, 1.0, counter="tree")
