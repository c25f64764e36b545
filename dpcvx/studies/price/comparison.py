"""What is compared: learners in every setting, for every horizon and epsilon, on every sequence of losses."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from dpcvx.arguments import positive, share, whole
from dpcvx.errors import ArgumentError
from dpcvx.experiments.losses import GENERATORS, Losses
from dpcvx.privacy.neighbours import Neighbours
from dpcvx.studies.price.contenders import Contender, compared_role, contenders
from dpcvx.studies.settings import SETTINGS

HARD = ("const", "altdrift", "late_riser")  # hard for noise, for learning, and for both
Generator = Callable[..., Losses]


@dataclass(frozen=True)
class Comparison:
    """The arguments of `price_of_privacy` that say what is compared, after they were checked."""

    epsilons: tuple[float, ...]
    horizons: tuple[int, ...]
    settings: tuple[str, ...]
    losses: tuple[Generator, ...]
    replicas: int
    seed: int
    delta: float
    neighbours: str | Neighbours = "replace"

    @classmethod
    def checked(
        cls,
        epsilons: float | Iterable[float],
        horizons: int | Iterable[int],
        settings: Iterable[str],
        losses: Iterable[str | Generator],
        replicas: int,
        seed: int,
        delta: float | None,
        neighbours: str | Neighbours = "replace",
    ) -> "Comparison":
        """The comparison, or a ValueError about the first argument that is wrong; see `price_of_privacy`."""
        chosen = (settings,) if isinstance(settings, str) else tuple(dict.fromkeys(settings))
        for setting in chosen:
            if setting not in SETTINGS:
                raise ArgumentError(f"settings must be among {', '.join(SETTINGS)}, not {setting!r}.")
        played = (losses,) if isinstance(losses, str) or callable(losses) else losses
        comparison = cls(
            epsilons=tuple(sorted({positive(epsilon, "epsilon") for epsilon in _several(epsilons)})),
            horizons=tuple(sorted({whole(horizon, "horizon") for horizon in _several(horizons)})),
            settings=chosen,
            losses=tuple(_generator(kind) for kind in played),
            replicas=whole(replicas, "replicas"),
            seed=whole(seed, "seed", at_least=0),
            delta=share(0.0 if delta is None else delta, "delta"),
            neighbours=neighbours,
        )
        for name in ("epsilons", "horizons", "settings", "losses"):
            if not getattr(comparison, name):
                raise ArgumentError(f"{name} must hold at least one, but it is empty.")
        return comparison

    def arguments(self) -> dict[str, Any]:
        """The arguments with which `price_of_privacy` makes this comparison."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def tasks(self) -> list[Contender]:
        """The learners to be played, one for each row, short games first."""
        beside = compared_role(self.neighbours)
        made = (contenders(self.settings, horizon, self.epsilons, self.delta, beside) for horizon in self.horizons)
        return [one for each in made for one in each]


def _several(numbers: Any) -> Iterable[Any]:
    """The numbers of an iterable; a single number is taken as the only one."""
    try:
        return (numbers,) if isinstance(numbers, str) else tuple(numbers)
    except TypeError:
        return (numbers,)


def _generator(kind: str | Generator) -> Generator:
    if callable(kind):
        return kind
    if kind not in GENERATORS:
        raise ArgumentError(f"losses must be functions or among {', '.join(GENERATORS)}, not {kind!r}.")
    return GENERATORS[kind]
