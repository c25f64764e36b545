"""Releases for mechanisms of your own: exact noise on integers, exact selections, exact coins.

Outside of a coupling they draw by the entropy of the operating system; inside one they follow its script and are
priced, so that `dpcvx.couple` can tell whether the mechanism keeps its claim.
"""

import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpcvx.arguments import positive
from dpcvx.arrays import Array
from dpcvx.privacy.noise.law import Law
from dpcvx.privacy.noise.release import checked_scores
from dpcvx.privacy.noise.script import current_script
from dpcvx.privacy.noise.sources import secure_source


def release(law: Law, values: Any) -> Array:
    """Whole numbers (..., N) with noise of a law, `Laplace(scale)` or `Gaussian(scale)`."""
    exact = np.asarray(values)
    rows = exact[None] if exact.ndim else exact[None, None]
    return np.asarray(rows + secure_source(law, rows.shape[-1]).draw(rows)).reshape(exact.shape)


def select(scores: Sequence[int], scale: float) -> int:
    """One of several candidates with probability proportional to exp(-score/scale), scores whole numbers.

    The probability is exact; how long it takes depends on the scores.
    """
    exact, scale = checked_scores(scores), positive(scale, "scale")
    script = current_script()
    if script is not None:
        return script.selection(scale, exact)
    least = min(exact)
    while True:  # rejection: every candidate with the same probability, kept with exp(-(score - least)/scale)
        index = secrets.randbelow(len(exact))
        if _exponential_coin((exact[index] - least) / Fraction(scale)):
            return index


def toss(cost: int, scale: float) -> bool:
    """A coin that shows True with probability exp(-cost/scale), the cost a whole number of at least 0."""
    (exact,), scale = checked_scores([cost]), positive(scale, "scale")
    if exact < 0:
        raise ValueError("The cost of a coin must be at least 0.")
    script = current_script()
    return _exponential_coin(exact / Fraction(scale)) if script is None else script.coin(scale, exact)


def _exponential_coin(rate: Fraction) -> bool:
    """True with probability exp(-rate), exactly.

    It is Algorithm 1 of Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy (2020).
    """
    while rate > 1:
        if not _exponential_coin(Fraction(1)):
            return False
        rate -= 1
    k = 1
    while secrets.randbelow(k * rate.denominator) < rate.numerator:
        k += 1
    return k % 2 == 1
