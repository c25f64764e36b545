"""Saving and loading a learner: its sums, noise and accounting in one file, numbered if it is a secure one.

The file holds the true sums and the noise on them, so it is as secret as the losses themselves.
"""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dpcvx.checkpoints.lineage import Lineage, Mark, side_file
from dpcvx.checkpoints.state_file import place_of, read_state, write_state
from dpcvx.errors import CheckpointError
from dpcvx.storage.lock import locked

_KIND = "learner"


def save(learner: Any, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file, to be continued by `load`.

    Args:
        learner: anything of the package that plays.
        path: the file; it is replaced in one step. Beside a secure learner's file goes `<path>.generation`.

    Raises:
        CheckpointError: where the learner cannot be written: an own oracle that cannot be pickled, or a checkpoint
            that another learner continued.
    """
    if not hasattr(learner, "lineage"):
        raise ValueError(f"save takes a learner, not a {type(learner).__name__}.")
    with getattr(learner, "thread_lock", nullcontext()):  # no round of another thread meanwhile
        _save(learner, path)


def _save(learner: Any, path: str | os.PathLike[str]) -> None:
    path = place_of(path)
    before: Lineage | None = learner.lineage
    if before is None:
        write_state(path, learner, _KIND)
        return
    place = str(path)
    if before.saved_in is not None and before.saved_in != learner.rounds:
        before.outdate(but=place)
    with locked(path.parent):
        after = before.after_saving(place, learner.rounds)
        generation = after.places[place]
        learner.lineage = after  # it goes into the file
        try:
            write_state(path, learner, _KIND, generation)
            # an interruption here leaves a file that is newer than its mark, which `load` allows
            Mark(generation, after.rollbacks).write(path)
        except BaseException:
            learner.lineage = before
            raise


def load(path: str | os.PathLike[str], *, allow_rollback: bool = False) -> Any:
    """The learner in a file that `save` wrote; it goes on as if it had not been interrupted.

    A pickle can run any code: load only files that you wrote.

    Args:
        path: the file.
        allow_rollback: continue a secure learner from a checkpoint that is not its latest state; its certificate then
            counts what was released twice.

    Raises:
        CheckpointError: where the file is damaged, of another format, or an older generation.
    """
    path = place_of(path)
    with locked(path.parent):
        learner, generation = read_state(path, _KIND)
        if generation is None:
            return learner
        mark = _continued(path, generation, learner.lineage.rollbacks, allow_rollback)
        mark.write(path)
        learner.lineage.places[str(path)] = mark.generation
        learner.lineage.rollbacks = mark.rollbacks
        return learner


def _continued(path: Path, generation: int, rollbacks: int, allow_rollback: bool) -> Mark:
    """The mark of a checkpoint that is being continued.

    Args:
        path: the checkpoint.
        generation, rollbacks: what the checkpoint itself says.
        allow_rollback: whether it may be older than its mark.

    Raises:
        CheckpointError: where it is older, or its mark is missing, and may not be.
    """
    mark = Mark.read(path)
    if mark is not None and generation >= mark.generation:
        return Mark(generation, max(mark.rollbacks, rollbacks))
    if not allow_rollback:
        raise CheckpointError(
            f"{path} is generation {generation}, but "
            + (f"its side file {side_file(path)} is missing" if mark is None else f"{mark.generation} exists")
            + ". Continuing from it would release losses twice; allow_rollback=True does so and certifies it."
        )
    mark = mark or Mark(generation, rollbacks)
    return Mark(max(mark.generation, generation) + 1, mark.rollbacks + 1)
