"""How whatever learns is fed: a learner the whole loss, a bandit the one number <loss, action>."""

from typing import Any

import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet
from dpcvx.sets.pairing import Pairing


def feedback(learner: Any, loss: Array, action: Any) -> Any:
    """What `update` takes in a round: the loss, or for a learner whose `sees` is "value" the number <loss, action>."""
    if getattr(learner, "sees", "loss") != "value":
        return loss
    loss, action = np.asarray(loss, dtype=float), np.asarray(action, dtype=float)
    X = getattr(learner, "decision_set", None)
    if isinstance(X, DecisionSet) and loss.shape != action.shape:
        action = Pairing(X, loss.shape).usage(action)
    return float(np.vdot(loss, action))
