"""The reduction: any bandit learner becomes private; batches, refusals, certificates, checkpoints, and the choice."""

import copy
import os
import pickle
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
import dpcvx
from dpcvx import CheckpointError, HorizonError, LossSet, OracleError, ProtocolError, simulate
from dpcvx.experiments.losses import GENERATORS
from dpcvx.learners.bandits import BANDITS
from dpcvx.learners.bandits.choice import private_bandit
from dpcvx.learners.bandits.private_bandit import PrivateBandit
from dpcvx.learners.bandits.scrible import SCRiBLe
from dpcvx.privacy.noise import SecureSource


class EpsilonGreedy:
    """A learner as a user writes it: it knows nothing of sets, horizons or privacy."""

    def __init__(self, arms, share=0.1, seed=0):
        self.sums, self.counts, self.share = np.zeros(arms), np.ones(arms), share
        self.rng = np.random.default_rng(seed)

    def act(self):
        explore = self.rng.random() < self.share
        self.arm = self.rng.integers(len(self.sums)) if explore else int(np.argmin(self.sums / self.counts))
        return np.eye(len(self.sums))[self.arm]

    def update(self, value):
        self.sums[self.arm] += value
        self.counts[self.arm] += 1


class Spy:
    """Plays the center and remembers what it is told."""

    def __init__(self, X, action=None):
        self.decision_set, self.action, self.seen = X, X.center if action is None else action, []

    def act(self):
        return self.action

    def update(self, value):
        self.seen.append(value)


def scrible(T=40, n=4, **options):
    return SCRiBLe(ds.simplex(n), box_losses(n), T, **options)


def play(learner, values):
    actions = []
    for value in values:
        actions.append(learner.act())
        learner.update(value)
    return np.array(actions)


VALUES = np.random.default_rng(0).uniform(-1, 1, 40)


# any learner


@pytest.mark.parametrize("seed", [None, 3])
def test_a_learner_of_ones_own_becomes_private_by_wrapping(seed):
    X, Y, T = ds.simplex(3), box_losses(3, 0, 1), 2000
    private = PrivateBandit(EpsilonGreedy(3), 2.0, decision_set=X, loss_set=Y, horizon=T, seed=seed)
    means, rng = np.array([0.9, 0.1, 0.8]), np.random.default_rng(1)
    paid = 0.0
    for _ in range(T):
        value = float(private.act() @ (rng.random(3) < means))
        paid += value
        private.update(value)
    assert private.regret_bound is None and "no bound" in private.summary()
    certificate = private.certificate
    assert (certificate.epsilon, certificate.delta, certificate.secure) == (2.0, 0.0, seed is None)
    assert certificate.rounds == T and private.name == "private EpsilonGreedy"
    assert paid / T < 0.4  # it learns; an arm at random costs 0.6


def test_learners_that_play_outside_the_set_or_nonsense_are_refused():
    X, Y = ds.simplex(3), box_losses(3)
    for action in (np.array([0.5, 0.6, 0.2]), np.array([np.nan, 0.5, 0.5]), np.array([2.0, -1.0, 0.0])):
        with pytest.raises(OracleError, match="outside the simplex"):
            PrivateBandit(Spy(X, action), 1.0, loss_set=Y, horizon=5).act()
    for action in (np.ones(2), np.ones((1, 3)) / 3, 0.5):
        with pytest.raises(OracleError, match="shape"):
            PrivateBandit(Spy(X, action), 1.0, loss_set=Y, horizon=5).act()
    for action in ("left", [None] * 3, np.ones(3) / 3 + 0j):
        with pytest.raises(OracleError, match="must be an array of numbers"):
            PrivateBandit(Spy(X, action), 1.0, loss_set=Y, horizon=5).act()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"epsilon": 0.0}, "epsilon must be a positive number"),
        ({"epsilon": np.inf}, "epsilon"),
        ({"noise": "gamma"}, "noise must be"),
        ({"noise": "vector"}, "only in simulation"),
        ({"batch": 0}, "batch"),
        ({"batch": 1.5}, "batch"),
        ({"batch": "some"}, "batch"),
        ({"neighbours": "add"}, "neighbours"),
        ({"rounds_per_person": 0}, "rounds_per_person"),
        ({"horizon": 0}, "horizon"),
        ({"loss_set": ds.simplex(4)}, "loss_set must be a LossSet"),
        ({"decision_set": box_losses(4)}, "decision_set must be a DecisionSet"),
        ({"learner": EpsilonGreedy(4)}, "loss_set must be given"),
        ({"learner": scrible(replicas=3)}, "give a seed"),
        ({"learner": object()}, "act and update"),
    ],
)
def test_wrong_arguments_are_sentences(options, word):
    with pytest.raises(ValueError, match=word):
        PrivateBandit(**({"learner": scrible(), "epsilon": 1.0} | options))


