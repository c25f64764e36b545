"""Run a task for every setting of a grid and every seed: interrupted and resumed at will, on any number of workers."""

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from dpcvx.arguments import whole
from dpcvx.errors import ArgumentError
from dpcvx.experiments.progress import progress_bar
from dpcvx.experiments.sweep.folder import Row, Setting, SweepError, SweepFolder, described, identity
from dpcvx.experiments.sweep.result import SweepResult
from dpcvx.experiments.sweep.workers import Failure, cluster, local, packed, perform, plain
from dpcvx.storage.fingerprint import fingerprint


@dataclass(frozen=True)
class Sweep:
    """A task, the settings in which it is run, and the seeds with which each is repeated.

    Attributes:
        task: a function `task(seed=..., **setting)` that returns a dict of names and numbers or texts, or a list of
            such dicts; what it returns must follow from its arguments alone. A text that looks like a number is read
            back as one, and an empty one as None. Every setting gets the same seeds, so differences between settings
            are paired; for independent noise derive a seed from all arguments.
        settings: a dict of names and lists of values, all combinations of which are run, or a list of dicts. A value is
            a number, a text, a truth value or None; anything else has to be made in the task from such a value.
        seeds: how many, from 0 on, or which.

    Example:
        >>> import dpcvx
        >>> def task(seed, rounds, epsilon):
        ...     return {"regret": rounds**0.5 / epsilon}
        >>> grid = dpcvx.Sweep(task, {"rounds": [4, 16], "epsilon": [0.5, 1.0]}, seeds=2)
        >>> len(grid.settings)
        4
    """

    task: Callable[..., Any]
    settings: Any
    seeds: Any = 5

    def __post_init__(self) -> None:
        if not inspect.isfunction(self.task):
            raise ArgumentError(f"task must be a function, not {self.task!r}.")
        object.__setattr__(self, "settings", _grid(self.settings))
        object.__setattr__(self, "seeds", _numbers(self.seeds))
        for setting in self.settings:
            try:
                inspect.signature(self.task).bind(seed=0, **setting)
            except TypeError as error:
                name = self.task.__qualname__
                raise ArgumentError(f"task {name} cannot be called with seed, {described(setting)}: {error}.") from None

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        workers: int | None = None,
        scheduler: str | None = None,
        progress: bool | None = None,
    ) -> SweepResult:
        """Run what is missing in the folder; see `sweep`."""
        if scheduler is not None and workers is not None:
            raise ArgumentError("workers is for this machine; a scheduler has its own.")
        if workers is not None:
            whole(workers, "workers")
        files = SweepFolder(Path(folder))
        payload = packed(self.task)
        with local(workers) if scheduler is None else cluster(scheduler) as pool, files.opened(self._identity()):
            known = {identity(setting): list(files.rows(setting)) for setting in self.settings}
            missing = {key: set(self.seeds) - {row["seed"] for row in rows} for key, rows in known.items()}
            units = [(s, seed) for s in self.settings for seed in self.seeds if seed in missing[identity(s)]]
            futures = {pool.submit(perform, payload, dict(setting), seed): (setting, seed) for setting, seed in units}
            failures: dict[str, Failure] = {}
            with progress_bar(len(units), progress) as bar:
                for count, future in enumerate(pool.as_completed(list(futures)), start=1):
                    setting, seed = futures.pop(future)
                    key = identity(setting)
                    outcome = _gathered(future, setting, seed)
                    if isinstance(outcome, Failure):
                        if key not in failures:
                            files.write_failure(setting, f"{outcome.sentence}\n\n{outcome.traceback}")
                        failures.setdefault(key, outcome)
                    else:
                        known[key] += outcome
                        missing[key].remove(seed)
                    if not missing[key]:
                        files.write(setting, known[key])
                    bar.show(count)
        rows = [{**row, **setting} for setting in self.settings for row in files.rows(setting)]
        result = SweepResult(files.path, [row for row in rows if row["seed"] in self.seeds])
        if failures:
            raise _failed(list(failures.values()), len(self.settings), result)
        return result

    def _identity(self) -> dict[str, str]:
        """What a folder belongs to: the task by the names of its file and its own, its source without comments, and the
        plain values of the function around it.
        """
        name = f"{Path(inspect.getfile(self.task)).name}:{self.task.__qualname__}"
        try:
            source = textwrap.dedent(inspect.getsource(self.task))
        except OSError:  # typed at a prompt
            source = ""
        with suppress(SyntaxError):  # a lambda amid other words
            source = ast.unparse(ast.parse(source))
        enclosed = inspect.getclosurevars(self.task).nonlocals
        source += repr(sorted((k, v) for k, v in enclosed.items() if isinstance(v, bool | int | float | str)))
        return {"task": name, "source": fingerprint(source)}


