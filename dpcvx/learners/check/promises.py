"""What a learner promises: its certificate, its summary, and that a secure one exists once."""

import copy
import math
import pickle
from functools import partial

from dpcvx.learners.check.subject import SEED, Broken, Subject, refused


def certificate(subject: Subject) -> str | None:
    """It says truly whether it is private, for how many rounds and after how many."""
    for seed in (SEED, None):
        learner = subject.make(seed)
        rounds = subject.rounds(2)
        subject.run(learner, rounds)
        found = getattr(learner, "certificate", None)
        if found is None:
            return "it has no certificate"
        if found.secure and seed is not None:
            raise Broken("it was made with a seed, and its certificate claims to be secure.")
        text, fields = str(found), found.to_dict()
        if ("not private" in text) == bool(found.secure):
            said = "says" if found.secure else "does not say"
            raise Broken(f'its certificate with secure = {found.secure} {said} "not private".')
        stated = found.epsilon if math.isfinite(found.epsilon) else None  # as records have infinity
        if fields.get("secure") != found.secure or fields.get("epsilon", math.nan) != stated:
            raise Broken("to_dict of its certificate differs from the certificate.")
        if (found.horizon, found.rounds) != (subject.horizon, rounds):
            raise Broken(
                f"after {rounds} of {subject.horizon} rounds its certificate says {found.rounds} of {found.horizon}."
            )
    return None


def summary(subject: Subject) -> str | None:
    """It tells of itself."""
    if not hasattr(subject.sample, "summary"):
        return "it has no summary"
    told = subject.sample.summary()
    if not isinstance(told, str) or not told.strip():
        raise Broken(f"its summary must be a text, not {told!r}.")
    return None


def copies(subject: Subject) -> str | None:
    """A secure learner is not copied: its private state would be released twice."""
    secure = subject.make(None)
    if not getattr(getattr(secure, "certificate", None), "secure", False):
        return "it is not secure"
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        refused(partial(copied, secure), (Exception,), f"{copied.__name__} of a secure learner")
    return None
