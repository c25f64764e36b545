"""Races of real processes for one checkpoint, each brought to the point where it could be lost.

    python tests/races.py <folder> <locked, or unlocked: in each race the lock that it is about is taken away>

Each process stops in its critical section, after it read the mark, until the other one got there or past it. With the
locks the other one waits for it instead, and the stop ends after a moment. Prints, for each race, how many released.
"""

import json
import multiprocessing
import sys
from contextlib import nullcontext
from pathlib import Path
from threading import BrokenBarrierError

import cvxpy as cp
import numpy as np
from state_tree import Miniature

import decision_sets as ds
import dpcvx
from dpcvx.checkpoints import lineage, saving
from dpcvx.checkpoints.mark import Mark

FORK = multiprocessing.get_context("fork")
LOCKED, UNLOCKED = 0.3, 60.0  # seconds to wait for the other: in vain, or surely not


def full_information():
    return dpcvx.FTRL(*sets(), 9, epsilon=1.0)


def bandit():
    return dpcvx.PrivateBandit(dpcvx.Exp2(*sets(), 9), 1.0, batch=1)


def sets():
    loss = cp.Variable(2, name="loss")
    return ds.simplex(2), dpcvx.LossSet(loss, [cp.abs(loss) <= 1])


def take(learner):
    """One loss after the action that the checkpoint holds; a bandit releases it."""
    learner.update(0.5 if learner.sees == "value" else np.zeros(2))


def after_reading_the_mark(stop):
    """Call a function after each mark that this process reads."""
    read = Mark.read

    def stopping(path):
        mark = read(path)
        stop()
        return mark

    Mark.read = stopping


class Race:
    """Two processes and what they answered."""

    def __init__(self, folder, patience):
        self.path, self.patience = folder / "state", patience
        self.ready, self.barrier = FORK.Barrier(2), FORK.Barrier(2)
        self.inside, self.past = FORK.Event(), FORK.Event()
        self.answers = FORK.SimpleQueue()
        folder.mkdir()

    def run(self, *players):
        processes = [FORK.Process(target=self._answered, args=(player,)) for player in players]
        for process in processes:
            process.start()
        answers = [self.answers.get() for _ in processes]
        for process in processes:
            process.join()
        return sorted(answers)

    def _answered(self, player):
        try:
            self.answers.put(str(player(self)))
        except dpcvx.CheckpointError:
            self.answers.put("refused")
        except BaseException as error:
            self.answers.put(f"failed: {error!r}")
            raise

    def loaded(self):
        """The learner in the checkpoint, when the other one has it too."""
        learner = dpcvx.load(self.path)
        self.ready.wait(UNLOCKED)
        return learner

    def meet(self):
        try:
            self.barrier.wait(self.patience)
        except BrokenBarrierError:
            return  # the other one waits for the lock

    def let_the_other_pass(self):
        self.inside.set()
        self.past.wait(self.patience)

    def pass_the_other(self, call):
        self.inside.wait(UNLOCKED)
        try:
            call()
        finally:
            self.past.set()


def goes_on(race):
    """Load, and release what the checkpoint does not hold, at the instant at which the other does."""
    learner = race.loaded()
    if learner.sees == "loss":
        take(learner)
        after_reading_the_mark(race.meet)
        learner.act()
    else:
        after_reading_the_mark(race.meet)
        take(learner)
    return "released"


def saves(race):
    """Load, save, and go on, while the other one goes on between mark and file."""
    learner = race.loaded()
    take(learner)
    after_reading_the_mark(race.let_the_other_pass)
    dpcvx.save(learner, race.path)
    learner.act()
    take(learner)
    learner.act()
    return "released"


def overtakes(race):
    learner = race.loaded()
    take(learner)
    race.pass_the_other(learner.act)
    return "released"


def fails_to_save_and_overtakes(race):
    """A learner whose mark could not be written, and which goes on while the other one loads the newer file."""
    learner = dpcvx.load(race.path)
    take(learner)
    write, Mark.write = Mark.write, None
    try:
        dpcvx.save(learner, race.path)
    except TypeError:  # there is no way to write a mark
        Mark.write = write
    race.ready.wait(UNLOCKED)
    race.pass_the_other(learner.act)
    return "released"


def loads_the_newer_file(race):
    race.ready.wait(UNLOCKED)
    after_reading_the_mark(race.let_the_other_pass)
    learner = dpcvx.load(race.path)
    learner.act()
    take(learner)
    learner.act()
    return "released"


def rolls_back(race):
    after_reading_the_mark(race.meet)
    return dpcvx.load(race.path, allow_rollback=True).lineage.rollbacks


def saved(race, learner, spent=False):
    learner.act()
    dpcvx.save(learner, race.path)
    if spent:
        take(learner)
        learner.act()


RACES = {
    # name: learner, processes, whether the checkpoint is outdated before, the module whose lock it is about
    "outdate": (full_information, (goes_on, goes_on), False, lineage),
    "outdate, bandit": (bandit, (goes_on, goes_on), False, lineage),
    "save": (Miniature, (saves, overtakes), False, saving),
    "load": (Miniature, (fails_to_save_and_overtakes, loads_the_newer_file), False, saving),
    "rollback": (Miniature, (rolls_back, rolls_back), True, saving),
}


def main(folder, locks):
    answers = {}
    for name, (make, players, spent, module) in RACES.items():
        race = Race(folder / name, LOCKED if locks == "locked" else UNLOCKED)
        saved(race, make(), spent)
        original = module.locked
        if locks == "unlocked":
            module.locked = lambda _: nullcontext()
        answers[name] = race.run(*players)
        module.locked = original
    print(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
