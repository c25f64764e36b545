"""Which sampler draws secure noise where none is named, and how long the noise of a round takes.

OpenDP's samplers are the reference, and the default as long as a round draws few values. Above that the package's own
are taken, whose draws have the same laws; see `samplers`.
"""

from dpcvx.privacy.noise import SAMPLERS, check_sampler

MANY = 10_000  # values a round above which OpenDP's sampler is not taken by itself
_MICROSECONDS = {"opendp": 10.0, "vector": 0.15}  # of one value on a machine of these years
_SLOW = 1000.0  # microseconds a round of which a summary tells


def chosen_sampler(name: str | None, draws: float) -> str:
    """The sampler that is named, or the one that is taken where a round draws so many values."""
    check_sampler(name)
    if name is not None:
        return name
    return "opendp" if draws <= MANY else "vector"


def sampler_notes(name: str | None, draws: float) -> tuple[str, ...]:
    """What a certificate says where the choice was not the user's and not the usual one."""
    if name is not None or draws <= MANY:
        return ()
    return (f'a round draws about {draws:,.0f} values of noise, so sampler="vector" was chosen',)


def slow_round(sampler: str, draws: float) -> str | None:
    """How long the noise of a round takes and how to change it, in a sentence; None where that is short."""
    taken = {name: draws * _MICROSECONDS[name] for name in SAMPLERS}
    if taken[sampler] < _SLOW:
        return None
    words = f"about {_duration(taken[sampler])} for {draws:,.0f} values"
    faster = min(taken, key=lambda name: taken[name])
    return words if faster == sampler else f'{words}; sampler="{faster}" draws them in about {_duration(taken[faster])}'


def _duration(microseconds: float) -> str:
    return f"{microseconds / 1e6:.2g} s" if microseconds >= 1e6 else f"{microseconds / 1e3:.2g} ms"
