"""Losses of all kinds, extremes, replicas and settings of the full-information learners; `test_check` has the rest."""

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import FTPL, FTRL, DecisionSet, HorizonError, LossOutOfSetError, LossSet, ProtocolError, UnsupportedConeError
from dpcvx.regularizers import Entropy


def experts(n=4, low=-1.0, high=1.0):
    return ds.simplex(n), box_losses(n, low, high)


LEARNERS = [
    pytest.param(lambda X, Y, T, **o: FTRL(X, Y, T, **o), id="FTRL"),
    pytest.param(lambda X, Y, T, **o: FTPL(X, Y, T, **o), id="FTPL"),
]
MODES = [
    pytest.param({}, id="no privacy"),
    pytest.param({"epsilon": 1.0}, id="secure"),
    pytest.param({"epsilon": 1.0, "seed": 1}, id="simulation"),
    pytest.param({"epsilon": 1.0, "delta": 1e-6}, id="secure Gaussian"),
    pytest.param({"epsilon": 1.0, "delta": 1e-6, "seed": 1}, id="simulated Gaussian"),
]


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("mode", MODES)
def test_calls_out_of_turn_say_which_call_is_due(make, mode):
    learner = make(*experts(), 5, **mode)
    with pytest.raises(ProtocolError, match="call act first"):
        learner.update(np.zeros(4))
    learner.act()
    with pytest.raises(ProtocolError, match="twice"):
        learner.act()
    learner.update(np.ones(4))
    assert learner.rounds == 1


@pytest.mark.parametrize("make", LEARNERS)
def test_a_complex_loss_is_refused(make):
    learner = make(*experts(), 8, epsilon=1.0, seed=7)
    learner.act()
    with pytest.raises((ValueError, TypeError)):
        learner.update(np.zeros(4) + 1j)
    assert learner.rounds == 0


@pytest.mark.parametrize("mode", MODES)
def test_losses_outside_the_set_are_clipped_or_raise(mode):
    X, Y = experts()
    learner = FTRL(X, Y, 4, on_violation="raise", **mode)
    learner.act()
    with pytest.raises(LossOutOfSetError):
        learner.update(np.array([1e300, 0, 0, 0]))
    learner.update(np.array([1.0, 0, 0, 0]))
    clipping, twin = (FTRL(X, Y, 4, **mode) for _ in range(2))
    for outside, loss in ((clipping, [1e300, 0, 0, 0]), (twin, [1.0, 0, 0, 0])):
        outside.act()
        outside.update(np.array(loss))
    assert clipping.rounds == 1
    if "seed" in mode or "epsilon" not in mode:  # the same noise, or none
        assert np.array_equal(clipping.act(), twin.act())


def test_clipping_shows_in_no_report():
    X, Y = experts()
    inside, outside = (FTRL(X, Y, 4, epsilon=1.0, seed=0) for _ in range(2))
    for learner, loss in ((inside, np.ones(4)), (outside, np.full(4, 1e12))):
        learner.act()
        learner.update(loss)
    assert inside.summary() == outside.summary() and repr(inside) == repr(outside)
    assert inside.certificate == outside.certificate


@pytest.mark.filterwarnings("ignore::dpcvx.errors.WeakPrivacyWarning")
@pytest.mark.parametrize("make", LEARNERS)
def test_one_round_and_extreme_epsilon(make):
    X, Y = experts()
    for options in ({"epsilon": 1e-6}, {"epsilon": 100.0}, {"epsilon": 1e-6, "delta": 1e-9}, {}):
        for seed in ({}, {"seed": 3}):
            learner = make(X, Y, 1, **options, **seed)
            assert X.contains(learner.act())
            learner.update(np.ones(4))
            with pytest.raises(HorizonError):
                learner.act()
            longer = make(X, Y, 40, **options, **seed)
            for _ in range(40):
                assert X.contains(longer.act())
                longer.update(np.array([1.0, -1, 1, 1]))


@pytest.mark.parametrize("make", LEARNERS)
def test_replicas_run_on_a_leading_axis_and_differ(make):
    X, Y = experts()
    learner = make(X, Y, 30, epsilon=1.0, seed=0, replicas=6)
    for _ in range(30):
        actions = learner.act()
        assert actions.shape == (6, 4)
        learner.update(np.array([1.0, -1, 1, 1]))
    assert len(np.unique(np.round(actions, 12), axis=0)) > 1
    each = make(X, Y, 3, epsilon=1.0, seed=0, replicas=2)
    each.act()
    each.update(np.array([[1.0, 0, 0, 0], [0, 0, 0, 1.0]]))  # one loss for each replica


