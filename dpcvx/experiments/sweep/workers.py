"""Where the tasks of a sweep run: processes of this machine, or a Dask cluster; the work itself is the same.

The task travels as bytes, with the modules that lie beside its file, so workers need no copy of it; what it takes from
installed packages, this one included, must be installed where they run.
"""

import importlib
import inspect
import io
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any
from urllib.parse import urlsplit

import cloudpickle
import numpy as np

from dpcvx.errors import ArgumentError
from dpcvx.experiments.sweep.folder import Row, Scalar, Setting, SweepError, described

Task = Callable[..., Any]

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
_IDLE_SECONDS = 60  # after so long without work a local worker ends
_CONNECT_SECONDS = 10


@dataclass(frozen=True)
class Pool:
    """Workers: how to give them a call, which makes a future, and how to take futures as they end."""

    submit: Callable[..., Any]
    as_completed: Callable[[Iterable[Any]], Iterable[Any]]


@contextmanager
def local(workers: int | None) -> Iterator[Pool]:
    """Processes of this machine, by default one for each core, with one thread of linear algebra each.

    A single worker is a process too: the number of threads of this process would show in the last digits. Workers stay
    for a while, for the next sweep; after an error they end at once.
    """
    loky = importlib.import_module("joblib.externals.loky")
    with _deaf():
        executor = loky.get_reusable_executor(
            workers or loky.cpu_count(),
            timeout=_IDLE_SECONDS,
            env=_ONE_THREAD,
            initializer=_end_with,
            initargs=(os.getpid(),),  # a number that its workers look for, not a guard of any state
        )

    def submit(*call: Any) -> Any:
        with _deaf():
            return executor.submit(*call)

    try:
        yield Pool(submit, as_completed)
    except BaseException:
        with _lost_quietly():
            executor.shutdown(kill_workers=True)
        raise


@contextmanager
def _lost_quietly() -> Iterator[None]:
    """No word of loky's thread that looks for a task which it has just thrown away, after its workers were ended."""
    said = threading.excepthook

    def hook(found: threading.ExceptHookArgs) -> None:
        if not (found.exc_type is KeyError and ".loky." in type(found.thread).__module__):
            said(found)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = said


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes and threads that are started in this do not hear Ctrl-C: their parent does, and ends them."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """Let this process end soon after its parent: a killed sweep leaves nobody at work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def cluster(address: str) -> Iterator[Pool]:
    """The workers of a Dask scheduler; what a lost worker had begun is given to another.

    Raises:
        SweepError: where it does not answer, or Dask is not installed.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise SweepError("A scheduler needs Dask, which is not installed: pip install 'dpcvx[cluster]'.") from error
    with _silent("distributed.client", "distributed.core"), _connected(distributed, address) as client:
        if not client.scheduler_info()["workers"]:
            warnings.warn(f"The scheduler {address} has no workers yet; the sweep waits for them.", stacklevel=2)
        yield Pool(partial(client.submit, pure=False), partial(distributed.as_completed, loop=client.loop))


@contextmanager
def _silent(*names: str) -> Iterator[None]:
    """Keep the log of lost workers from the terminal: where the sweep cannot go on, an error says so."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _connected(distributed: ModuleType, address: str) -> Any:
    place = urlsplit(address)
    try:
        if place.scheme not in ("tcp", "tls") or not place.hostname or not place.port:
            raise ArgumentError("the address must look like tcp://host:8786")
        socket.create_connection((place.hostname, place.port), timeout=_CONNECT_SECONDS).close()
        return distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except Exception as error:  # a server of another kind may send anything
        words = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        raise SweepError(f"The scheduler {address} cannot be reached: {words}.") from error


def packed(task: Task) -> bytes:
    """The task with the modules that lie beside its file.

    Raises:
        ValueError: where it holds something that cannot travel.
    """
    known = cloudpickle.list_registry_pickle_by_value()
    beside = [module for module in _beside(task) if module.__name__ not in known]
    for module in beside:
        cloudpickle.register_pickle_by_value(module)
    buffer = io.BytesIO()
    try:
        _Pickler(buffer).dump(task)
        return buffer.getvalue()
    except Exception as error:
        raise ArgumentError(f"task {task.__qualname__} cannot be sent to workers: {error}.") from error
    finally:
        for module in beside:
            cloudpickle.unregister_pickle_by_value(module)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # untyped
    """Takes along functions with a cache, which otherwise travel by name even if their module stays behind."""

    def reducer_override(self, content: Any) -> Any:
        if isinstance(content, _CACHED) and _stays_behind(content.__module__):
            return _cached_anew, (content.__wrapped__, content.cache_parameters())
        return super().reducer_override(content)


def _stays_behind(module: str) -> bool:
    return module == "__main__" or module not in sys.modules or module in cloudpickle.list_registry_pickle_by_value()


def _cached_anew(function: Task, parameters: Mapping[str, Any]) -> Task:
    cached: Task = lru_cache(**parameters)(function)
    return cached


def _beside(task: Task) -> list[ModuleType]:
    folder = Path(inspect.getfile(task)).resolve().parent
    files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items() if "." not in name}
    single = [name for name, file in files.items() if file and Path(file).name != "__init__.py" and name != "__main__"]
    return [sys.modules[name] for name in single if Path(str(files[name])).resolve().parent == folder]


@dataclass(frozen=True)
class Failure:
    """What happened to a task that raised: an exception itself may be unable to travel."""

    sentence: str
    traceback: str


def perform(payload: bytes, setting: Setting, seed: int) -> list[Row] | Failure:
    """The unit of work: the rows of one setting and one seed."""
    name = file = ""
    try:
        task = _unpacked(payload)
        name, file = task.__qualname__, inspect.getfile(task)
        return rows_of(task(seed=seed, **setting), setting, seed)
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        kind = type(error).__name__ + (f" at line {lines[-1]}" if lines else "")
        words = " ".join(str(error).split()) or "no message."
        where = described({**setting, "seed": seed})
        return Failure(f"{name or 'The task'} raised {kind} for {where}: {words}", traceback.format_exc())


@lru_cache(maxsize=1)
def _unpacked(payload: bytes) -> Task:
    """Once for many units, so that what the task keeps for later, such as a derived set, is there later."""
    task: Task = cloudpickle.loads(payload)
    return task


_CACHED = type(_unpacked)


def rows_of(returned: Any, setting: Setting, seed: int) -> list[Row]:
    """What a task returned, as rows that begin with its setting and seed.

    Raises:
        ValueError: where it is something else, or has a name of the setting.
    """
    rows = [returned] if isinstance(returned, Mapping) else returned
    if not isinstance(rows, Sequence) or not rows or not all(isinstance(row, Mapping) and row for row in rows):
        raise ArgumentError(f"a task must return a dict of names and numbers, or a list of them, not {returned!r}.")
    taken = {**setting, "seed": seed}
    for name in (name for row in rows for name in row):
        if not isinstance(name, str) or name in taken:
            raise ArgumentError(f"a result must have a name that is not one of the setting, not {name!r}.")
    return [{**taken, **{name: plain(value, name) for name, value in row.items()}} for row in rows]


def plain(value: object, name: str) -> Scalar:
    """A number, text, truth value or None of Python itself, also where it came from NumPy."""
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) not in (bool, int, float, str, NoneType):
        raise ArgumentError(f"{name} must be a number, a text, a truth value or None, not {value!r}.")
    return value  # type: ignore[return-value]  # its type was just looked at
