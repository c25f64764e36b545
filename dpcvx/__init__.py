"""Differentially private online learning over convex sets declared in cvxpy."""

import logging

from dpcvx.adapters import PrivateArms
from dpcvx.errors import (
    ArgumentError,
    CheckpointError,
    DeclarationError,
    DegenerateSetError,
    DpcvxError,
    EmptySetError,
    HorizonError,
    LearnerCheckError,
    LossOutOfSetError,
    MissingCheckpointError,
    OracleError,
    ProtocolError,
    ThinSetWarning,
    UnboundedSetError,
    UnsupportedConeError,
    WeakPrivacyWarning,
)
from dpcvx.experiments.comparing import compare
from dpcvx.experiments.simulation import simulate
from dpcvx.experiments.simulation_result import Simulation
from dpcvx.experiments.sweep.folder import SweepError
from dpcvx.experiments.sweep.result import SweepResult, read_sweep
from dpcvx.experiments.sweep.task import Sweep, sweep
from dpcvx.learners import (
    FTPL,
    FTRL,
    AdaptiveBandit,
    Exp2,
    HybridBandit,
    LazyWeights,
    LogBarrierBandit,
    PrivateBandit,
    RegretBound,
    SCRiBLe,
    check_learner,
    load,
    private_bandit,
    private_learner,
    save,
)
from dpcvx.privacy import Certificate, Change, PrivateSums, compose
from dpcvx.privacy.audit import Coupling, audit, couple
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.studies.price import PriceOfPrivacy, price_of_privacy
from dpcvx.version import __version__

logging.getLogger("dpcvx").addHandler(logging.NullHandler())  # records are for those who ask for them

__all__ = [
    "FTPL",
    "FTRL",
    "AdaptiveBandit",
    "ArgumentError",
    "Certificate",
    "Change",
    "CheckpointError",
    "Coupling",
    "DecisionSet",
    "DeclarationError",
    "DegenerateSetError",
    "DpcvxError",
    "EmptySetError",
    "Exp2",
    "HorizonError",
    "HybridBandit",
    "LazyWeights",
    "LearnerCheckError",
    "LogBarrierBandit",
    "LossOutOfSetError",
    "LossSet",
    "MissingCheckpointError",
    "OracleError",
    "PriceOfPrivacy",
    "PrivateArms",
    "PrivateBandit",
    "PrivateSums",
    "ProtocolError",
    "RegretBound",
    "SCRiBLe",
    "Simulation",
    "Sweep",
    "SweepError",
    "SweepResult",
    "ThinSetWarning",
    "UnboundedSetError",
    "UnsupportedConeError",
    "WeakPrivacyWarning",
    "__version__",
    "audit",
    "check_learner",
    "compare",
    "compose",
    "couple",
    "load",
    "price_of_privacy",
    "private_bandit",
    "private_learner",
    "read_sweep",
    "save",
    "simulate",
    "sweep",
]