@pytest.mark.slow
def test_a_replica_alone_has_the_law_of_a_single_run():
    """Mean action of 400 replicas against 400 single runs: within six standard errors, false alarm below 1e-6."""
    X, Y = experts()
    loss = np.array([1.0, -1, 0.3, 0])

    def last(learner):
        for _ in range(6):
            action = learner.act()
            learner.update(loss)
        return action

    many = last(FTRL(X, Y, 8, epsilon=5.0, seed=1, replicas=400))
    single = np.array([last(FTRL(X, Y, 8, epsilon=5.0, seed=1000 + i)) for i in range(400)])
    error = np.sqrt(many.var(axis=0) / 400 + single.var(axis=0) / 400)
    assert np.all(np.abs(many.mean(axis=0) - single.mean(axis=0)) <= 6 * error)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"replicas": 3}, "seed"),
        ({"delta": 1e-6}, "epsilon"),
        ({"counter": "tree"}, "without epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": 1.0, "delta": None}, "delta"),
        ({"epsilon": 1.0, "counter": ["tree"]}, "counter"),
        ({"regularizer": Entropy}, "class"),
        ({"epsilon": 0.0}, "positive"),
        ({"epsilon": 1.0, "delta": 1.5}, "delta"),
        ({"epsilon": 1.0, "counter": "abacus"}, "counter"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"learning_rate": 1.01e100}, r"between 1e-100 and 1e\+100, not 1\.01e\+100"),
        ({"learning_rate": 0.99e-100}, "learning_rate must be a number between"),
        ({"seed": 1, "replicas": 0}, "replicas"),
        ({"seed": 1, "replicas": 1.5}, "replicas"),
        ({"regularizer": "lasso"}, "lasso"),
        ({"regularizer": object()}, "argmin"),
    ],
)
def test_wrong_settings_are_named(options, word):
    with pytest.raises(ValueError, match=word):
        FTRL(*experts(), 10, **options)


def test_a_misspelt_argument_is_named():
    for make in (FTRL, FTPL):
        with pytest.raises(TypeError, match="has no argument eps"):
            make(*experts(), 10, eps=1.0)


def test_a_set_that_does_not_admit_the_entropy_says_so():
    with pytest.raises(UnsupportedConeError, match="nonnegative"):
        FTRL(ds.norm_ball(3, 2), ball_losses(3), 10, regularizer="entropy")


def test_matrices_keep_their_shape():
    X = ds.spectrahedron(3)
    Y = box_losses((3, 3))
    for make in (FTRL, FTPL):
        learner = make(X, Y, 8, epsilon=10.0, seed=0)
        for _ in range(8):
            action = learner.act()
            assert action.shape == (3, 3) and X.contains(action)
            learner.update(np.diag([1.0, 0, -1]))


def test_a_set_of_one_point_and_a_single_loss():
    x = cp.Variable(2, name="x")
    point = DecisionSet(x, [x == np.array([1.0, 2.0])])
    Y = box_losses(2)
    for make in (FTRL, FTPL):
        learner = make(point, Y, 4, epsilon=1.0, seed=0)
        assert np.allclose(learner.act(), [1, 2]) and learner.regret_bound.total == pytest.approx(0.0, abs=1e-9)
    known = LossSet(x, [x == 0])
    learner = FTRL(ds.simplex(2), known, 4, epsilon=1.0, seed=0)
    assert learner.regret_bound.total == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("make", LEARNERS)
def test_sets_of_the_wrong_kind_are_named(make):
    X, Y = experts()
    with pytest.raises(ValueError, match="decision_set must be a DecisionSet"):
        make(Y, X, 10)
    with pytest.raises(ValueError, match="loss_set must be a LossSet"):
        make(X, X, 10)
    with pytest.raises(ValueError, match="horizon"):
        make(X, Y, 2.5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rate", [1e-100, 1e10, 1e100])
@pytest.mark.parametrize("regularizer", ["euclidean", "entropy", "barrier"])
def test_extreme_learning_rates_stay_in_the_set(rate, regularizer):
    x = cp.Variable(5, nonneg=True, name="x")
    uneven = DecisionSet(x, [cp.sum(x) == 1, x[0] >= 0.9])
    for X in (ds.simplex(5), ds.capped_simplex(5, 2), uneven, ds.box(np.zeros(5), np.ones(5))):
        learner = FTRL(X, box_losses(5), 6, epsilon=0.1, seed=1, regularizer=regularizer, learning_rate=rate)
        for _ in range(6):
            assert X.contains(learner.act())
            learner.update(np.array([1.0, -1, 0.5, 0, 0]))


def test_the_paper_calibration_certifies_its_worst_epoch():
    learner = FTRL(*experts(), None, epsilon=1.0, delta=1e-6, calibration="paper", seed=0)
    first = learner.certificate.epsilon
    for _ in range(200):
        learner.act()
        learner.update(np.zeros(4))
    assert learner.certificate.epsilon >= first
