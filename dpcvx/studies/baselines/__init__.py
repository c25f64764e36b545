"""Earlier private methods, as players, to compare with: what was known before the sums of a tree and the reduction."""

from dpcvx.studies.baselines.explored_gradients import ExploredGradients
from dpcvx.studies.baselines.per_step_noise import PerStepNoise

__all__ = ["ExploredGradients", "PerStepNoise"]
