"""Which scales the samplers take: floating-point numbers, meant as the exact rational numbers that they are."""

from numbers import Real

import numpy as np

LEAST_SCALE = 2.0**-60
LARGEST_SCALE = 2.0**55  # a draw beyond 2^62 has a probability below exp(-127) then


def exact_scale(scale: object) -> float:
    """The scale as the samplers take it: rounded up to the least one where it is below that.

    Raises:
        ValueError: where it is no positive number.
        OverflowError: where draws might not fit into 64-bit integers.
    """
    if isinstance(scale, bool) or not isinstance(scale, Real) or not 0 < float(scale) < np.inf:
        raise ValueError(f"The scale of exact noise must be a positive number, not {scale!r}.")
    if float(scale) > LARGEST_SCALE:
        raise OverflowError(
            f"Noise of scale {float(scale):.6g} does not fit into 64-bit integers: the largest scale is 2^55; "
            "shorten the horizon, scale the losses or raise epsilon."
        )
    return max(float(scale), LEAST_SCALE)
