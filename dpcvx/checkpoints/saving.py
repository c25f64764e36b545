"""Saving and loading a learner: its sums, noise and accounting in one file, numbered if it is a secure one.

The file holds the true sums and the noise on them, so it is as secret as the losses themselves.
"""

import logging
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dpcvx.arguments import kind_of
from dpcvx.checkpoints.lineage import Lineage
from dpcvx.checkpoints.mark import Mark, new_token, side_file
from dpcvx.checkpoints.state_file import Stamp, place_of, read_state, write_state
from dpcvx.errors import ArgumentError, CheckpointError
from dpcvx.storage.lock import locked

_KIND = "learner"
_log = logging.getLogger("dpcvx.checkpoints")  # records name files and rounds, and nothing that a loss could change


def save(learner: Any, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file, to be continued by `load`.

    A save that fails leaves the old checkpoint or the new one, and the learner may go on: before its next release it
    outdates whichever is there, or raises where it cannot.

    Args:
        learner: anything of the package that plays, or private sums that learners share: these learners are made anew
            on the sums that `load` returns.
        path: the file; it is replaced in one step. Beside a secure learner's file goes `<path>.generation`, without
            which neither the file nor the learner can be continued: move both, and only while no learner lives.

    Raises:
        CheckpointError: where the learner cannot be written: an own oracle that cannot be pickled, a learner on shared
            sums, or a checkpoint that another learner continued.
        ProtocolError: where a secure learner is saved in a forked process.
        OSError: where a file cannot be written.

    Example:
        >>> import decision_sets, dpcvx, tempfile
        >>> learner = dpcvx.FTRL(decision_sets.simplex(3), decision_sets.loss_box(3), horizon=100, epsilon=1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dpcvx.save(learner, f"{folder}/learner")
        ...     again = dpcvx.load(f"{folder}/learner")
        >>> again
        FTRL(simplex(3), round 0 of 100)
    """
    if not hasattr(learner, "lineage"):
        raise ArgumentError(f"save takes a learner, then a path, not {kind_of(learner)} first.")
    with getattr(learner, "thread_lock", nullcontext()):  # no round of another thread meanwhile
        _save(learner, path)
        _log.debug("saved %s", path)


def _save(learner: Any, path: str | os.PathLike[str]) -> None:
    path = place_of(path)
    if path.is_dir():
        raise CheckpointError(f"{path} is a folder, not a checkpoint.")
    if learner.lineage is None and getattr(learner, "secure", False):  # sums, which know nothing of files
        learner.lineage = Lineage()
    lineage: Lineage | None = learner.lineage
    if lineage is None:
        write_state(path, learner, _KIND)
        return
    lineage.guard.check()
    place = str(path)
    if lineage.saved_in == learner.rounds:
        lineage.check_marks()
    else:
        lineage.outdate(but=place)
    with locked(path.parent), lineage.saving(place, learner.rounds) as stamp:
        write_state(path, learner, _KIND, stamp)


def load(path: str | os.PathLike[str], *, allow_rollback: bool = False) -> Any:
    """The learner in a file that `save` wrote; it goes on as if it had not been interrupted.

    A pickle can run any code: load only files that you wrote.

    Args:
        path: the file.
        allow_rollback: continue a secure learner from a checkpoint that is not its latest state; its certificate then
            counts what was released twice.

    Raises:
        CheckpointError: where the file is damaged, of another format, or an older generation.
        MissingCheckpointError: where there is none.

    Example:
        >>> import decision_sets, dpcvx, tempfile
        >>> learner = dpcvx.FTRL(decision_sets.simplex(3), decision_sets.loss_box(3), horizon=100, epsilon=1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dpcvx.save(learner, f"{folder}/learner")
        ...     again = dpcvx.load(f"{folder}/learner")
        ...     for loss in ([0.0, 1.0, 1.0], [0.5, 0.2, 0.1]):
        ...         action = again.act()
        ...         again.update(loss)
        ...     try:  # the file is older now than what was released
        ...         dpcvx.load(f"{folder}/learner")
        ...     except dpcvx.CheckpointError as error:
        ...         print("would release losses twice" in str(error))
        True
    """
    path = place_of(path)
    with locked(path.parent):
        learner, stamp = read_state(path, _KIND)
        lineage: Lineage | None = learner.lineage
        if (stamp is None) != (lineage is None):
            raise CheckpointError(f"{path} is damaged: a secure learner has a generation, and no other has.")
        if stamp is None or lineage is None:
            return learner
        found = Mark.read(path)
        refusal = _refusal(path, stamp, found, lineage)
        if refusal and not allow_rollback:
            raise CheckpointError(
                f"{path} is generation {stamp.generation}, but {refusal}. Continuing from it would release losses "
                "twice; allow_rollback=True does so and certifies it."
            )
        rollbacks = max(lineage.rollbacks, found.rollbacks if found else 0)
        mark = Mark(stamp.generation, stamp.token, rollbacks)
        if refusal:
            latest = max(stamp.generation, found.generation if found else 0)
            mark = Mark(latest + 1, new_token(), rollbacks + 1)
            _log.warning("%s is continued although %s; its certificate counts that", path, refusal)
        if mark != found:
            mark.write(path)
        lineage.loaded(str(path), stamp, mark, learner.rounds)
        _log.debug("loaded %s after round %d", path, learner.rounds)
        return learner


def _refusal(path: Path, stamp: Stamp, mark: Mark | None, lineage: Lineage) -> str | None:
    """Why a checkpoint is not the latest state of its learner, or may not be; None where it is.

    Args:
        path: the checkpoint.
        stamp, lineage: what it holds.
        mark: what lies beside it, if there is one.
    """
    if mark is None:
        return f"its side file {side_file(path)} is missing"
    if lineage.was_overwritten(str(path), stamp):
        return "it lies over another checkpoint of its learner, whose side file is gone"
    if mark.token in (stamp.token, stamp.after):
        return None
    if mark.generation > stamp.generation:
        return f"{mark.generation} exists"
    return f"its side file {side_file(path)} belongs to another checkpoint"
