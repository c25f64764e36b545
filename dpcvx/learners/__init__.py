"""Learners: declared sets and private sums joined."""

from dpcvx.learners.bandit_choice import private_bandit
from dpcvx.learners.checkpoint import load, save
from dpcvx.learners.exp2 import Exp2
from dpcvx.learners.ftpl import FTPL
from dpcvx.learners.ftrl import FTRL
from dpcvx.learners.log_barrier import LogBarrierBandit
from dpcvx.learners.private_bandit import PrivateBandit
from dpcvx.learners.regret_bound import RegretBound
from dpcvx.learners.scrible import SCRiBLe

__all__ = [
    "FTPL",
    "FTRL",
    "Exp2",
    "LogBarrierBandit",
    "PrivateBandit",
    "RegretBound",
    "SCRiBLe",
    "load",
    "private_bandit",
    "save",
]
