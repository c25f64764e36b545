"""Exact draws of integers from the entropy of the operating system, many at once.

Every law here is that of infinitely many random bits, not of floating-point numbers. A draw is a function of a uniform
U in (0, 1), an infinite binary fraction of which as many bits are drawn as it takes: 63 or 64 at first, on which
floating-point numbers with a proved error decide almost every draw (`floating` says what is assumed of NumPy), and more
in exact arithmetic where they do not. No seed is taken, no function keeps anything between calls, and nothing looks at
a value that is to be hidden: the time of a draw tells about the noise alone.
"""

from dpcvx.privacy.samplers.categorical import categorical
from dpcvx.privacy.samplers.coins import Bracket, coins, exponential_coins, is_below
from dpcvx.privacy.samplers.gaussian import gaussian
from dpcvx.privacy.samplers.geometric import geometric
from dpcvx.privacy.samplers.laplace import laplace
from dpcvx.privacy.samplers.laplace_stream import LaplaceStream
from dpcvx.privacy.samplers.scales import LARGEST_SCALE, LEAST_SCALE, exact_scale
from dpcvx.privacy.samplers.uniform import uniform_below

__all__ = [
    "LARGEST_SCALE",
    "LEAST_SCALE",
    "Bracket",
    "LaplaceStream",
    "categorical",
    "coins",
    "exact_scale",
    "exponential_coins",
    "gaussian",
    "geometric",
    "is_below",
    "laplace",
    "uniform_below",
]
