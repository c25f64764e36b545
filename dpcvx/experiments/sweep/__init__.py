"""Sweeps: one task over a grid of settings and seeds, resumable, here or on a cluster."""

from dpcvx.experiments.sweep.folder import SweepError
from dpcvx.experiments.sweep.result import SweepResult, read_sweep
from dpcvx.experiments.sweep.task import Sweep, sweep

__all__ = ["Sweep", "SweepError", "SweepResult", "read_sweep", "sweep"]
