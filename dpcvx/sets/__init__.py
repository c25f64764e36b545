"""Declared sets: from cvxpy constraints to dimension, barrier, Dikin ellipsoid and oracles."""

from dpcvx.sets.decision_set import DecisionSet
from dpcvx.sets.loss_set import LossSet

__all__ = ["DecisionSet", "LossSet"]
