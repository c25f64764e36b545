"""The two settings of online learning, by what a learner sees after each round."""

FULL_INFORMATION = "full information"  # the whole loss
BANDIT = "bandit"  # only what its own action cost
SETTINGS = (FULL_INFORMATION, BANDIT)
