"""Declared sets: from cvxpy constraints to dimension, barrier, Dikin ellipsoid and oracles."""

from dpcvx.sets.decision_set import DecisionSet

__all__ = ["DecisionSet"]
