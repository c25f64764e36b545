"""
A learner in a service
======================

A learner that runs for months is stopped, killed and started again. Two things must not happen: that it forgets, and
that it *releases twice*. If a loss went through the noise twice, with different noise each time, its privacy would be
spent twice. This page shows a loop that can be killed at any moment, and what the package does against the rest.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import dpcvx

# %%
# The loop
# --------
#
# Three steps in this order: show the action, learn its loss, save. An action follows from what was saved, so a
# service that is killed anywhere shows the same action again. ``horizon=None`` is for services that do not know how
# long they will live.

SERVICE = """
import os, signal, sys
import decision_sets, dpcvx, numpy as np

path, rounds = sys.argv[1], int(sys.argv[2])
try:
    learner = dpcvx.load(path)
    print("goes on after round", learner.rounds)
except dpcvx.MissingCheckpointError:
    X, Y = decision_sets.simplex(3), decision_sets.loss_box(3, 0, 1)
    learner = dpcvx.FTRL(X, Y, horizon=None, epsilon=1.0)
    dpcvx.save(learner, path)
    print("starts anew")
rng = np.random.default_rng(learner.rounds)
while learner.rounds < rounds:
    action = learner.act()
    print("round", learner.rounds, "action", action.round(4), flush=True)
    if learner.rounds == 5 and "--crash" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)      # no goodbye, no cleaning up
    learner.update(np.clip([0.5, 0.2, 0.6] + 0.1 * rng.standard_normal(3), 0, 1))
    dpcvx.save(learner, path)
"""

folder = Path(tempfile.mkdtemp())
state = folder / "learner"


def serve(*arguments):
    """Run the service in a process of its own, and show what it prints."""
    ran = subprocess.run([sys.executable, "-c", SERVICE, str(state), *arguments], capture_output=True, text=True)
    print(ran.stdout.rstrip() or ran.stderr)
    if ran.returncode < 0:
        print(f"-- killed by {signal.Signals(-ran.returncode).name}")


# %%
# Killed
# ------

serve("10", "--crash")

# %%
# Started again
# -------------
#
# It goes on after the last saved round, and shows the action of round 5 again, the same as before: the noise in it is
# part of what was saved. Nothing was released twice.

serve("8")

# %%
# What is refused
# ---------------
#
# A copy of an old state, from a backup say, is older than what was shown. Going on from it would draw new noise for
# old losses. It is refused:

backup = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
serve("12")
for name, content in backup.items():
    if name == "learner":  # the state alone is brought back; the side file beside it remembers
        (folder / name).write_bytes(content)
try:
    dpcvx.load(state)
except dpcvx.CheckpointError as error:
    print("refused:", str(error).replace(str(folder), "..."))

# %%
# Where there is no other way, ``allow_rollback=True`` goes on all the same, and the certificate counts what is
# released twice:

learner = dpcvx.load(state, allow_rollback=True)
print("epsilon is now", learner.certificate.epsilon)
print(learner.certificate.notes[-1])

# %%
# What to look after
# ------------------
#
# * The folder is as secret as the losses: a checkpoint holds the true sums and their noise. It is readable by its
#   owner only.
# * A checkpoint is a pickle: load only your own.
# * ``learner`` and the side file beside it belong together. Move both, and only while no learner lives.
# * Threads may share a learner; a forked process may not, and is refused.
# * Log rounds and times, never losses. The package logs under ``logging.getLogger("dpcvx")``, and no record holds a
#   loss.
# * An exception is visible. Decide what a broken input counts as, before it comes: a loss in the middle of the set
#   says nothing.
#
# ``examples/service.py`` is the same as a program, with signals, a lock against a second instance, and losses from
# standard input.

for name in os.listdir(folder):
    (folder / name).unlink()
folder.rmdir()
