"""A learner played against losses in a row."""

import numpy as np


def play(learner, stream):
    """The actions of a learner that sees the losses of a stream, one a round."""
    actions = []
    for loss in stream:
        actions.append(learner.act())
        learner.update(loss)
    return np.array(actions)
