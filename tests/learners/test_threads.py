"""Threads on one learner: no round is lost, nothing is released twice, and who comes out of turn is told so.

Two threads in `update` could release one batch twice, and three on FTRL ended in "An update was interrupted".
"""

import copy
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from functools import cache

import numpy as np
import pytest
from loss_sets import box_losses

import decision_sets as ds
from dpcvx import FTPL, FTRL, Exp2, HorizonError, PrivateBandit, ProtocolError, load, save
from dpcvx.learners.check.interruption import Tripwire
from dpcvx.privacy.feedback import SecureFeedback
from dpcvx.privacy.noise import SecureSource
from dpcvx.privacy.private_sums import PrivateSums

SIZE, HORIZON, BATCH = 3, 60, 3
LOSS = np.array([0.5, -0.25, 1.0])


@cache
def sets():
    return ds.simplex(SIZE), box_losses(SIZE)


def private_bandit(seed=None):
    return PrivateBandit(Exp2(*sets(), HORIZON, seed=0), 1.0, batch=BATCH, seed=seed)


LEARNERS = {
    "FTRL": lambda: FTRL(*sets(), HORIZON, 1.0),
    "FTRL, epochs": lambda: FTRL(*sets(), None, 1.0, 1e-6),
    "FTRL, simulated": lambda: FTRL(*sets(), HORIZON, 1.0, seed=0),
    "FTPL": lambda: FTPL(*sets(), HORIZON, 1.0, 1e-6),
    "Exp2": lambda: Exp2(*sets(), HORIZON, seed=0),
    "private Exp2": private_bandit,
}


@contextmanager
def switching():
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(*works):
    """Run works in threads of their own, all started at once; what they raised."""
    raised, start = [], threading.Barrier(len(works))

    def run(work):
        start.wait()
        try:
            work()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return raised


@pytest.mark.parametrize("name", LEARNERS)
def test_no_round_is_lost_among_threads(name):
    learner, updates, refusals = LEARNERS[name](), [], []
    feedback = LOSS if learner.sees == "loss" else 0.5

    def play():
        while learner.rounds < HORIZON - 1:
            for call in (learner.act, lambda: updates.append(learner.update(feedback))):
                try:
                    call()
                except (ProtocolError, HorizonError) as error:
                    refusals.append(str(error))

    with switching():
        assert together(*[play] * 3) == []
    assert learner.rounds == len(updates) >= HORIZON - 1
    assert not any("interrupted" in refusal for refusal in refusals)


@pytest.fixture
def slow_release(monkeypatch):
    """Steps that take their time, so that threads meet in them; the sums that were released."""
    released, release, clipped, draw = [], SecureFeedback.release, SecureFeedback.clipped, SecureSource.draw

    def counted(self, total, action, interval):
        released.append(total)
        return release(self, total, action, interval)

    def slow_clipped(self, value, interval):
        time.sleep(0.05)
        return clipped(self, value, interval)

    def slow_draw(self, values):
        time.sleep(0.05)
        return draw(self, values)

    monkeypatch.setattr(SecureFeedback, "release", counted)
    monkeypatch.setattr(SecureFeedback, "clipped", slow_clipped)
    monkeypatch.setattr(SecureSource, "draw", slow_draw)
    return released


def meet_in_a_release(learner):
    """Two threads at the end of a batch."""
    for _ in range(BATCH - 1):
        learner.act()
        learner.update(0.5)
    learner.act()
    return together(*[lambda: learner.update(0.5)] * 2)


def test_a_batch_is_released_once(slow_release):
    learner = private_bandit()
    raised = meet_in_a_release(learner)
    assert [type(error) for error in raised] == [ProtocolError] and "without an action" in str(raised[0])
    assert len(slow_release) == 1 and learner.rounds == BATCH
    learner.act()


def test_without_the_lock_it_would_be_released_twice(slow_release):
    """The teeth."""
    learner = private_bandit()
    learner.thread_lock = nullcontext()
    meet_in_a_release(learner)
    assert len(slow_release) == 2


@pytest.mark.parametrize("locked", [True, False])
def test_sums_are_read_between_updates(slow_release, locked):
    """The same with private sums alone; without their lock, the reader meets half an update."""
    sums = PrivateSums(sets()[1], 8, 1.0, counter="tree")
    if not locked:
        sums.thread_lock = nullcontext()
    reads = []

    def read():
        time.sleep(0.02)
        reads.append(sums.prefix)

    raised = together(lambda: sums.update(LOSS), read)
    assert ([], 1) == (raised, len(reads)) if locked else "interrupted" in str(raised[0])


def test_a_learner_is_saved_between_rounds(slow_release, tmp_path):
    learner = FTRL(*sets(), HORIZON, 1.0, counter="tree")
    learner.act()

    def keep():
        time.sleep(0.02)
        save(learner, tmp_path / "learner")

    assert together(lambda: learner.update(LOSS), keep) == []
    assert load(tmp_path / "learner").rounds == 1


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_a_copy_does_not_wait_for_its_original(copied):
    learner = FTRL(*sets(), HORIZON, 1.0, seed=0)
    with learner.thread_lock, learner._sums.thread_lock:
        assert together(copied(learner).act) == []


def test_an_interruption_leaves_the_learner_to_other_threads():
    """At every step of `act` and `update`, the locks included."""
    for step in range(400):
        learner = FTRL(*sets(), HORIZON, 1.0, seed=0, regularizer="euclidean")
        wire = Tripwire(learner, step)
        wire.run(lambda learner=learner: (learner.act(), learner.update(LOSS)))
        raised = together(learner.act)
        assert not raised or isinstance(raised[0], ProtocolError)
        if not wire.cut:
            return
    raise AssertionError("act and update have more steps than were tried.")


def in_a_child(call, seconds=20):
    """What a call says in a forked child, which is ended if it hangs."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        try:
            call()
            said = "it went on"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(child, 0)
    said = os.read(read, 10_000).decode()
    os.close(read)
    return said or f"nothing, with status {status}"


@pytest.mark.parametrize("method", ["act", "update"])
def test_a_child_is_refused_or_goes_on_though_a_thread_played_at_the_fork(method):
    """A lock that a thread of the parent holds is nobody's in the child: it must not wait for it."""
    secure, simulated = FTRL(*sets(), HORIZON, 1.0), FTRL(*sets(), HORIZON, 1.0, seed=0)
    held, over = threading.Event(), threading.Event()

    def hold():
        with secure.thread_lock, simulated.thread_lock, simulated._sums.thread_lock:
            held.set()
            over.wait(60)

    for learner in (secure, simulated) if method == "update" else ():
        learner.act()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    arguments = (LOSS,) if method == "update" else ()
    try:
        said = in_a_child(lambda: getattr(secure, method)(*arguments))
        assert said.startswith("ProtocolError") and "after a fork" in said
        assert in_a_child(lambda: getattr(simulated, method)(*arguments)) == "it went on"
    finally:
        over.set()
        thread.join()
