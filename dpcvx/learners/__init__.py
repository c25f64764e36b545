"""Learners: declared sets and private sums joined."""

from dpcvx.learners.checkpoint import load, save
from dpcvx.learners.exp2 import Exp2
from dpcvx.learners.ftpl import FTPL
from dpcvx.learners.ftrl import FTRL
from dpcvx.learners.log_barrier import LogBarrierBandit
from dpcvx.learners.regret_bound import RegretBound

__all__ = ["FTPL", "FTRL", "Exp2", "LogBarrierBandit", "RegretBound", "load", "save"]
