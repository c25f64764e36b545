"""Privacy: sensitivities, noise, private prefix sums, certificates and the audit that checks them."""

from dpcvx.privacy.certificate import Certificate
from dpcvx.privacy.change import Change
from dpcvx.privacy.composition import Composition, compose
from dpcvx.privacy.plan import Plan, plan
from dpcvx.privacy.private_sums import PrivateSums

__all__ = ["Certificate", "Change", "Composition", "Plan", "PrivateSums", "compose", "plan"]
