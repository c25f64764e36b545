"""One check for every learner, of the package or a user's own: does it keep the protocol, its state, its promises?"""

from collections.abc import Callable

from dpcvx.errors import LearnerCheckError
from dpcvx.learners.check.interruption import interruptions
from dpcvx.learners.check.memory import checkpoint, replicas, reproducibility
from dpcvx.learners.check.play import actions, alternation, arrays, horizon, interface, wrong_feedback
from dpcvx.learners.check.promises import certificate, copies, summary
from dpcvx.learners.check.subject import Broken, Make, Subject

# each raises `Broken` where the property does not hold, and returns why it does not apply, or None where it holds
PROPERTIES: dict[str, Callable[[Subject], str | None]] = {
    "interface": interface,
    "actions": actions,
    "horizon": horizon,
    "reproducibility": reproducibility,
    "alternation": alternation,
    "arrays": arrays,
    "wrong feedback": wrong_feedback,
    "interruption": interruptions,
    "replicas": replicas,
    "checkpoint": checkpoint,
    "certificate": certificate,
    "summary": summary,
    "copies": copies,
}


def check_learner(make: Make) -> dict[str, str]:
    """Check a learner of any kind: what it plays, what it refuses, what it remembers and what it promises.

    It plays some dozens of short runs, and with a horizon of up to 256 rounds also runs to its end.

    Args:
        make: a function of a seed that returns a new learner: an object with `act()`, `update(feedback)` and
            `decision_set`. With one seed it must play the same run again; with None it is the learner as it is used,
            which for a private one is the secure one. What else a learner has is checked too: `sees` ("loss", or
            "value" for a bandit), `loss_set`, `horizon`, `simulated(replicas, seed)`, `certificate`, `summary()`, and
            `lineage`, without which it cannot be saved.

    Returns:
        For every property "holds", or why it was not asked.

    Raises:
        ArgumentError: where `make` is no function of a seed.
        LearnerCheckError: where a property does not hold; its attribute `failed` is the name of the property.

    Example:
        >>> import decision_sets, dpcvx
        >>> Y = decision_sets.loss_box(3, 0, 1)
        >>> found = dpcvx.check_learner(lambda seed: dpcvx.LogBarrierBandit(3, Y, horizon=20, seed=seed))
        >>> found["actions"], found["interruption"], found["certificate"]
        ('holds', 'holds', 'not asked: it has no certificate')
    """
    subject = Subject(make)
    answers = {}
    for name, asked in PROPERTIES.items():
        try:
            reason = asked(subject)
        except Broken as broken:
            raise LearnerCheckError(f"{subject.name} fails the check of {name}: {broken}", name) from None
        except Exception as error:
            said = f"it raised {type(error).__name__}: {error}"
            raise LearnerCheckError(f"{subject.name} fails the check of {name}: {said}", name) from error
        answers[name] = "holds" if reason is None else f"not asked: {reason}"
    return answers
