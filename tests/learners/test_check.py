"""`check_learner` passes every learner of the package and a small one of a user, and names what is broken in others."""

import cvxpy as cp
import pytest
from broken_learners import BROKEN, Follower, Modest, N, X, Y, ftrl
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import (
    FTPL,
    FTRL,
    DecisionSet,
    DpcvxError,
    Exp2,
    LearnerCheckError,
    LogBarrierBandit,
    PrivateBandit,
    SCRiBLe,
    check_learner,
    private_bandit,
)
from dpcvx.learners.check import PROPERTIES
from dpcvx.learners.check.interruption import Steps, Tripwire
from dpcvx.studies.baselines import ExploredGradients, PerStepNoise

CUBE, CROSS = ds.cube(3), ball_losses(3, 1)
BALL, ROUND = ds.norm_ball(3, 2), ball_losses(3)
MATRICES, ENTRIES = ds.spectrahedron(3), box_losses((3, 3))
FLOWS, EDGES = ds.birkhoff(3), box_losses((3, 3), 0, 1)


def polytope():
    x = cp.Variable(N, nonneg=True, name="x")
    return DecisionSet(x, [cp.sum(x) == 1, x[0] <= 0.4])


POLYTOPE = polytope()


LEARNERS = {
    "a user's own": Follower,
    "FTRL": lambda seed: FTRL(X, Y, 16, epsilon=1.0, seed=seed),
    "FTRL, Gaussian": lambda seed: FTRL(BALL, ROUND, 20, 1.0, 1e-6, seed=seed),
    "FTRL, tree": lambda seed: FTRL(CUBE, CROSS, 20, 1.0, counter="tree", seed=seed),
    "FTRL without privacy": lambda seed: FTRL(X, Y, 16, seed=seed),
    "FTRL without a horizon": lambda seed: FTRL(X, Y, None, epsilon=1.0, seed=seed),
    "FTRL without either": lambda seed: FTRL(X, Y, None, seed=seed),
    "FTRL with the barrier": lambda seed: FTRL(POLYTOPE, Y, 16, epsilon=1.0, regularizer="barrier", seed=seed),
    "FTRL with losses that raise": lambda seed: FTRL(X, Y, 16, epsilon=1.0, on_violation="raise", seed=seed),
    "FTRL on matrices": lambda seed: FTRL(MATRICES, ENTRIES, 16, 1.0, regularizer="euclidean", seed=seed),
    "FTRL for one round": lambda seed: FTRL(X, Y, 1, epsilon=1.0, seed=seed),
    "FTPL": lambda seed: FTPL(X, Y, 16, 1.0, 1e-6, seed=seed),
    "FTPL, Laplace": lambda seed: FTPL(FLOWS, EDGES, None, 1.0, seed=seed),
    "FTPL without privacy": lambda seed: FTPL(CUBE, CROSS, 16, seed=seed),
    "SCRiBLe": lambda seed: SCRiBLe(BALL, ROUND, 50, seed=seed),
    "SCRiBLe on vertices": lambda seed: SCRiBLe(CUBE, CROSS, 14, play="vertices", seed=seed),
    "SCRiBLe on axes": lambda seed: SCRiBLe(MATRICES, ENTRIES, 20, sampling="eigen", baseline=True, seed=seed),
    "Exp2 on arms": lambda seed: Exp2(X, Y, 50, seed=seed),
    "Exp2 on a cube": lambda seed: Exp2(CUBE, CROSS, 50, seed=seed),
    "Exp2 on points": lambda seed: Exp2(POLYTOPE, Y, 50, seed=seed),
    "log barrier": lambda seed: LogBarrierBandit(X, Y, 50, seed=seed),
    "private SCRiBLe": lambda seed: PrivateBandit(SCRiBLe(BALL, ROUND, 50, seed=seed), 1.0, seed=seed),
    "private Exp2": lambda seed: PrivateBandit(Exp2(POLYTOPE, Y, 50, seed=seed), 1.0, batch=1, seed=seed),
    "private log barrier": lambda seed: PrivateBandit(LogBarrierBandit(X, Y, 50, seed=seed), 9.0, batch=2, seed=seed),
    "the choice": lambda seed: private_bandit(X, Y, 50, 1.0, seed=seed),
    "explored gradients": lambda seed: ExploredGradients(BALL, ROUND, 50, seed=seed),
    "per-step noise": lambda seed: PerStepNoise(X, Y, 50, 1.0, seed=seed),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_holds_what_it_can_be_asked(name):
    answers = check_learner(LEARNERS[name])
    assert list(answers) == list(PROPERTIES)
    skipped = {one for one, answer in answers.items() if answer != "holds"}
    bandit = {"certificate", "copies"}  # without privacy
    allowed = {
        "a user's own": bandit | {"replicas", "checkpoint", "summary"},
        **{one: {"copies"} for one in ("FTRL without privacy", "FTRL without either", "FTPL without privacy")},
    }
    private = name.startswith(("FTRL", "FTPL", "private", "the choice", "per-step"))
    assert skipped == allowed.get(name, set() if private else bandit)


def test_a_long_horizon_is_said_to_be_too_long():
    assert "too long" in check_learner(lambda seed: FTRL(X, Y, 10**4, seed=seed))["horizon"]


def test_a_call_is_cut_at_the_step_that_is_named():
    """Three lines and a return: what stands before the step is done, and nothing after it; from step 4 on all is."""

    class Walker:
        def __init__(self):
            self.done = []

        def walk(self):
            self.done.append(1)
            self.done.append(2)
            return len(self.done)

    for step in (0, 1, 2, 3, 4, None):
        walker = Walker()
        wire = Tripwire(walker, step)
        whole = step in (4, None)
        assert wire.run(walker.walk) == (2 if whole else None) and wire.cut != whole
        assert walker.done == [1, 2][:step] and wire.seen == (4 if whole else step)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 30, 48])
def test_interruptions_go_through_all_steps_beginning_with_the_last(count):
    steps = Steps()
    taken = [steps.next(count) for _ in range(count)]
    assert taken[0] == count - 1 and sorted(taken) == list(range(count))
    assert steps.are_done == (count == 48) and Steps().next(0) == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("make", "failed", "words"), BROKEN, ids=lambda one: getattr(one, "__name__", None))
def test_what_is_broken_is_named(make, failed, words):
    with pytest.raises(LearnerCheckError, match=words) as caught:
        check_learner(make)
    assert caught.value.failed == failed and f"fails the check of {failed}" in str(caught.value)
    assert isinstance(caught.value, DpcvxError) and isinstance(caught.value, AssertionError)


def test_a_learner_that_understates_its_privacy_is_not_wrong():
    assert check_learner(ftrl(Modest))["copies"] == "not asked: it is not secure"
