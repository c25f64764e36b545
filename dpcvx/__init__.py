"""Differentially private online learning over convex sets declared in cvxpy."""

from dpcvx.errors import (
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
from dpcvx.privacy import Certificate, PrivateSums, compose
from dpcvx.privacy.audit import audit
from dpcvx.sets import DecisionSet, LossSet

__version__ = "0.1.0"

__all__ = [
    "Certificate",
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
    "ThinSetWarning",
    "UnboundedSetError",
    "UnsupportedConeError",
    "audit",
    "compose",
]