def sweep(
    task: Callable[..., Any],
    settings: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    seeds: int | Iterable[int] = 5,
    *,
    folder: str | os.PathLike[str],
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Run a task for every setting and seed, one CSV file for each setting, and return all rows.

    The same call after an interruption, a kill included, runs only what is missing and ends with the same files, byte
    for byte, whatever the number of workers and the order in which they finish. The folder belongs to the task: more
    settings or seeds may be asked for later, and fewer; another task, or the same after its code was changed, is
    refused.

    Args:
        task, settings, seeds: see `Sweep`.
        folder: where the files are; made where it is missing.
        workers: processes of this machine, all its cores by default, with one thread of linear algebra each.
        scheduler: instead of them the address of a Dask scheduler, such as "tcp://host:8786". Its workers need this
            package but no disk in common; start them with one thread each, `dask worker ADDRESS --nthreads 1`.
        progress: whether to show a progress bar on stderr; by default where that is a terminal.

    Raises:
        SweepError: where tasks raised, after all others were run: each failed setting leaves a file `.failed` with its
            traceback, the same call tries it again, and `result` of the error holds what was finished. Or where workers
            or scheduler are lost, or the folder belongs to something else.
        ValueError: where an argument is wrong.
        OSError: where the folder cannot be written.

    Example:
        >>> import dpcvx, tempfile
        >>> def task(seed, rounds):
        ...     return {"regret": rounds**0.5 + seed}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = dpcvx.sweep(task, {"rounds": [4, 16]}, seeds=3, folder=f"{folder}/roots", workers=1)
        >>> result.means()
        [{'rounds': 4, 'regret': 3.0}, {'rounds': 16, 'regret': 5.0}]
    """
    return Sweep(task, settings, seeds).run(folder, workers=workers, scheduler=scheduler, progress=progress)


def _grid(settings: Any) -> tuple[Setting, ...]:
    """The settings, each with its names in order."""
    grid = tuple(
        {name: plain(setting[name], f"The setting {name}") for name in sorted(setting)}
        for setting in _settings(settings)
    )
    if not grid:
        raise ArgumentError("settings must hold at least one setting.")
    seen: set[str] = set()
    for setting in grid:
        if "seed" in setting:
            raise ArgumentError("settings must not have the name seed; seeds are an argument of their own.")
        if identity(setting) in seen:
            raise ArgumentError(f"settings holds {described(setting)} twice.")
        seen.add(identity(setting))
    return grid


def _settings(settings: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(settings, Mapping):
        for name, values in settings.items():
            if not isinstance(name, str):
                raise ArgumentError(f"settings must have texts as names, not {name!r}.")
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise ArgumentError(f"settings must give a list of values for {name}, not {values!r}.")
        yield from (dict(zip(settings, values, strict=True)) for values in product(*settings.values()))
        return
    if isinstance(settings, str) or not isinstance(settings, Iterable):
        raise ArgumentError(f"settings must be a dict of lists or a list of dicts, not {settings!r}.")
    for setting in settings:
        if not isinstance(setting, Mapping) or not all(isinstance(name, str) for name in setting):
            raise ArgumentError(f"settings must be a dict of lists or a list of dicts, but it holds {setting!r}.")
        yield setting


def _numbers(seeds: Any) -> tuple[int, ...]:
    if not isinstance(seeds, Iterable):
        return tuple(range(whole(seeds, "seeds")))
    numbers = tuple(sorted({whole(seed, "A seed", at_least=0) for seed in seeds}))
    if not numbers:
        raise ArgumentError("seeds must hold at least one seed.")
    return numbers


def _failed(failures: list[Failure], settings: int, result: SweepResult) -> SweepError:
    """The error about settings whose tasks raised, with what was finished."""
    first, others = failures[0], len(failures) - 1
    told = first.sentence
    if others:
        told = f"{told.rstrip('.')}; and {others} other setting{'s' if others > 1 else ''} of {settings} failed."
    error = SweepError(told)
    error.result, error.failures = result, tuple(one.sentence for one in failures)
    error.add_note(first.traceback)
    return error


def _gathered(future: Any, setting: Setting, seed: int) -> list[Row] | Failure:
    """The rows that a worker sent, or what its task raised.

    Raises:
        SweepError: where the worker was lost.
    """
    try:
        outcome: list[Row] | Failure = future.result()
    except Exception as error:  # of the process pool or of Dask: the task's own come as a Failure
        words = " ".join(str(error).split()).partition(". ")[0].rstrip(".") or "the connection was closed"
        raise SweepError(
            f"A worker or the scheduler was lost, as when memory runs out, with {described({**setting, 'seed': seed})} "
            f"({type(error).__name__}: {words}); finished settings are kept, and the same call goes on from there."
        ) from error
    return outcome
