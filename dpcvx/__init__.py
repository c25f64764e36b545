"""Differentially private online learning over convex sets declared in cvxpy."""

from dpcvx.errors import (
    CheckpointError,
    DeclarationError,
    DegenerateSetError,
    DpcvxError,
    EmptySetError,
    HorizonError,
    LossOutOfSetError,
    OracleError,
    ProtocolError,
    ThinSetWarning,
    UnboundedSetError,
    UnsupportedConeError,
)
from dpcvx.experiments.simulation import Simulation, simulate
from dpcvx.learners import FTPL, FTRL, RegretBound, load, save
from dpcvx.privacy import Certificate, PrivateSums, compose
from dpcvx.privacy.audit import audit
from dpcvx.sets import DecisionSet, LossSet

__version__ = "0.1.0"

__all__ = [
    "FTPL",
    "FTRL",
    "Certificate",
    "CheckpointError",
    "DecisionSet",
    "DeclarationError",
    "DegenerateSetError",
    "DpcvxError",
    "EmptySetError",
    "HorizonError",
    "LossOutOfSetError",
    "LossSet",
    "OracleError",
    "PrivateSums",
    "ProtocolError",
    "RegretBound",
    "Simulation",
    "ThinSetWarning",
    "UnboundedSetError",
    "UnsupportedConeError",
    "audit",
    "compose",
    "load",
    "save",
    "simulate",
]
