"""Checkpoints of learners, and the guard against playing one state twice."""

from dpcvx.checkpoints.checkpoint import load, save

__all__ = ["load", "save"]
