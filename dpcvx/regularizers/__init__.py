"""Regularisers over declared sets."""

from dpcvx.regularizers.barrier import Barrier
from dpcvx.regularizers.entropy import Entropy
from dpcvx.regularizers.euclidean import Euclidean
from dpcvx.regularizers.own import OwnRegularizer
from dpcvx.regularizers.regularizer import HasArgmin, Noise, Regularizer

__all__ = ["Barrier", "Entropy", "Euclidean", "HasArgmin", "Noise", "OwnRegularizer", "Regularizer"]
