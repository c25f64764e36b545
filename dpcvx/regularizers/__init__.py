"""Regularisers of a decision set: strongly convex functions with their minimisers."""

from dpcvx.regularizers.entropy import Entropy

__all__ = ["Entropy"]
