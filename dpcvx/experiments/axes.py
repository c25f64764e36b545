"""The matplotlib axes on which results draw themselves."""

import importlib
from typing import Any


def axes_or_new(ax: Any) -> Any:
    """The given axes, or those of a new figure; matplotlib is loaded only then."""
    if ax is not None:
        return ax
    return importlib.import_module("matplotlib.pyplot").figure(layout="constrained").add_subplot()


def plain_ticks(axis: Any, *, powers: bool = False) -> None:
    """Ticks at 1, 2 and 5 times powers of ten on a logarithmic axis, as plain numbers, or only at these powers."""
    ticker = importlib.import_module("matplotlib.ticker")
    axis.set_major_locator(ticker.LogLocator(subs=(1.0,) if powers else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())
