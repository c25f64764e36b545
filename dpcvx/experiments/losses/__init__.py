"""Loss sequences, oblivious and seeded, for any declared decision set X and loss set Y.

Every generator is `f(X, Y, horizon, seed=0, **options) -> Losses`. Those in `GENERATORS` ask X and Y only for their
oracles and work for all sets; `orthogonal` and `axes` are for one shape of Y. `from_array` and `from_file` read losses
of your own.
"""

from collections.abc import Callable

from dpcvx.experiments.losses.coins import axes, coins, gap, late_riser
from dpcvx.experiments.losses.recorded import from_array, from_file
from dpcvx.experiments.losses.schedules import altdrift, const, periodic, rotating, round_robin, switch
from dpcvx.experiments.losses.sequence import Losses
from dpcvx.experiments.losses.spiral import orthogonal

GENERATORS: dict[str, Callable[..., Losses]] = {
    "const": const,
    "altdrift": altdrift,
    "coins": coins,
    "gap": gap,
    "switch": switch,
    "late_riser": late_riser,
    "periodic": periodic,
    "rotating": rotating,
    "round_robin": round_robin,
}

__all__ = [
    "GENERATORS",
    "Losses",
    "altdrift",
    "axes",
    "coins",
    "const",
    "from_array",
    "from_file",
    "gap",
    "late_riser",
    "orthogonal",
    "periodic",
    "rotating",
    "round_robin",
    "switch",
]
