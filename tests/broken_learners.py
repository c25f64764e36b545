"""Learners that break one property each, and the words by which `check_learner` names it."""

from dataclasses import replace

import numpy as np
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import FTRL, Exp2, HorizonError, LogBarrierBandit, ProtocolError
from dpcvx.checkpoints import Lineage

N = 4
X, Y = ds.simplex(N), box_losses(N)


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
        except Exception:  # not BaseException: an interruption leaves it busy, which is what is broken here
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
