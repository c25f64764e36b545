"""Words and tables as HTML, escaped: whatever a notebook or a report shows comes from here."""

import re
from collections.abc import Iterable, Sequence
from html import escape

# Colours of a page, for light and for dark: a report and a notebook look alike.
NAMED = {
    "page": ("#ffffff", "#15181d"),
    "ink": ("#1b2129", "#e4e8ee"),
    "quiet": ("#55606d", "#a4aebb"),
    "line": ("#d3d9e0", "#3a424d"),
    "panel": ("#f4f6f8", "#1d2229"),
}
STACKED = 4  # columns above which a table becomes a list of rows where the window is narrow
_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?(\s?%)?(\s?±.*|\sto\s[-+\d.,e]+)?$")
_MISSING = ("", "-", "none", "vacuous", "nan", "inf")


class Html(str):
    """Markup that may be shown as it is; every other string is text and is escaped."""


def text(words: object) -> Html:
    """Markup as it is, anything else escaped."""
    return words if isinstance(words, Html) else Html(escape(str(words)))


def table(rows: Iterable[Sequence[object]], header: Sequence[object] = (), caption: str = "") -> Html:
    """A table whose first column names the rows; columns of numbers are aligned to the right."""
    lines = [tuple(row) for row in rows]
    numeric = [_numeric(line[k] for line in lines if k < len(line)) for k in range(max(map(len, lines), default=0))]
    parts = [f"<caption>{text(caption)}</caption>"] if caption else []
    if header:
        marks = [' class="number"' if k < len(numeric) and numeric[k] else "" for k in range(len(header))]
        names = "".join(f'<th scope="col"{mark}>{text(name)}</th>' for mark, name in zip(marks, header, strict=True))
        parts.append(f"<thead><tr>{names}</tr></thead>")
    body = "".join(f"<tr>{_row(line, header, numeric)}</tr>" for line in lines)
    kind = ' class="stacked"' if len(header) > STACKED else ""
    return Html(f"<table{kind}>{''.join(parts)}<tbody>{body}</tbody></table>")


def _row(line: tuple[object, ...], header: Sequence[object], numeric: list[bool]) -> str:
    cells = []
    for k, cell in enumerate(line):
        name = f' data-name="{text(header[k])}"' if len(header) > STACKED else ""
        mark = ' class="number"' if numeric[k] else ""
        cells.append(f"<td{mark}{name}>{text(cell)}</td>" if k else f'<th scope="row"{mark}{name}>{text(cell)}</th>')
    return "".join(cells)


def _numeric(cells: Iterable[object]) -> bool:
    """Whether a column holds numbers, but for what stands for missing ones."""
    words = [str(cell).strip() for cell in cells]
    found = [word for word in words if word.lower() not in _MISSING]
    return bool(found) and all(_NUMBER.match(word) for word in found)


def notebook(inner: str) -> Html:
    """What a notebook shows: markup in the colours of a report, light or dark as the notebook is."""
    return Html(f'<div class="dpcvx"><style>{_SHEET}</style>{inner}</div>')


def summary(words: str) -> Html:
    """A summary of lines "  key   text" below titles, as tables for a notebook."""
    blocks: list[tuple[str, list[tuple[str, str]]]] = []
    for line in words.splitlines():
        if not line.startswith(" ") or not blocks:
            blocks.append((line.strip(), []))
            continue
        key, _, value = line.strip().partition("  ")
        blocks[-1][1].append((key, value.strip()) if value else ("", key))
    shown = "".join(f"<p>{text(title)}</p>{table(rows) if rows else ''}" for title, rows in blocks)
    return notebook(shown)


def _values(dark: bool) -> str:
    return " ".join(f"--{name}: {pair[dark]};" for name, pair in NAMED.items())


_SHEET = (
    f".dpcvx {{ {_values(dark=False)} background: var(--page); color: var(--ink); padding: .2rem .6rem; "
    "font: .9rem/1.5 system-ui, sans-serif; overflow-x: auto; }"
    f"@media (prefers-color-scheme: dark) {{ .dpcvx {{ {_values(dark=True)} }} }}"
    f"[data-jp-theme-light=true] .dpcvx, .vscode-light .dpcvx {{ {_values(dark=False)} }}"
    f"[data-jp-theme-light=false] .dpcvx, .vscode-dark .dpcvx {{ {_values(dark=True)} }}"
    ".dpcvx p { margin: .4rem 0; }"
    ".dpcvx table { border-collapse: collapse; font-variant-numeric: tabular-nums; color: inherit; }"
    ".dpcvx caption { caption-side: bottom; text-align: left; color: var(--quiet); }"
    ".dpcvx tr, .dpcvx tr:hover { background: none; }"
    ".dpcvx th, .dpcvx td { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; "
    "border-bottom: 1px solid var(--line); color: inherit; }"
    ".dpcvx .number { text-align: right; white-space: nowrap; }"
)
