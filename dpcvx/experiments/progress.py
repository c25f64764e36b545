"""How far a long computation is: a bar on a terminal, a line every ten seconds elsewhere."""

import os
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TextIO

from dpcvx.storage.thread_lock import ThreadLock

_TERMINAL, _FIRST, _PIPED = 0.2, 1.0, 10.0  # seconds between two bars, before the first sign of life, between two lines
_WIDEST, _NARROWEST = 30, 4  # characters of a bar
_COLUMNS = 80  # of a terminal that does not tell


@dataclass
class ProgressBar:
    """Shows how far a loop is and how much longer it will take; without a stream it shows nothing.

    A sign of life comes after a second, also while the first step is still at work. On a terminal and in a notebook one
    line is redrawn, as wide as there is room; anywhere else a new line is written every ten seconds.

    Attributes:
        total: steps of the loop.
        stream: where it is shown, or None.
        label: what is being done; see `tell`.
    """

    total: int
    stream: TextIO | None
    label: str = ""
    _done: int = 0
    _started: float = 0.0
    _shown: float = -float("inf")
    _drawn: bool = False
    _width: int = 0
    _lock: ThreadLock = field(default_factory=ThreadLock, repr=False)
    _ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def show(self, done: int) -> None:
        """Note that so many steps are done; it is shown where enough time has passed since the last sign."""
        self._done = done
        if self.stream is None:
            return
        now = time.monotonic()
        if self._terminal:
            if now - self._shown >= _TERMINAL or (done >= self.total and self._drawn):
                self._draw(now)
        elif now - max(self._shown, self._started) >= _PIPED:
            self._draw(now)

    def tell(self, label: str, done: int | None = None) -> None:
        """Say what is being done now; it is shown with the next sign of life."""
        self.label = label
        if done is None:
            return
        self.show(done)

    @property
    def _terminal(self) -> bool:
        return self.stream is not None and _redrawn(self.stream)

    def _draw(self, now: float) -> None:
        assert self.stream is not None
        with self._lock:
            self._shown, self._drawn = now, True
            if self._terminal:
                line = self.line(now, columns_of(self.stream) - 1)
                rest = "\x1b[K" if self.stream.isatty() else " " * (self._width - len(line))  # erase what stood there
                self._width = len(line)
                self.stream.write(f"\r{line}{rest}")
            else:
                self.stream.write(f"{self.line(now, 120)}\n")
            self.stream.flush()

    def line(self, now: float, width: int) -> str:
        """Bar, share, steps, time and label in so many columns: the bar shrinks, then what has no room is left out."""
        elapsed, total = now - self._started, max(self.total, 1)
        done = min(self._done, total)
        clock = f"took {_clock(elapsed)}" if done >= total else f"{_clock(elapsed)} so far"
        if 0 < done < total:
            clock = f"{_clock(elapsed * (total - done) / done)} left"
        share = f"{100 * done // total:3d} %"
        for parts in ([share, f"{done}/{total}", clock, self.label], [share, f"{done}/{total}", clock], [share, clock]):
            words = "  ".join(part for part in parts if part)
            room = min(width - len(words) - 3, _WIDEST)
            if room >= _NARROWEST:
                return f"[{'#' * (room * done // total):<{room}s}] {words}"
        return share.strip()[:width]

    def __enter__(self) -> "ProgressBar":
        self._started = time.monotonic()
        if self.stream is not None:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def _tick(self) -> None:
        """Signs of life from a loop whose steps are long."""
        wait = _FIRST if self._terminal else _PIPED
        while not self._ended.wait(wait):
            now = time.monotonic()
            if now - self._shown >= wait:
                self._draw(now)

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        if self.stream is not None and self._drawn and self._terminal:
            self.stream.write("\n")


def _redrawn(stream: TextIO) -> bool:
    """Whether somebody watches the stream and a line can be written over: a terminal, or a cell of a notebook."""
    return stream.isatty() or type(stream).__module__.partition(".")[0] == "ipykernel"


def columns_of(stream: TextIO) -> int:
    """How wide the terminal behind a stream is now."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS


def progress_bar(total: int, wanted: bool | None) -> ProgressBar:
    """Progress on stderr for a loop of so many steps, where it is wanted; by default where somebody watches stderr."""
    shown = _redrawn(sys.stderr) if wanted is None else wanted
    return ProgressBar(total, sys.stderr if shown else None)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
