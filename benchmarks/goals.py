"""What benchmarks share: figures beside their goals, and steps timed in turn."""

import statistics
import time

missed = 0  # goals, of all that were reported


def report(what, ratio, goal, at_most):
    """One figure beside its goal."""
    global missed
    good = ratio <= goal if at_most else ratio >= goal
    missed += not good
    sign = "<=" if at_most else ">="
    print(f"{what:95s} {ratio:8.2f}   goal {sign} {goal:<6g} {'ok' if good else 'MISSED'}", flush=True)


def seconds(step, times):
    """Of computing for one step."""
    begun = time.process_time()
    for _ in range(times):
        step()
    return (time.process_time() - begun) / times


def in_turn(first, second, times, turns):
    """Median of the ratio of two steps, measured in turn; `times` says how often each is called in a turn."""
    first(), second()
    return statistics.median(seconds(first, times[0]) / seconds(second, times[1]) for _ in range(turns))
