"""The price of private bandits, measured: noise, batches, learners and sets against each other and the theory.

All numbers are simulations through `PrivateBandit` and `simulate`. `measure(QUICK)` takes a few minutes and
`measure(FULL)` about twenty; `str` of the report is its tables, and `picture.draw` draws it.
"""

from dpcvx.studies.bandit_prices.report import FULL, QUICK, STAGES, Effort, Report, measure

__all__ = ["FULL", "QUICK", "STAGES", "Effort", "Report", "measure"]
