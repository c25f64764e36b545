"""Words and tables as HTML, escaped: whatever a notebook or a report shows comes from here."""

from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """Markup that may be shown as it is; every other string is text and is escaped."""


def text(words: object) -> Html:
    """Markup as it is, anything else escaped."""
    return words if isinstance(words, Html) else Html(escape(str(words)))


def table(rows: Iterable[Sequence[object]], header: Sequence[object] = (), caption: str = "") -> Html:
    """A table whose first column names the rows."""
    parts = [f"<caption>{text(caption)}</caption>"] if caption else []
    if header:
        names = "".join(f'<th scope="col">{text(name)}</th>' for name in header)
        parts.append(f"<thead><tr>{names}</tr></thead>")
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td>{text(cell)}</td>" for cell in others)
        lines.append(f'<tr><th scope="row">{text(first)}</th>{cells}</tr>')
    return Html(f"<table>{''.join(parts)}<tbody>{''.join(lines)}</tbody></table>")
