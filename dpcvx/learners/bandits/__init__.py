"""Learners that see the number <loss, action> alone, and the reduction that makes them private."""

from dpcvx.learners.bandits.adaptive import AdaptiveBandit
from dpcvx.learners.bandits.bandit import Bandit
from dpcvx.learners.bandits.exp2 import Exp2
from dpcvx.learners.bandits.hybrid import HybridBandit
from dpcvx.learners.bandits.log_barrier import LogBarrierBandit
from dpcvx.learners.bandits.scrible import SCRiBLe

# among which `private_bandit` chooses; of equal bounds the later one wins
BANDITS: tuple[type[Bandit], ...] = (
    SCRiBLe,
    Exp2,
    LogBarrierBandit,
    HybridBandit,
)

__all__ = ["BANDITS", "AdaptiveBandit", "Bandit", "Exp2", "HybridBandit", "LogBarrierBandit", "SCRiBLe"]
