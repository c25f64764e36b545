"""Learners on shared sums play what the sums allow, pay their epsilon once, and are never out of step in silence."""

import copy
from functools import partial
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import box_losses
from playing import City, play

import decision_sets as ds
from dpcvx import (
    FTPL,
    FTRL,
    CheckpointError,
    HorizonError,
    LossSet,
    PrivateSums,
    ProtocolError,
    check_learner,
    couple,
    load,
    save,
)
from dpcvx.learners.full_information.learner import FullInformation
from dpcvx.learners.full_information.shared_sums import Seat
from dpcvx.privacy.exact_sums import ExactSums
from dpcvx.streams import stream

N, T = 4, 12
X, OTHER, Y = ds.simplex(N), ds.cube(N), box_losses(N)
AWAY = ds.loss_box(N, 1, 3)  # the middle of it is expected
POLYTOPE = ds.polytope(np.vstack([np.eye(N), -np.eye(N), np.ones(N)]), np.append(np.ones(2 * N), 1.5))
LOSSES = np.random.default_rng(5).uniform(-1, 1, (T, N))


class HalfWay(FullInformation):
    """One of a user's own: half-way between the center and the leader."""

    def _tune(self, horizon):
        return self.decision_set.center

    def _best_action(self, noisy_sum, center):
        return (center + self.decision_set.argmin(noisy_sum)) / 2

    def _epoch_bound(self, center):
        return None

    def _details(self):
        return []


class Peeking(FTRL):
    """Plays by the sum without noise."""

    def _best_action(self, noisy_sum, constants):
        if not hasattr(self, "total"):
            self.total, added = np.zeros(N), self._sums.update

            def update(loss):
                self.total = self.total + loss
                added(loss)

            self._sums.update = update
        return super()._best_action(self.total, constants)


def city(delta=0.0, kinds=(FTRL, FTPL, FTRL)):
    sums = PrivateSums(Y, T, 1.0, delta)
    return City(sums, [kind(Z, sums=sums) for kind, Z in zip(kinds, (X, OTHER, OTHER), strict=True)])


def neighbouring():
    other = LOSSES.copy()
    other[2] = -np.sign(LOSSES[2])
    return LOSSES, other


@pytest.mark.parametrize("kind", [FTRL, FTPL])
@pytest.mark.parametrize("horizon", [T, None])
def test_a_learner_on_shared_sums_plays_as_with_its_own(kind, horizon):
    alone = kind(X, Y, horizon, 1.0, seed=7)
    sums = PrivateSums(Y, horizon, 1.0, seed=stream(7, f"{kind.__name__}: noise"))
    together, other = kind(X, sums=sums, seed=7), FTRL(OTHER, sums=sums)
    for loss in np.tile(LOSSES, (1 if horizon else 4, 1)):
        assert np.array_equal(alone.act(), together.act()) and other.act().shape == (N,)
        alone.update(loss)
        sums.update(loss)
    assert together.regret_bound == alone.regret_bound and together.missed == 0
    if horizon:
        with pytest.raises(HorizonError, match="12 rounds is used up"):
            together.act()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    "make", [FTPL, HalfWay, *(partial(FTRL, regularizer=name) for name in ("euclidean", "barrier"))]
)
@pytest.mark.parametrize("horizon", [T, None])
def test_the_answers_to_many_releases_are_the_actions_of_their_rounds(make, delta, horizon):
    sums = PrivateSums(AWAY, horizon, 1.0, delta, seed=3)
    learner = make(POLYTOPE, sums=sums, seed=7) if make is FTPL else make(POLYTOPE, sums=sums)
    actions, prefixes, deviations = [], [], []
    for loss in LOSSES + 2:
        actions.append(learner.act())
        prefixes.append(sums.prefix)
        deviations.append(sums.gaussian_deviation)
        if len(actions) == T:
            break
        sums.update(loss)
    answers = learner.answers(np.array(prefixes), np.array(deviations))
    assert np.allclose(answers, actions, atol=1e-7) and np.ptp(answers, axis=0).max() > 1e-3
    assert learner.missed == 0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_all_learners_together_cost_what_the_sums_cost(delta):
    one = couple(lambda: PrivateSums(Y, T, 1.0, delta), *neighbouring())
    all_of_them = couple(lambda: city(delta), *neighbouring())
    assert all_of_them.holds and all_of_them.price == one.price and all_of_them.releases == one.releases


def test_a_learner_that_looks_behind_the_noise_is_flagged():
    found = couple(lambda: city(kinds=(FTRL, FTPL, Peeking)), *neighbouring())
    assert not found.holds and "In round 4, act differs" in found.differences[0]


def test_learners_with_sums_of_their_own_cost_epsilon_each():
    def own():
        learners = [FTRL(Z, Y, T, 1.0) for Z in (X, OTHER)]

        def update(loss):
            for learner in learners:
                learner.update(loss)

        return City(SimpleNamespace(update=update, certificate=learners[0].certificate), learners)

    far = np.ones((T, N)), np.ones((T, N))
    far[1][2] = -1
    assert "cost epsilon = 2" in couple(own, *far).overspent
    assert couple(city, *far).price.epsilon == pytest.approx(1.0, rel=1e-6)


