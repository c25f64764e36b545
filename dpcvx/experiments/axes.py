"""The matplotlib axes on which results draw themselves."""

import importlib
from typing import Any


def axes_or_new(ax: Any) -> Any:
    """The given axes, or those of a new figure; matplotlib is loaded only then."""
    if ax is not None:
        return ax
    return importlib.import_module("matplotlib.pyplot").figure(layout="constrained").add_subplot()
