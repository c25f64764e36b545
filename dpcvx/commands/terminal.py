"""Output that every terminal can show: signs it has no letters for are written in those it has."""

import codecs
from typing import Any

_WRITTEN = {
    "±": "+-",
    "×": "x",
    "·": "*",
    "−": "-",
    "–": "-",
    "≤": "<=",
    "≥": ">=",
    "²": "^2",
    "√": "sqrt",
    "ε": "epsilon",
}
_HANDLER = "dpcvx.written"


def speak_any_language(stream: Any) -> None:
    """Let a text stream write signs that its encoding lacks in other letters, instead of failing."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors=_HANDLER)


def _other_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_WRITTEN.get(sign, "?") for sign in signs), error.end


codecs.register_error(_HANDLER, _other_letters)