def test_the_certificate_is_that_of_the_sums_and_says_that_they_are_shared():
    shared = city(1e-6)
    play(shared.learners[0], [])
    for learner in shared.learners:
        mine, theirs = learner.certificate, shared.sums.certificate
        assert (mine.epsilon, mine.delta, mine.rho) == (theirs.epsilon, theirs.delta, theirs.rho) and mine.secure
        assert "for all learners on them together" in mine.notes[-1] and "shared" in learner.summary()
    free = FTRL(X, sums=ExactSums(Y, T))
    assert free.certificate.epsilon == np.inf and not free.certificate.secure


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epsilon": 2.0}, "epsilon = 2.0 contradicts the sums, which have epsilon = 1.0"),
        ({"delta": 1e-9}, "delta = 1e-09 contradicts"),
        ({"horizon": 13}, "horizon = 13 contradicts"),
        ({"horizon": None}, "horizon = None contradicts"),
        ({"counter": "tree"}, "counter = 'tree' contradicts"),
        ({"on_violation": "raise"}, "on_violation = 'raise' contradicts"),
        ({"replicas": 3, "seed": 0}, "replicas = 3 contradicts"),
        ({"seed": 0}, "a seed is for simulations"),
        ({"loss_set": box_losses(N, 0, 2)}, "leave loss_set out"),
        ({"loss_set": 3}, "loss_set must be a LossSet, not a int"),
        ({"sums": 3}, "sums must be a PrivateSums or an ExactSums, not a int"),
    ],
)
def test_what_contradicts_the_sums_is_refused(given, said):
    settings = {"sums": PrivateSums(Y, T, 1.0), **given}
    with pytest.raises(ValueError, match=said):
        FTRL(X, **settings)


def test_what_says_the_same_as_the_sums_may_be_given():
    loss = cp.Variable(N)
    again = LossSet(loss, [loss >= -1, loss <= 1])
    sums = PrivateSums(again, T, 1.0, 1e-6, seed=0, replicas=2)
    learner = FTRL(X, Y, T, 1.0, 1e-6, sums=sums, seed=1, replicas=2)
    assert learner.loss_set is again and learner.act().shape == (2, N)


@pytest.mark.parametrize("missing", ["loss_set", "horizon"])
def test_without_sums_losses_and_horizon_are_needed(missing):
    with pytest.raises(TypeError, match=f"FTPL needs a {missing}"):
        FTPL(X, **{"loss_set": Y, "horizon": T, missing: ... if missing == "horizon" else None})


def test_turns_are_kept():
    shared = city()
    first, second, _ = shared.learners
    with pytest.raises(ProtocolError, match=r"sums\.update, once a round"):
        first.update(LOSSES[0])
    first.act()
    with pytest.raises(ProtocolError, match="twice in a row"):
        first.act()
    with pytest.raises(ProtocolError, match=r"sums\.update, once a round"):
        first.update(LOSSES[0])
    shared.update(LOSSES[0])
    first.act()
    second.act()
    assert (first.missed, second.missed) == (0, 1)
    assert first.regret_bound is not None and second.regret_bound is None
    assert second.certificate.regret_bound is None and "did not act in 1 of the rounds" in second.summary()
    late = FTRL(OTHER, sums=shared.sums)
    late.act()
    assert late.missed == 1 and late.reacting_bound is None


def test_all_rounds_between_two_actions_are_missed_and_none_where_one_is_asked_again():
    assert Seat().at(0) == (0, 0) and Seat().at(3) == (3, 3)
    assert Seat(3, 2).at(3) == (3, 2) and Seat(3, 2).at(4) == (4, 2) and Seat(3, 2).at(9) == (9, 7)


def test_the_sums_are_saved_and_learners_made_anew_on_them(tmp_path):
    path, shared = tmp_path / "sums", city()
    for loss in LOSSES[:3]:
        shared.act()
        shared.update(loss)
    with pytest.raises(CheckpointError, match="save the sums"):
        save(shared.learners[0], tmp_path / "learner")
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(CheckpointError, match="neither saved nor copied"):
            copied(shared.learners[0])
    save(shared.sums, path)
    expected = shared.act()
    sums = load(path)
    again = City(sums, [FTRL(X, sums=sums), FTRL(OTHER, sums=sums)])
    played = again.act()
    assert np.allclose(played[0], expected[0], atol=1e-9) and np.allclose(played[1], expected[2], atol=1e-9)
    again.update(LOSSES[3])
    again.act()
    shared.update(LOSSES[3])
    with pytest.raises(CheckpointError, match="continued by another"):
        shared.act()
    with pytest.raises(CheckpointError, match="would release losses twice"):
        load(path)
    rolled = load(path, allow_rollback=True)
    assert rolled.certificate.epsilon == 2 and FTRL(X, sums=rolled).certificate.epsilon == 2


def test_a_simulation_of_the_same_settings_has_sums_of_its_own():
    learner = city(1e-6).learners[0]
    many = learner.simulated(3, 0)
    assert many.sums is None and many.act().shape == (3, N)
    many.update(LOSSES[0])
    assert learner.rounds == 0 and many.certificate.delta == 1e-6 and not many.certificate.secure


class Alone:
    """A learner that is the only one on its sums, behind the usual protocol."""

    def __init__(self, seed):
        self.sums = PrivateSums(Y, T, 1.0, seed=seed)
        self.learner = FTRL(X, sums=self.sums, seed=seed)
        self.decision_set, self.loss_set, self.horizon, self.acted = X, Y, T, None
        self.summary = self.learner.summary

    def act(self):
        action = self.learner.act()
        self.acted = self.sums.rounds
        return action

    def update(self, loss):
        if self.acted != self.sums.rounds:
            raise ProtocolError("update was called without an action.")
        self.sums.update(loss)

    def __copy__(self):
        return copy.copy(self.learner)

    @property
    def certificate(self):
        return self.learner.certificate


def test_behind_the_usual_protocol_it_passes_the_check_of_learners():
    answers = check_learner(Alone)
    held = {name for name, answer in answers.items() if answer == "holds"}
    assert held >= {"actions", "horizon", "reproducibility", "alternation", "arrays", "wrong feedback", "certificate"}
