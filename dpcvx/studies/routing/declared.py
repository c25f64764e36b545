"""What is declared before the first day: which times a link may take, and what one driver can change of them.

Times: link e takes between its empty time t_e and k t_e, in the unit of the usual trip. The box is public, and a time
above it counts as k t_e: privacy must hold for every day there is, so noise has to hide the widest box, and an incident
that takes 40 times as long must not widen it. The share of link-days that are clipped is reported. A link that takes no
time when it is empty, such as a connector of a zone, may take a ten-thousandth of the usual trip: a box without width
is no box, and all that is known of boxes would be lost to save next to no noise.

Neighbours, one of two:

    a day       all times of one day become any others in the box. Nobody who was on the road that day can be found
                out, nor all of them together.
    a driver    the time of a link is the mean over n drivers, each of whom tells times in the box for all links, as
                navigation does that fills what was not driven with usual times. One driver's tale becomes any other:
                entries move by at most 1/n of the width. n is public, fixed, and counts those who tell, not those
                who drive; a mean over the drivers of each link alone would be divided by numbers that are private.
"""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from decision_sets.changes import share
from decision_sets.networks import Routes
from dpcvx.arguments import positive
from dpcvx.arrays import Array
from dpcvx.errors import ArgumentError
from dpcvx.privacy import Change
from dpcvx.sets import LossSet

CEILING = 4.0  # times of empty links that a link may take
_LEAST = 1e-4  # of the usual trip, that every link may take


@dataclass(frozen=True)
class Declared:
    """The declared losses of some links, and days that lie in them.

    Attributes:
        loss_set: the box.
        days: (days, entries) the times of days in it.
        unit: the time that is called 1.
        ceiling: k.
        clipped: the share of link-days whose time was above the box, of links that take any time.
    """

    loss_set: LossSet
    days: Array
    unit: float
    ceiling: float
    clipped: float

    def change(self, drivers: int) -> Change:
        """What one of so many drivers can change."""
        return share(self.loss_set, drivers)


def declare_times(empty: Array, days: Array, unit: float, ceiling: float = CEILING) -> Declared:
    """The box of some links and their days in it.

    Args:
        empty: times of the links when they are empty.
        days: (days, links) times.
        unit: what is called 1, the time of a usual trip.
        ceiling: k, above 1.
    """
    if positive(ceiling, "ceiling") <= 1:
        raise ArgumentError(f"ceiling must be above 1, not {ceiling:g}: links take at least their empty time.")
    lower, upper = empty / unit, np.maximum(ceiling * empty / unit, _LEAST)
    time = cp.Variable(len(empty), name="time")
    loss_set = LossSet(time, [time >= lower, time <= upper], name=f"times of 1 to {ceiling:g} times the empty roads'")
    scaled = days / unit
    moving = empty > 0
    above = scaled[:, moving] > upper[moving] * (1 + 1e-12)
    return Declared(
        loss_set, np.clip(scaled, lower, upper), unit, ceiling, float(above.mean()) if moving.any() else 0.0
    )


def usual_trip(X: Routes, usual: Array) -> tuple[Array, float]:
    """The route that is fastest on usual times, and its time."""
    costs = usual[X.links]
    route = X.argmin(costs)
    return route, float(costs @ route)
