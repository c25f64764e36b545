"""The audit: couplings, lower bounds on epsilon by sampling, exact certificates, attacks on floating-point noise."""

from dpcvx.privacy.audit.coupling import Coupling, couple
from dpcvx.privacy.audit.evidence import View
from dpcvx.privacy.audit.likelihood import exact_view
from dpcvx.privacy.audit.lower_bound import AuditResult, Sampler, audit
from dpcvx.privacy.audit.outputs import learner_outputs, node_outputs, prefix_outputs
from dpcvx.privacy.audit.worst_case import worst_neighbours

__all__ = [
    "AuditResult",
    "Coupling",
    "Sampler",
    "View",
    "audit",
    "couple",
    "exact_view",
    "learner_outputs",
    "node_outputs",
    "prefix_outputs",
    "worst_neighbours",
]
