"""Releases for mechanisms of your own: exact noise on integers, exact selections, exact coins.

Outside of a coupling they draw by the entropy of the operating system; inside one they follow its script and are
priced, so that `dpcvx.couple` can tell whether the mechanism keeps its claim.
"""

import secrets
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpcvx.arguments import positive
from dpcvx.arrays import Array
from dpcvx.privacy.noise.law import Law
from dpcvx.privacy.noise.release import checked_scores
from dpcvx.privacy.noise.script import current_script
from dpcvx.privacy.noise.sources import secure_source
from dpcvx.privacy.pace import chosen_sampler
from dpcvx.privacy.samplers import categorical, is_below
from dpcvx.privacy.samplers.brackets import exponential
from dpcvx.privacy.samplers.entropy import extended


def release(law: Law, values: Any, sampler: str | None = None) -> Array:
    """Whole numbers (..., N) with noise of a law, `Laplace(scale)` or `Gaussian(scale)`.

    The sampler is "opendp" or "vector"; by default OpenDP's, and above 10,000 values the other.
    """
    exact = np.asarray(values)
    name = chosen_sampler(sampler, exact.size)
    rows = exact[None] if exact.ndim else exact[None, None]
    return np.asarray(rows + secure_source(law, rows.shape[-1], name).draw(rows)).reshape(exact.shape)


def select(scores: Sequence[int], scale: float) -> int:
    """One of several candidates with probability proportional to exp(-score/scale), scores whole numbers.

    The probability is exact, and how long it takes hardly depends on the scores.
    """
    exact, scale = checked_scores(scores), positive(scale, "scale")
    script = current_script()
    if script is not None:
        return script.selection(scale, exact)
    return categorical(exact, scale)


def toss(cost: int, scale: float, share: Fraction = Fraction(1)) -> bool:
    """A coin that shows True with probability share exp(-cost/scale), the cost a whole number of at least 0."""
    (exact,), scale = checked_scores([cost]), positive(scale, "scale")
    if exact < 0:
        raise ValueError("The cost of a coin must be at least 0.")
    if not 0 <= share <= 1:
        raise ValueError(f"The share of a coin must be between 0 and 1, not {float(share)}.")
    script = current_script()
    if script is not None:
        return script.coin(scale, exact, share)
    first = secrets.randbelow(share.denominator) < share.numerator
    second = is_below(*extended(0, 0), partial(exponential, exact / Fraction(scale)))
    return first and second  # both are drawn, whatever the first one shows