@pytest.mark.parametrize("bad", [np.nan, -np.inf, "cheap", None, 1j, np.zeros(3)])
@pytest.mark.parametrize("batch", [1, 3])
def test_wrong_feedback_raises_and_changes_nothing(bad, batch):
    clean, disturbed = (PrivateBandit(scrible(seed=1), 1.0, batch=batch, seed=2) for _ in range(2))
    for value in VALUES[:10]:
        assert np.array_equal(clean.act(), disturbed.act())
        with pytest.raises(ValueError, match="feedback"):
            disturbed.update(bad)
        clean.update(value)
        disturbed.update(value)


# batches


@pytest.mark.filterwarnings("ignore::dpcvx.WeakPrivacyWarning")
@pytest.mark.parametrize(("batch", "horizon", "told"), [(1, 5, 4), (3, 9, 2), (3, 10, 3), (4, 3, 0), (10, 20, 1)])
def test_an_action_is_held_for_a_batch_and_its_clipped_mean_is_told_once(batch, horizon, told):
    """Nothing is released after the last round, nor of a batch that does not end."""
    X, Y = ds.cube(2), box_losses(2)
    spy = Spy(X, np.array([0.5, 0.5]))
    private = PrivateBandit(spy, 1e8, loss_set=Y, horizon=horizon, batch=batch)
    values = np.resize([0.25, 1e300, -0.5, -1e300, 7.0], horizon)
    for t, value in enumerate(values):
        assert len(spy.seen) == t // private.batch
        private.act()
        private.update(value)
    with pytest.raises(HorizonError):
        private.act()
    means = np.clip(values, -1, 1)[: told * private.batch].reshape(told, private.batch).mean(axis=1)
    assert all(isinstance(value, float) for value in spy.seen) and spy.seen == pytest.approx(list(means), abs=1e-5)


def test_noise_on_the_mean_shrinks_with_the_batch():
    """Mean absolute noise of 4,000 replicas within 12 % of the scale, 7.5 deviations."""
    X, Y = ds.cube(1), box_losses(1)
    for batch in (1, 4):
        spy = Spy(X, np.full((4000, 1), 0.5))
        spy.leading = (4000,)
        private = PrivateBandit(spy, 2.0, loss_set=Y, horizon=20, batch=batch, seed=0)
        for _ in range(batch):
            private.act()
            private.update(np.zeros(4000))
        assert np.abs(spy.seen[0]).mean() == pytest.approx(1.0 / 2.0 / batch, rel=0.12)


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.01])
def test_the_automatic_batch_has_the_smallest_uncapped_bound(epsilon):
    """theory: about sqrt(2) D/(M epsilon), and where every bound is above the largest regret."""
    learner = scrible(T=5000, n=6)
    auto = PrivateBandit(learner, epsilon, seed=0)
    assert auto.batch * epsilon / (2 * np.sqrt(2)) >= 0.2
    others = [PrivateBandit(learner, epsilon, seed=0, batch=B) for B in (1, 2, 3, 10, 30, 100, 1000)]
    assert auto.uncapped_bound <= 1.15 * min(other.uncapped_bound for other in others)
    assert auto.regret_bound.total == pytest.approx(min(auto.uncapped_bound, 5000 * auto.sizes.variation))
    assert auto.certificate.notes and not PrivateBandit(learner, epsilon, batch=1).certificate.notes


