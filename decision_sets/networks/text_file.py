"""The text of a file, or the line at which it is none."""

from pathlib import Path

from dpcvx.errors import ArgumentError


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, without the mark that some programs begin it with; ends of lines as they are.

    Raises:
        ValueError: where it is no such text, with the line.
    """
    raw = path.read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ArgumentError(
            f"{path.name}, line {line}: the byte {raw[error.start]:#04x} is no UTF-8; save the file in that encoding."
        ) from error
