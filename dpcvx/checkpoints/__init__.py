"""Checkpoints of learners, and the guard against playing one state twice."""

from dpcvx.checkpoints.lineage import Lineage
from dpcvx.checkpoints.saving import load, save

__all__ = ["Lineage", "load", "save"]
