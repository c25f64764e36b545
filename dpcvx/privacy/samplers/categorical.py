"""One of several candidates with probability proportional to exp(-score/scale), by a race.

Candidate i takes the time E_i exp(score_i/scale), E_i = -ln(1 - V_i) exponential, and the first one wins: exactly the
law that is asked for. All race at once, so how long a draw takes does not depend on the scores, but for the rare ties
of floating-point numbers. What is compared is the logarithm, ln E_i + score_i/scale.

With u = 2^-53 and V in (head, head + 1) 2^-64: E is between -log1p of the ends, each off by 2u of V for its conversion
and by 8u of itself for the function; its logarithm is off by 8u of itself; the score, less the least one, over the
scale is off by 4u of itself, and the sum by u. Each end is moved outward by 32u of all that, which is more. Where more
than one candidate could be first, all of those get 64 more bits, in exact arithmetic, until one is.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpcvx.arguments import positive
from dpcvx.arrays import Array
from dpcvx.privacy.samplers.brackets import log_exponential
from dpcvx.privacy.samplers.entropy import WORD, extended, words
from dpcvx.privacy.samplers.floating import UNIT, check_platform

_ROOM = 32 * UNIT
_LARGEST = 2**900  # scores further above the least one count as that far in floating-point numbers
_FAR = 2.0**800  # times from which on there is no upper bound, and this is the lower one


def categorical(scores: Sequence[int] | Array, scale: float) -> int:
    """The index of one candidate, drawn with probability proportional to exp(-score/scale).

    Args:
        scores: whole numbers of any size, at least one.
        scale: a positive number.
    """
    check_platform()
    positive(scale, "scale")
    exact = [int(score) for score in scores]
    if not exact:
        raise ValueError("A draw needs at least one candidate.")
    least = min(exact)
    heads = words(len(exact))
    with np.errstate(over="ignore"):  # infinitely late, and so too far
        late = np.minimum(np.array([float(min(score - least, _LARGEST)) for score in exact]) / scale, _FAR)
    first, last = _times(heads, late)
    racing = np.flatnonzero(first <= last.min()).tolist()
    fractions = {i: (int(heads[i]), WORD) for i in racing}
    rates = {i: (exact[i] - least) / Fraction(scale) for i in racing}
    while len(racing) > 1:
        fractions = {i: extended(*fractions[i]) for i in racing}
        times = {i: log_exponential(*fractions[i]) for i in racing}
        soonest = min(times[i][1] + rates[i] for i in racing)
        racing = [i for i in racing if times[i][0] + rates[i] <= soonest]
    return int(racing[0])


def _times(heads: Array, late: Array) -> tuple[Array, Array]:
    """Bounds of the logarithms of all times."""
    v = heads.astype(np.float64)
    v *= 2.0**-WORD
    low = v * (1 - 4 * UNIT)
    high = np.minimum((v + 2.0**-WORD) * (1 + 4 * UNIT), 1.0)
    with np.errstate(divide="ignore"):  # an end at 0 or 1 is at minus or plus infinity
        first = np.log(-np.log1p(-low))
        last = np.log(-np.log1p(-high))
    first -= _ROOM * (1 + np.abs(first) + late) - late
    last += _ROOM * (1 + np.abs(last) + late) + late
    last[late >= _FAR] = np.inf
    return first, last