def test_the_bound_is_the_batch_times_that_of_the_learner_on_the_grid():
    X, Y, T, B, epsilon = ds.simplex(4), box_losses(4), 10**5, 3, 2.0
    private = PrivateBandit(SCRiBLe(X, Y, T), epsilon, batch=B)
    inner = SCRiBLe(X, Y, -(-T // B), noise_scale=2 / (B * epsilon))
    rounding = inner.rounding_cost(private.certificate.grid / 2)
    assert private.uncapped_bound == pytest.approx(B * (inner.uncapped_bound + rounding), rel=1e-5)
    bound = private.regret_bound
    assert bound.learning == pytest.approx(SCRiBLe(X, Y, T).uncapped_bound)
    assert bound.total == pytest.approx(private.uncapped_bound) and "batches of 3" in bound.theorem
    assert private.certificate.regret_bound["total"] == bound.total


@pytest.mark.parametrize("noise", ["scalar", pytest.param("vector", marks=pytest.mark.slow)])
def test_mean_regret_is_below_the_bound_where_it_says_something(noise):
    """30 replicas, fixed seeds, far below the bound: a false alarm is far less likely than 1e-6. Teeth: flipped."""
    X, Y, T = ds.cube(1), box_losses(1), 2048
    private = PrivateBandit(SCRiBLe(X, Y, T), 5.0, noise=noise, seed=0)
    bound = PrivateBandit(SCRiBLe(X, Y, T), 5.0).regret_bound.total
    assert bound <= T * 2 / 2  # half of the largest regret
    assert (private.regret_bound is None) == (noise == "vector")
    losses = GENERATORS["const"](X, Y, T, seed=1)
    assert simulate(private, losses, replicas=30, seed=1).final <= bound
    flipped = private.simulated(30, 1)
    incurred = np.zeros(30)
    for loss in losses.block(0, T):
        values = flipped.act() @ loss
        incurred += values
        flipped.update(-values)
    assert incurred.mean() + abs(losses.block(0, T).sum()) > bound


# extremes and certificates


@pytest.mark.filterwarnings("ignore::dpcvx.WeakPrivacyWarning")
@pytest.mark.parametrize("epsilon", [1e-6, 100.0])
@pytest.mark.parametrize("horizon", [1, 7])
@pytest.mark.parametrize("seed", [None, 1])
def test_one_round_and_extreme_epsilon(epsilon, horizon, seed):
    X, Y = ds.simplex(3), ball_losses(3)
    private = PrivateBandit(SCRiBLe(X, Y, horizon, seed=1), epsilon, seed=seed)
    for _ in range(horizon):
        assert X.contains(private.act())
        private.update(0.5)
    with pytest.raises(HorizonError):
        private.act()
    assert private.regret_bound.total <= horizon * private.sizes.variation * (1 + 1e-9)


def test_the_certificate_states_the_claim_and_the_scale():
    Y = box_losses(4, 0, 1)
    private = PrivateBandit(SCRiBLe(ds.simplex(4), Y, 100), 0.5, batch=2)
    certificate = private.certificate
    assert (certificate.epsilon, certificate.delta, certificate.secure) == (0.5, 0.0, True)
    assert certificate.releases_per_loss == 1 and "fixed in advance" in str(certificate)
    assert certificate.sensitivity == pytest.approx(1.0, rel=1e-5) and certificate.scale == pytest.approx(2.0, rel=1e-5)
    many = PrivateBandit(SCRiBLe(ds.simplex(4), Y, 100), 0.5, rounds_per_person=3).certificate
    assert many.scale == pytest.approx(6.0, rel=1e-5) and many.rounds_per_person == 3
    simulated = PrivateBandit(SCRiBLe(ds.simplex(4), Y, 100), 0.5, seed=0).certificate
    assert not simulated.secure and "not private" in str(simulated)


@pytest.mark.parametrize("epsilon", [1e-12, 3e-13])
@pytest.mark.filterwarnings("ignore::dpcvx.WeakPrivacyWarning")
def test_other_neighbours_move_a_coarse_grid_by_what_rounding_allows(epsilon):
    """The most units between two rounded values as far apart as the range, and between one and 0."""
    Y = box_losses(3, -0.7, 1.1)
    private = PrivateBandit(dpcvx.Exp2(np.eye(3), Y, 100), epsilon)
    grounds, places = private.certificate.grounds, np.linspace(0, 1, 10_001)
    for moved, found in ((1.8, grounds.replace), (1.1, grounds.zero_out)):
        units = moved / grounds.step
        assert units < 10_000 and found == (np.rint(places + units) - np.rint(places)).max()


def test_zero_out_costs_the_magnitude_and_keeps_zeros():
    """Losses in [2, 3]: replacing moves a value by 1, zeroing out by 3; a zero stays what it is."""
    X, Y = ds.simplex(2), box_losses(2, 2, 3)
    spy = Spy(X)
    replace = PrivateBandit(spy, 1.0, loss_set=Y, horizon=9, batch=1)
    zero = PrivateBandit(spy, 1.0, loss_set=Y, horizon=9, batch=1, neighbours="zero-out")
    assert replace.certificate.scale == pytest.approx(1, rel=1e-5)
    assert zero.certificate.scale == pytest.approx(3, rel=1e-5)
    for private, summed in ((replace, 2.0), (zero, 0.0)):
        private.act()
        feedback, interval = private._feedback, private._turn.interval
        assert feedback.clipped(0.0, interval) * feedback.grid.step == pytest.approx(summed, abs=1e-6)


def test_known_losses_are_told_without_noise(monkeypatch):
    monkeypatch.setattr(SecureSource, "draw", lambda *_: pytest.fail("noise was drawn"))
    loss = cp.Variable(2)
    known = LossSet(loss, [loss == np.array([0.5, 1.0])])
    spy = Spy(ds.simplex(2))
    play(PrivateBandit(spy, 1.0, loss_set=known, horizon=5, batch=2), [99.0, -99.0, 0.75, 0.75])
    assert spy.seen == pytest.approx([0.75, 0.75])


# state


class Interrupted(Spy):
    def update(self, value):
        super().update(value)
        raise KeyboardInterrupt


def test_an_interrupted_release_is_never_repeated():
    learner = Interrupted(ds.simplex(3))
    private = PrivateBandit(learner, 1.0, loss_set=box_losses(3), horizon=9, batch=1)
    private.act()
    with pytest.raises(KeyboardInterrupt):
        private.update(0.5)
    for attempt in (lambda: private.update(0.5), private.act):
        with pytest.raises(ProtocolError):
            attempt()
    assert len(learner.seen) == 1 and private.rounds == 0


def test_act_and_update_strictly_alternate():
    private = PrivateBandit(scrible(), 1.0, batch=2)
    with pytest.raises(ProtocolError, match="call act first"):
        private.update(0.0)
    for _ in range(4):
        private.act()
        with pytest.raises(ProtocolError, match="twice"):
            private.act()
        private.update(0.0)


def test_actions_that_are_written_to_change_nothing():
    clean, written = (PrivateBandit(scrible(seed=1), 1.0, batch=3, seed=2) for _ in range(2))
    for value in VALUES[:9]:
        a, b = clean.act(), written.act()
        assert np.array_equal(a, b)
        b[:] = 7.0
        clean.update(value)
        written.update(value)


def test_a_fork_is_refused(monkeypatch):
    private = PrivateBandit(scrible(), 1.0, batch=2)
    private.act()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ProtocolError, match="fork"):
        private.update(0.5)
    monkeypatch.undo()
    private.update(0.5)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ProtocolError, match="fork"):
        private.act()


