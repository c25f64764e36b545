"""A learner in a service: started, stopped, killed and started again, it goes on as if nothing had happened.

    python service.py                       200 rounds of made-up losses
    python service.py --rounds 300          the same command goes on, to round 300
    python service.py --losses -            losses come on standard input, one line of three numbers a round

Each round is one line on standard output, {"round": 7, "action": [...]}. What makes a kill harmless is the order of
three steps: the action is shown, its loss is learned, the learner is saved. An action follows from what was saved, so a
service that is killed at any moment shows the same action again; nothing is released twice, and the certificate stays
as it was. A state that was brought back from a backup is older than what was shown, and is refused; `--allow-rollback`
goes on from it all the same, and the certificate then counts twice what was released twice.

The log says what happened and when, and holds no loss and no action. The folder is as secret as the losses themselves.
"""

import argparse
import fcntl
import json
import logging
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import cvxpy as cp
import numpy as np

import dpcvx

log = logging.getLogger("dpcvx.service")


class Stop(Exception):
    """The service was asked to end."""


class Signals:
    """SIGTERM and Ctrl-C end the service after the round at work, or at once while it waits for a loss."""

    def __init__(self):
        self.stopping = self.waiting = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.take)

    def take(self, number, frame):
        self.stopping = True
        if self.waiting:
            raise Stop

    @contextmanager
    def interruptible(self):
        self.waiting = True
        try:
            if self.stopping:
                raise Stop
            yield
        finally:
            self.waiting = False


@contextmanager
def only_one(folder):
    """Let one service play in a folder; another one ends at once."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"Another service plays in {folder}.")
        yield


def new_learner():
    """Shares of three suppliers; how many rounds there will be is not known."""
    share = cp.Variable(3, nonneg=True, name="share")
    price = cp.Variable(3, name="price")
    X = dpcvx.DecisionSet(share, [cp.sum(share) == 1, share <= 0.8], name="shares")
    Y = dpcvx.LossSet(price, [price >= 0, price <= 1], name="prices")
    return dpcvx.FTRL(X, Y, horizon=None, epsilon=1.0)


def made_up(seed=0):
    """Prices that nobody needs to protect."""
    rng = np.random.default_rng(seed)
    while True:
        yield np.clip([0.5, 0.3, 0.6] + 0.1 * rng.standard_normal(3), 0, 1)


def from_lines(file):
    """A loss a line, until there are no more; of a line that is none, nothing is kept or shown."""
    for line in iter(file.readline, ""):
        try:
            yield [float(number) for number in line.split()]
        except ValueError:
            yield []


def opened(path, allow_rollback):
    """The learner that was saved, or a new one, which is saved before it shows anything."""
    try:
        learner = dpcvx.load(path, allow_rollback=allow_rollback)
        log.info("goes on after round %d", learner.rounds)
    except dpcvx.MissingCheckpointError:
        learner = new_learner()
        dpcvx.save(learner, path)
        log.info("starts anew")
    except dpcvx.CheckpointError as error:
        log.error("%s", error)  # names files and generations
        sys.exit(1)
    return learner


def serve(learner, path, losses, signals, rounds):
    """Play until the losses, the rounds or somebody's patience end; what was learned is saved by then."""
    try:
        while rounds is None or learner.rounds < rounds:
            action = learner.act()
            print(json.dumps({"round": learner.rounds, "action": action.tolist()}), flush=True)
            with signals.interruptible():
                loss = next(losses, None)
            if loss is None:
                log.info("there are no more losses")
                break
            try:
                learner.update(loss)
            except (
                dpcvx.DpcvxError
            ) as error:  # its words show shapes and types; that it came is outside the certificate
                log.warning("round %d counts as one without news: %s", learner.rounds, error)
                learner.update(learner.loss_set.center)
            dpcvx.save(learner, path)
    except Stop:
        log.info("asked to stop")
    log.info("stops after round %d", learner.rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("service-state"), help="where the learner is kept")
    parser.add_argument("--rounds", type=int, default=200, help="the round after which it ends; 0: none")
    parser.add_argument("--losses", choices=["made-up", "-"], default="made-up", help="-: from standard input")
    parser.add_argument("--allow-rollback", action="store_true", help="go on from an older state, and certify that")
    arguments = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    signals = Signals()
    started = time.monotonic()
    with only_one(arguments.folder):
        path = arguments.folder / "learner"
        learner = opened(path, arguments.allow_rollback)
        certificate = learner.certificate
        log.info("promises epsilon = %g over any number of rounds, by %s", certificate.epsilon, certificate.mechanism)
        losses = made_up() if arguments.losses == "made-up" else from_lines(sys.stdin)
        serve(learner, path, losses, signals, arguments.rounds or None)
    log.info("ran for %.1f s", time.monotonic() - started)


if __name__ == "__main__":
    main()
