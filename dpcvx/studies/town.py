"""A small town: every round somebody drives from home to work, and only afterwards it is known how long roads took.

The routes are declared in cvxpy below; nothing else in the package knows that they are routes.
"""

import cvxpy as cp
import numpy as np

from dpcvx.arrays import Array
from dpcvx.sets import DecisionSet, LossSet
from dpcvx.streams import stream

PLACES = {
    "home": (0, 1),
    "park": (1, 2),
    "mill": (1, 1),
    "dock": (1, 0),
    "hill": (2, 2),
    "square": (2, 1),
    "yard": (2, 0),
    "work": (3, 1),
}
ROADS = {  # one-way, with the usual time as a share of the longest time that a road can take
    ("home", "park"): 0.4,
    ("home", "mill"): 0.1,
    ("home", "dock"): 0.25,
    ("mill", "park"): 0.5,
    ("mill", "dock"): 0.5,
    ("park", "hill"): 0.6,
    ("park", "square"): 0.5,
    ("mill", "square"): 0.1,
    ("dock", "square"): 0.6,
    ("dock", "yard"): 0.25,
    ("square", "hill"): 0.5,
    ("square", "yard"): 0.5,
    ("hill", "work"): 0.5,
    ("square", "work"): 0.1,
    ("yard", "work"): 0.25,
}
BUSY = (("home", "mill"), ("mill", "square"), ("square", "work"))  # roads that fill up in the rush hour
CLOSED = ("mill", "square")  # the road on which the accident happens
RUSH_HOURS = 8


def routes() -> DecisionSet:
    """From home to work: the share of drivers on every road, as many leaving a place as arriving there."""
    flow = cp.Variable(len(ROADS), nonneg=True, name="flow")
    leaving = {place: sum(flow[k] for k, (start, _) in enumerate(ROADS) if start == place) for place in PLACES}
    arriving = {place: sum(flow[k] for k, (_, end) in enumerate(ROADS) if end == place) for place in PLACES}
    between = [place for place in PLACES if place not in ("home", "work")]
    constraints = [leaving["home"] == 1] + [arriving[place] == leaving[place] for place in between]
    return DecisionSet(flow, constraints, name="routes from home to work")


def times() -> LossSet:
    """What the roads may take: each between 0 and 1."""
    time = cp.Variable(len(ROADS), name="time")
    return LossSet(time, [time >= 0, time <= 1], name="travel times")


def accident(horizon: int) -> int:
    """The round in which the road is closed for good."""
    return horizon // 3


def travel_times(horizon: int, seed: int = 0) -> Array:
    """The time on every road in every round, (horizon, roads): rush hours, an accident, and chance."""
    roads = list(ROADS)
    rush = np.maximum(0.0, np.sin(2 * np.pi * RUSH_HOURS * np.arange(horizon) / horizon)) ** 4
    mean = np.tile(list(ROADS.values()), (horizon, 1))
    mean += np.outer(rush, [0.15 if road in BUSY else 0.05 for road in roads])
    mean[accident(horizon) :, roads.index(CLOSED)] = 0.95
    chance = 0.1 * stream(seed, "travel_times").standard_normal(mean.shape)
    return np.asarray(np.clip(mean + chance, 0.0, 1.0))
