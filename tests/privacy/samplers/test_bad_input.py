"""What the samplers refuse, in a sentence each."""

import os
from typing import Any

import numpy as np
import pytest

from dpcvx.errors import EntropyError
from dpcvx.privacy.samplers import (
    LEAST_SCALE,
    categorical,
    exact_scale,
    exponential_coins,
    gaussian,
    geometric,
    laplace,
    uniform_below,
)

SAMPLERS = (geometric, laplace, gaussian)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", [0, 0.0, -1.0, float("nan"), float("inf"), "1", None, True])
def test_scales_that_are_no_positive_numbers_are_refused(sampler: Any, scale: Any) -> None:
    with pytest.raises(ValueError, match="must be a positive number"):
        sampler(scale, 3)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_scales_beyond_64_bits_are_refused(sampler: Any) -> None:
    with pytest.raises(OverflowError, match="the largest scale is 2\\^55"):
        sampler(2.0**55 * (1 + 2**-52), 3)


def test_tiny_scales_are_rounded_up() -> None:
    assert exact_scale(1e-30) == LEAST_SCALE
    assert exact_scale(0.3) == 0.3


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_nothing_is_drawn_for_an_empty_shape(sampler: Any) -> None:
    assert sampler(2.0, 0).shape == (0,)
    assert sampler(2.0, (3, 0)).shape == (3, 0)
    assert sampler(2.0, ()).shape == ()


def test_bounds_of_uniform_draws_are_checked() -> None:
    for bounds in ([0, 1], [-1], [2**63 + 1]):
        with pytest.raises(ValueError, match=r"from 1 to 2\^63"):
            uniform_below(np.array(bounds))
    with pytest.raises(ValueError, match="must be integers, not float64"):
        uniform_below(np.array([1.0]))


def test_costs_of_coins_are_checked() -> None:
    for costs in (np.array([-1]), np.array([0.5])):
        with pytest.raises(ValueError, match="must be 64-bit integers of at least 0"):
            exponential_coins(costs, 1.0)
    with pytest.raises(ValueError, match="at least one candidate"):
        categorical([], 1.0)


def _no_entropy(count: int) -> bytes:
    raise NotImplementedError("no source of randomness found")


def _short(count: int) -> bytes:
    return bytes(count // 2)


@pytest.mark.parametrize("broken", [_no_entropy, _short])
@pytest.mark.parametrize(
    "draw",
    [
        lambda: laplace(1.0, 5),
        lambda: gaussian(1.0, 5),
        lambda: geometric(1.0, 5),
        lambda: uniform_below(np.array([5])),
        lambda: exponential_coins(np.array([5]), 1.0),
        lambda: categorical([1, 2], 1.0),
    ],
)
def test_without_randomness_of_the_system_nothing_is_drawn(
    draw: Any, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(EntropyError, match="The operating system g"):
        draw()
