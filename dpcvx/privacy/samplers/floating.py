"""What the samplers assume of floating-point arithmetic, and a check of it before the first draw.

With u = 2^-53:

    operations      +, -, *, / round to nearest: a relative error of at most u;
    conversions     of 64-bit integers have a relative error of at most 2u;
    log, log1p, exp of NumPy on arrays are within 4 units in the last place: a relative error of at most 8u.

The first two are IEEE 754 with room to spare. The third is what NumPy promises of its vectorised loops, and libraries
of C do better; `check_platform` refuses a platform on which it fails on some hundred arguments, and the tests look at a
million. Nothing else is assumed, so the bounds hold whichever of its loops NumPy takes.
"""

from decimal import Context, Decimal
from functools import lru_cache

import numpy as np

from dpcvx.arrays import Array

UNIT = 2.0**-53
ALLOWED = 8 * UNIT  # relative error of log, log1p and exp
_DIGITS = Context(prec=30)  # ln and exp of decimal are correctly rounded
_SUMS = Context(prec=1100)  # 1 plus any floating-point number


def largest_error(function: str, arguments: Array) -> float:
    """The largest relative error of NumPy's `log`, `log1p` or `exp` on an array, in units of 2^-53.

    The arguments of `log` lie in (0, 1), those of `log1p` in (-1, 0), those of `exp` are not positive.
    """
    computed = getattr(np, function)(arguments)
    worst = 0.0
    for argument, value in zip(arguments.tolist(), computed.tolist(), strict=True):
        exact = Decimal(argument)
        if function == "exp":
            true = _DIGITS.exp(exact)
        else:
            true = _DIGITS.ln(exact if function == "log" else _SUMS.add(exact, 1))
        worst = max(worst, abs(float(_DIGITS.divide(_DIGITS.subtract(Decimal(value), true), true))))
    return worst / UNIT


@lru_cache(maxsize=1)
def check_platform() -> None:
    """Refuse to draw where NumPy's functions are further from the truth than the samplers allow for."""
    spread = np.concatenate([np.geomspace(2.0**-12, 0.999, 40), 1 - np.geomspace(2.0**-53, 0.1, 40)])
    for function, arguments in (("log", spread), ("log1p", -spread), ("exp", -8 * spread)):
        error = largest_error(function, arguments)
        if not error * UNIT <= ALLOWED:
            raise RuntimeError(
                f"numpy.{function} is off by {error:.3g} times 2^-53 here, more than the 8 that exact samplers allow "
                'for; use sampler="opendp".'
            )
