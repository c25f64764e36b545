"""Regularisers over declared sets."""

from dpcvx.regularizers.barrier import Barrier
from dpcvx.regularizers.entropy import Entropy
from dpcvx.regularizers.euclidean import Euclidean
from dpcvx.regularizers.own import OwnRegularizer
from dpcvx.regularizers.regularizer import HasArgmin, Noise, Regularizer

# the names by which learners are told which one to use
REGULARIZERS: dict[str, type[Regularizer]] = {
    "euclidean": Euclidean,
    "entropy": Entropy,
    "barrier": Barrier,
}

__all__ = ["REGULARIZERS", "Barrier", "Entropy", "Euclidean", "HasArgmin", "Noise", "OwnRegularizer", "Regularizer"]