def test_secure_bandits_are_not_copied_and_simulations_are():
    secure = PrivateBandit(scrible(), 1.0)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(copy.Error):
            attempt(secure)
    simulated = PrivateBandit(scrible(seed=1), 1.0, seed=2)
    twin = copy.copy(simulated)
    assert np.array_equal(play(simulated, VALUES), play(twin, VALUES))


# checkpoints


@pytest.mark.parametrize("options", [{}, {"replicas": 3}, {"play": "vertices"}])
@pytest.mark.parametrize("batch", [1, 4])
def test_a_resumed_simulation_equals_an_uninterrupted_one(tmp_path, options, batch):
    def make():
        return PrivateBandit(scrible(seed=1, **options), 1.0, batch=batch, seed=2)

    whole, learner, parts = play(make(), VALUES), make(), []
    for start in range(0, 40, 13):  # within batches too
        parts.append(play(learner, VALUES[start : start + 13]))
        dpcvx.save(learner, tmp_path / "state")
        learner = dpcvx.load(tmp_path / "state")
    assert np.array_equal(np.concatenate(parts), whole) and learner.rounds == 40


def test_a_secure_bandit_resumes_once(tmp_path):
    path = tmp_path / "state"
    learner = PrivateBandit(scrible(seed=1), 1.0, batch=3)
    play(learner, VALUES[:7])
    dpcvx.save(learner, path)
    resumed = dpcvx.load(path)
    assert np.array_equal(resumed.act(), learner.act())  # the same batch goes on
    resumed.update(0.5)
    resumed.act()  # an action that the checkpoint does not hold
    with pytest.raises(CheckpointError, match="generation"):
        dpcvx.load(path)
    learner.update(0.5)
    with pytest.raises(CheckpointError, match="another learner"):
        learner.act()
    resumed.update(0.5)
    dpcvx.save(resumed, path)
    again = dpcvx.load(path, allow_rollback=True)
    assert again.certificate.epsilon == 1.0 and again.rounds == 9


