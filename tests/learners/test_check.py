"""`check_learner` passes every learner of the package and a small one of a user, and names what is broken in others."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from loss_sets import ball_losses, box_losses

import decision_sets as ds
from dpcvx import (
    FTPL,
    FTRL,
    DecisionSet,
    DpcvxError,
    Exp2,
    HorizonError,
    LearnerCheckError,
    LogBarrierBandit,
    PrivateBandit,
    ProtocolError,
    SCRiBLe,
    check_learner,
    private_bandit,
)
from dpcvx.checkpoints import Lineage
from dpcvx.learners.check import PROPERTIES
from dpcvx.learners.check.interruption import Steps, Tripwire
from dpcvx.studies.baselines import ExploredGradients, PerStepNoise

N = 4
X, Y = ds.simplex(N), box_losses(N)
CUBE, CROSS = ds.cube(3), ball_losses(3, 1)
BALL, ROUND = ds.norm_ball(3, 2), ball_losses(3)
MATRICES, ENTRIES = ds.spectrahedron(3), box_losses((3, 3))
FLOWS, EDGES = ds.birkhoff(3), box_losses((3, 3), 0, 1)


def polytope():
    x = cp.Variable(N, nonneg=True, name="x")
    return DecisionSet(x, [cp.sum(x) == 1, x[0] <= 0.4])


POLYTOPE = polytope()


class Follower:
    """A learner as a user writes it: the best point so far, with noise of its own; no horizon, nothing optional."""

    decision_set = X

    def __init__(self, seed, replicas=None):
        self.rng = np.random.default_rng(seed)
        self.leading = () if replicas is None else (replicas,)
        self.state = 0, np.zeros(N)
        self.acted = None

    def noise(self):
        return self.rng.standard_normal((*self.leading, N))

    def act(self):
        rounds, total = self.state
        if self.acted == rounds:
            raise ProtocolError("It is not my turn.")
        action = X.argmin(total + self.noise())
        self.acted = rounds
        return action

    def update(self, loss):
        rounds, total = self.state
        if self.acted != rounds:
            raise ProtocolError("It is not your turn.")
        self.state = rounds + 1, total + self.read(loss)

    def read(self, loss):
        loss = np.array(loss, dtype=float)
        if loss.shape != (N,) or not np.isfinite(loss).all():
            raise ValueError("That is no loss.")
        return loss


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


# broken learners


class NoUpdate:
    decision_set = X

    def __init__(self, seed):
        pass

    def act(self):
        return X.center


class Outside(Follower):
    def act(self):
        return super().act() * 1.5


class Whole(Follower):
    def act(self):
        return super().act().astype(int)


class Flat(Follower):
    def act(self):
        return super().act()[:-1]


class ActsTwice(Follower):
    def act(self):
        self.acted = None
        return super().act()


class LearnsFirst(Follower):
    def update(self, loss):
        self.acted = self.state[0]
        super().update(loss)


class GivesItsOwn(Follower):
    """The action is its memory of the last one."""

    def act(self):
        self.last = (getattr(self, "last", X.center) + super().act()) / 2
        return self.last


class KeepsTheLoss(Follower):
    """The loss is remembered as it came, and summed up later."""

    def read(self, loss):
        super().read(loss)
        self.seen = [*getattr(self, "seen", []), loss]
        return np.sum(self.seen, axis=0) - self.state[1]


class TakesAnything(Follower):
    def read(self, loss):
        return np.nan_to_num(loss)


class LearnsFromErrors(Follower):
    def read(self, loss):
        self.noise()
        return super().read(loss)


class Endless(Follower):
    horizon = 5


class EndsEarly(Follower):
    horizon = 5

    def act(self):
        if self.state[0] >= 4:
            raise HorizonError("That is enough.")
        return super().act()


class OwnEntropy(Follower):
    def __init__(self, seed):
        super().__init__(None)


class OneSeed(Follower):
    def __init__(self, seed):
        super().__init__(None if seed is None else 0)


class InPlace(Follower):
    """The sum grows before the round is over."""

    def update(self, loss):
        if self.acted != self.state[0]:
            raise ProtocolError("It is not your turn.")
        rounds, total = self.state
        total += self.read(loss)
        self.state = rounds + 1, total


class Stuck(Follower):
    """An interruption leaves a flag behind."""

    busy = False

    def act(self):
        if self.busy:
            raise ProtocolError("I am busy.")
        return super().act()

    def update(self, loss):
        if self.busy:
            raise ProtocolError("I am busy.")
        loss = self.read(loss)
        self.busy = True
        try:
            super().update(loss)
        except Exception:
            self.busy = False
            raise
        self.busy = False


class InPlaceBandit(LogBarrierBandit):
    def _after(self, value):
        after = super()._after(value)
        self._state.inverse[:] = after.inverse
        return after


class OneNoise(Follower):
    """All replicas share their noise."""

    def simulated(self, replicas, seed):
        return type(self)(seed, replicas)

    def noise(self):
        return np.broadcast_to(self.rng.standard_normal(N), (*self.leading, N))


class Alone(OneNoise):
    """It makes one replica, whatever is asked for."""

    def simulated(self, replicas, seed):
        return type(self)(seed, 1)


class Remembers(Follower):
    """Replicas go on from where it stands."""

    def simulated(self, replicas, seed):
        made = type(self)(seed, replicas)
        made.state = 0, self.state[1]
        return made


class Gossips(Exp2):
    """Replicas learn from what their neighbours were told."""

    def _after(self, value):
        return super()._after(np.roll(value, 1))


class Forgets(Follower):
    lineage = None

    def __getstate__(self):
        return {**self.__dict__, "state": (self.state[0], np.zeros(N))}


class LosesItsTurn(FTRL):
    def __getstate__(self):
        return {**self.__dict__, "_acted_in": None}


class LoadsTwice(FTRL):
    """It forgets where it was saved."""

    def act(self):
        if self.lineage is not None:
            self.lineage = Lineage()
        return super().act()


class ClaimsToBeSecure(FTRL):
    @property
    def certificate(self):
        return replace(super().certificate, secure=True)


class Modest(FTRL):
    @property
    def certificate(self):
        return replace(super().certificate, secure=False)


class Bashful(FTRL):
    @property
    def certificate(self):
        return Unsaid(super().certificate)


class Unsaid:
    def __init__(self, certificate):
        self.__dict__.update(certificate.__dict__, to_dict=certificate.to_dict)

    def __str__(self):
        return "All is well."


class CountsNothing(FTRL):
    @property
    def certificate(self):
        return replace(super().certificate, rounds=0)


class Silent(FTRL):
    def summary(self):
        return ""


class Copied(FTRL):
    def __copy__(self):
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin


def ftrl(kind):
    return lambda seed: kind(X, Y, 16, epsilon=1.0, seed=seed)


def bandit(kind):
    return lambda seed: kind(X, Y, 50, seed=seed)


BROKEN = [
    (NoUpdate, "interface", "no method update"),
    (ActsTwice, "alternation", "a second act in a row raised nothing"),
    (LearnsFirst, "alternation", "an update before the action raised nothing"),
    (Outside, "actions", "the action of round 1 lies outside"),
    (Whole, "actions", "the action of round 1 is of type int64, not floating-point"),
    (Flat, "actions", r"the action of round 1 has shape \(3,\), not \(4,\)"),
    (GivesItsOwn, "arrays", "changed what it plays"),
    (KeepsTheLoss, "arrays", "changed what it plays"),
    (TakesAnything, "wrong feedback", "with NaN raised nothing"),
    (LearnsFromErrors, "wrong feedback", "that was refused changed"),
    (Endless, "horizon", "after the 5 rounds"),
    (EndsEarly, "horizon", "HorizonError: That is enough"),
    (OwnEntropy, "reproducibility", "two runs with the seed 1 differ"),
    (OneSeed, "reproducibility", "64 different seeds are all the same"),
    (InPlace, "interruption", "half a state"),
    (Stuck, "interruption", "refuses to go on: I am busy"),
    (bandit(InPlaceBandit), "interruption", "half a state"),
    (OneNoise, "replicas", "all 16 replicas play the same"),
    (Alone, "replicas", r"have shape \(1, 4\), not \(16, 4\)"),
    (Remembers, "replicas", "before and after it played"),
    (bandit(Gossips), "replicas", "what one replica is told"),
    (Forgets, "checkpoint", "plays on otherwise"),
    (ftrl(LosesItsTurn), "checkpoint", "saved between act and update"),
    (ftrl(LoadsTwice), "checkpoint", "loading a secure learner again"),
    (ftrl(ClaimsToBeSecure), "certificate", "made with a seed"),
    (ftrl(Bashful), "certificate", 'does not say "not private"'),
    (ftrl(CountsNothing), "certificate", "says 0 of 16"),
    (ftrl(Silent), "summary", "must be a text"),
    (ftrl(Copied), "copies", "copy of a secure learner raised nothing"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("make", "failed", "words"), BROKEN, ids=lambda one: getattr(one, "__name__", None))
def test_what_is_broken_is_named(make, failed, words):
    with pytest.raises(LearnerCheckError, match=words) as caught:
        check_learner(make)
    assert caught.value.failed == failed and f"fails the check of {failed}" in str(caught.value)
    assert isinstance(caught.value, DpcvxError) and isinstance(caught.value, AssertionError)


def test_a_learner_that_understates_its_privacy_is_not_wrong():
    assert check_learner(ftrl(Modest))["copies"] == "not asked: it is not secure"
