"""Privacy: sensitivities, noise, private prefix sums, certificates and the audit that checks them."""

from dpcvx.privacy.certificate import Certificate, Composition, compose
from dpcvx.privacy.plan import Plan, plan
from dpcvx.privacy.prefix_sums import PrivateSums

__all__ = ["Certificate", "Composition", "Plan", "PrivateSums", "compose", "plan"]
