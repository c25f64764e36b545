"""Learners: declared sets and private sums joined."""

from dpcvx.checkpoints import load, save
from dpcvx.learners.bandits import AdaptiveBandit, Exp2, HybridBandit, LogBarrierBandit, SCRiBLe
from dpcvx.learners.bandits.choice import private_bandit
from dpcvx.learners.bandits.private_bandit import PrivateBandit
from dpcvx.learners.check import check_learner
from dpcvx.learners.full_information.choice import private_learner
from dpcvx.learners.full_information.ftpl import FTPL
from dpcvx.learners.full_information.ftrl import FTRL
from dpcvx.learners.full_information.lazy_weights import LazyWeights
from dpcvx.learners.regret_bound import RegretBound

__all__ = [
    "FTPL",
    "FTRL",
    "AdaptiveBandit",
    "Exp2",
    "HybridBandit",
    "LazyWeights",
    "LogBarrierBandit",
    "PrivateBandit",
    "RegretBound",
    "SCRiBLe",
    "check_learner",
    "load",
    "private_bandit",
    "private_learner",
    "save",
]
