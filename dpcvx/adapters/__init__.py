"""Arms for people who come from elsewhere: policies of other packages, made private without a declared set.

Policies of river and mabwiser are told by their class; neither package is imported where none of its policies is given.
All of this is without contexts: what a policy is told of is the noisy reward of an arm, and nothing else.
"""

from dpcvx.adapters.arm_policy import ArmPolicy
from dpcvx.adapters.private_arms import PrivateArms, from_mabwiser, from_river

__all__ = ["ArmPolicy", "PrivateArms", "from_mabwiser", "from_river"]