def test_a_rollback_is_certified(tmp_path):
    path = tmp_path / "state"
    learner = PrivateBandit(scrible(), 1.0, batch=1)
    dpcvx.save(learner, path)
    play(learner, VALUES[:3])
    assert dpcvx.load(path, allow_rollback=True).certificate.epsilon == 2.0


def test_a_secure_bandit_resumes_in_another_process(tmp_path):
    learner = PrivateBandit(scrible(seed=1), 1.0, batch=2)
    play(learner, VALUES[:3])
    dpcvx.save(learner, tmp_path / "state")
    code = (
        "import sys, dpcvx\n"
        "learner = dpcvx.load(sys.argv[1])\n"
        "while learner.rounds < 40:\n    learner.act(); learner.update(0.1)\n"
        "print(learner.certificate.epsilon, learner.rounds)"
    )
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "state"], capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["1.0", "40"], run.stderr


# simulate and the choice


def test_simulate_plays_private_bandits_with_replicas_and_own_learners_by_a_function():
    X, Y, T = ds.simplex(3), box_losses(3), 256
    losses = GENERATORS["const"](X, Y, T)
    private = PrivateBandit(SCRiBLe(X, Y, T), 10.0)
    result = simulate(private, losses, replicas=8, seed=0)
    assert result.regret.shape[0] == 8 and result.bound.total == private.regret_bound.total
    assert not result.certificate.secure
    assert np.array_equal(result.regret, simulate(private, losses, replicas=8, seed=0).regret)

    def make(seed):
        return PrivateBandit(EpsilonGreedy(3, seed=seed), 10.0, decision_set=X, loss_set=Y, horizon=T, seed=seed)

    assert simulate(make, losses, replicas=3, seed=0).regret.shape[0] == 3
    with pytest.raises(ValueError, match="function of a seed"):
        simulate(make(0), losses, replicas=3)


def test_replicas_of_a_private_bandit_have_the_noise_of_a_single_one():
    """After one round, the moved points of 2,000 replicas and of 2,000 rounds' noise have one deviation, to 15 %.

    Laplace deviations of 2,000 draws have a relative error of 2.5 %, so 15 % is 6 of them.
    """
    single = PrivateBandit(Spy(ds.cube(1), np.ones(1)), 1.0, loss_set=box_losses(1), horizon=2001, batch=1, seed=0)
    play(single, np.zeros(2000))
    together = Spy(ds.cube(1), np.ones((2000, 1)))
    together.leading = (2000,)
    play(PrivateBandit(together, 1.0, loss_set=box_losses(1), horizon=2, batch=1, seed=0), [0.0])
    assert np.std(single._learner.seen) == pytest.approx(np.std(together.seen[0]), rel=0.15)


def test_the_choice_has_the_smallest_bound_and_shows_the_others():
    for X, Y in ((ds.simplex(5), box_losses(5)), (ds.cube(3), ball_losses(3, 1)), (ds.norm_ball(3, 2), ball_losses(3))):
        for seed in (None, 1):
            chosen = private_bandit(X, Y, 2000, 1.0, seed=seed)
            ours = PrivateBandit(SCRiBLe(X, Y, 2000), 1.0)
            assert chosen.uncapped_bound <= ours.uncapped_bound * (1 + 1e-9)
            assert len(chosen.comparison) == len(BANDITS) and all(
                line in chosen.summary() for line in chosen.comparison
            )
            assert X.contains(chosen.act(), 1e-9) and (chosen.lineage is None) == (seed is not None)
    assert "SCRiBLe" in chosen.name and "not here" in chosen.summary()  # the ball has no vertices
    with pytest.raises(ValueError, match="DecisionSet"):
        private_bandit(box_losses(2), box_losses(2), 10, 1.0)
    with pytest.raises(ValueError, match="batch"):
        private_bandit(ds.simplex(3), box_losses(3), 10, 1.0, batch=0)


def test_the_choice_is_reproducible_with_a_seed():
    X, Y = ds.simplex(4), box_losses(4)
    first, second = (play(private_bandit(X, Y, 40, 1.0, seed=3), VALUES) for _ in range(2))
    assert np.array_equal(first, second)
