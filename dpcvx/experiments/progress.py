"""A progress bar on the terminal."""

import sys
import time
from dataclasses import dataclass
from typing import TextIO

import numpy as np


@dataclass
class ProgressBar:
    """One line that shows how far a loop is and how much longer it will take; without a stream it shows nothing."""

    total: int
    stream: TextIO | None
    _started: float = 0.0
    _shown: float = -np.inf

    def show(self, done: int) -> None:
        """Redraw the line, at most five times a second."""
        if self.stream is None:
            return
        now = time.monotonic()
        if now - self._shown < 0.2 and done < self.total:
            return
        self._shown = now
        elapsed = now - self._started
        full = 30 * done // self.total
        left = elapsed * (self.total - done) / done
        clock = f"{_clock(left)} left" if done < self.total else f"took {_clock(elapsed)}"
        self.stream.write(f"\r[{'#' * full:<30s}] {100 * done // self.total:3d} %  {done}/{self.total}  {clock}\x1b[K")
        self.stream.flush()

    def __enter__(self) -> "ProgressBar":
        self._started = time.monotonic()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None and np.isfinite(self._shown):
            self.stream.write("\n")


def progress_bar(total: int, wanted: bool | None) -> ProgressBar:
    """A bar on stderr for a loop of so many steps, where it is wanted; by default where stderr is a terminal."""
    shown = sys.stderr.isatty() if wanted is None else wanted
    return ProgressBar(total, sys.stderr if shown else None)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
