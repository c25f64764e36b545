"""A model of secret states and of what was released from them: learners carry the number of their state.

Every update makes a new state, the child of the one before. The number is an attribute of the learner, so it goes into
its checkpoints and comes back. A state counts as released when an action shows it, or when secure feedback is released
on the way to it. Released states must lie on one path from the root: two of them side by side are one state that was
continued twice.
"""

import os
from contextlib import contextmanager

import numpy as np

from dpcvx.checkpoints import Lineage
from dpcvx.learners.player import Player
from dpcvx.privacy.feedback import SecureFeedback


class Miniature(Player):
    """A secure learner that does nothing but count: the protocol and the lineage alone, and quick."""

    def __init__(self):
        self.lineage = Lineage()
        self._rounds = 0

    @property
    def rounds(self):
        return self._rounds

    def _choose(self):
        return np.zeros(1)

    def _learn(self, feedback):
        self._rounds += 1


class StateTree:
    """The states of all learners that come from one, and which of them were released.

    Attributes:
        twice: pairs of released states of which neither comes from the other.
    """

    def __init__(self):
        self.parents = {0: None}
        self.released = set()
        self.twice = []
        self._coming = None

    def root(self, learner):
        learner.node = 0
        return learner

    def act(self, learner):
        action = learner.act()
        self.release(learner.node)
        return action

    def update(self, learner, feedback):
        self._coming = len(self.parents)
        self.parents[self._coming] = learner.node
        learner.update(feedback)
        learner.node = self._coming

    def release(self, node):
        self.twice += [(node, other) for other in self.released if not self._related(node, other)]
        self.released.add(node)

    def depth(self, node):
        return len(self._path(node)) - 1

    def _path(self, node):
        path = []
        while node is not None:
            path.append(node)
            node = self.parents[node]
        return path

    def _related(self, one, other):
        return one in self._path(other) or other in self._path(one)

    def watch(self, patch):
        """Notice what secure feedback releases inside an update."""
        original = SecureFeedback.release

        def release(feedback, *arguments):
            self.release(self._coming)
            return original(feedback, *arguments)

        patch.setattr(SecureFeedback, "release", release)


@contextmanager
def failing(patch, call, error, *, after=False, lasting=False):
    """Let the k-th file that takes its place fail, before or after it did; with `lasting` all that follow too.

    Yields the list of the files that were to be replaced.
    """
    original, names = os.replace, []

    def replace(part, path):
        names.append(path.name)
        if len(names) == call or (lasting and len(names) > call):
            if after:
                original(part, path)
            raise error
        original(part, path)

    with patch.context() as inner:
        inner.setattr(os, "replace", replace)
        yield names
