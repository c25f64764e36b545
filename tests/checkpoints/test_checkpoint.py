"""Saved and loaded learners: resumed equals uninterrupted, also in another process, and nobody else reads them."""

import copy
import os
import pickle
import stat
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses
from playing import play

import decision_sets as ds
import dpcvx
from dpcvx import FTPL, FTRL, DecisionSet


def polytope():
    x = cp.Variable(5, nonneg=True, name="x")
    return DecisionSet(x, [cp.sum(x) == 1, x[0] <= 0.4, x[1] + x[2] <= 0.7])


SETS = {"simplex": lambda: ds.simplex(5), "polytope": polytope, "ball": lambda: ds.norm_ball(5, 2)}
STREAM = np.random.default_rng(0).uniform(-1, 1, (40, 5))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("make", [FTRL, FTPL])
@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 1.0},
        {"epsilon": 1.0, "counter": "tree"},
        {"epsilon": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "replicas": 3},
        {},
    ],
)
@pytest.mark.parametrize("horizon", [40, None])
def test_a_resumed_learner_equals_an_uninterrupted_one(tmp_path, name, make, options, horizon):
    X, Y = SETS[name](), box_losses(5)
    whole = play(make(X, Y, horizon, seed=3, **options), STREAM)
    learner = make(X, Y, horizon, seed=3, **options)
    parts = []
    for start in range(0, 40, 13):
        parts.append(play(learner, STREAM[start : start + 13]))
        dpcvx.save(learner, tmp_path / "state")
        learner = dpcvx.load(tmp_path / "state")
    assert np.array_equal(np.concatenate(parts), whole)
    assert learner.certificate.rounds == 40


def test_the_barrier_resumes_too(tmp_path):
    X, Y = ds.cube(5), box_losses(5)
    whole = play(FTRL(X, Y, 40, epsilon=1.0, seed=3, regularizer="barrier", replicas=2), STREAM)
    learner = FTRL(X, Y, 40, epsilon=1.0, seed=3, regularizer="barrier", replicas=2)
    first = play(learner, STREAM[:20])
    dpcvx.save(learner, tmp_path / "state")
    assert np.array_equal(np.concatenate([first, play(dpcvx.load(tmp_path / "state"), STREAM[20:])]), whole)


def test_a_checkpoint_between_act_and_update_keeps_the_turn(tmp_path):
    learner = FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0, seed=1)
    learner.act()
    dpcvx.save(learner, tmp_path / "state")
    with pytest.raises(dpcvx.ProtocolError):
        dpcvx.load(tmp_path / "state").act()


def test_files_are_for_their_owner_and_leave_nothing_behind(tmp_path):
    old = os.umask(0)
    try:
        dpcvx.save(FTRL(ds.simplex(5), box_losses(5), 10, epsilon=1.0), tmp_path / "state")
    finally:
        os.umask(old)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state", "state.generation"]
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in tmp_path.iterdir())


@pytest.mark.parametrize("options", [{}, {"delta": 1e-6}])
def test_a_secure_learner_resumes_with_the_release_it_had(tmp_path, options):
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0, **options)
    play(learner, STREAM[:10])
    dpcvx.save(learner, tmp_path / "state")
    resumed = dpcvx.load(tmp_path / "state")
    assert np.array_equal(resumed.act(), learner.act())  # the same release, not a second one
    resumed.update(STREAM[10])
    play(resumed, STREAM[11:])
    assert resumed.certificate.epsilon == 1.0 and resumed.rounds == 40


def test_secure_learners_are_not_copied_and_simulations_are(tmp_path):
    secure = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(copy.Error):
            attempt(secure)
    simulated = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0, seed=1)
    twin = copy.copy(simulated)
    assert np.array_equal(play(simulated, STREAM[:5]), play(twin, STREAM[:5]))


def test_an_interruption_after_the_loss_was_taken_does_not_take_it_twice(monkeypatch):
    """Whose turn it is follows from the sums: a retry after an interruption at the end is refused."""
    learner = FTRL(ds.simplex(5), box_losses(5), 40, epsilon=1.0, seed=0)
    learner.act()
    original = type(learner)._learn

    def interrupted(self, feedback):
        original(self, feedback)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(learner), "_learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            learner.update(STREAM[0])
    with pytest.raises(dpcvx.ProtocolError, match="call act first"):
        learner.update(STREAM[0])
    assert learner.rounds == 1 and learner.decision_set.contains(learner.act())


def test_an_interruption_while_an_epoch_opens_changes_nothing(monkeypatch):
    plain, disturbed = (FTRL(ds.simplex(5), box_losses(5), None, epsilon=1.0, seed=0) for _ in range(2))
    play(plain, STREAM[:16])
    play(disturbed, STREAM[:16])
    with monkeypatch.context() as patch:
        patch.setattr(FTRL, "_epoch_bound", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            disturbed.act()
    assert np.array_equal(play(plain, STREAM[16:]), play(disturbed, STREAM[16:]))
    assert plain.regret_bound == disturbed.regret_bound and plain.learning_rate == disturbed.learning_rate


def test_a_fork_is_refused_at_the_end_of_an_epoch_too(monkeypatch):
    learner = FTRL(ds.simplex(5), box_losses(5), None, epsilon=1.0)
    play(learner, STREAM[:15])
    learner.act()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="fork"):
        learner.update(STREAM[15])
    with pytest.raises(RuntimeError, match="fork"):
        learner._sums.prefix  # noqa: B018


def test_a_secure_checkpoint_goes_on_in_another_process(tmp_path):
    learner = FTRL(ds.simplex(5), box_losses(5), None, epsilon=1.0)
    play(learner, STREAM[:10])
    dpcvx.save(learner, tmp_path / "state")
    code = (
        "import sys, numpy as np, dpcvx\n"
        "learner = dpcvx.load(sys.argv[1])\n"
        "for _ in range(10):\n    learner.act()\n    learner.update(np.zeros(5))\n"
        "print(learner.rounds, learner.certificate.epsilon)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "state")]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.stdout == "20 1.0\n", answer.stderr
