"""A page: a title, headings with blocks below them, and one file in the end."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpcvx import markup
from dpcvx.markup import Html
from dpcvx.report.style import SHEET
from dpcvx.storage.atomic_file import regular_place, write_atomically


class Page:
    """A report that grows by sections and is written as one HTML file, which loads nothing from elsewhere.

    Args:
        title: of the page and of its file's tab.
        subtitle: one sentence below it.
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title, self.subtitle = title, subtitle
        self._sections: list[str] = []

    def add(self, heading: str, *blocks: Html | str) -> "Page":
        """Append a section; plain strings among its blocks become paragraphs."""
        shown = [block if isinstance(block, Html) else paragraph(block) for block in blocks]
        self._sections.append("\n".join(["<section>", f"<h2>{markup.text(heading)}</h2>", *shown, "</section>"]))
        return self

    def render(self) -> str:
        """The whole file; the same sections give the same text."""
        below = f'<p class="subtitle">{_inline(self.subtitle)}</p>' if self.subtitle else ""
        return "\n".join(
            [
                '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<link rel="icon" href="data:,">',
                f"<title>{markup.text(self.title)}</title>\n<style>{SHEET}</style>\n</head>\n<body>\n<main>",
                f"<header><h1>{markup.text(self.title)}</h1>{below}</header>",
                *self._sections,
                "</main>\n</body>\n</html>\n",
            ]
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Put the page into a file in one step: a reader sees the old file or the new one, never half of it.

        A link is followed; what is there and is no regular file, such as a device, stays.

        Raises:
            OSError: where it cannot be written; nothing is left behind then.
        """
        write_atomically(regular_place(path), self.render().encode())
        return Path(path)


def paragraph(text: str) -> Html:
    """A paragraph; what stands between backquotes is set as code."""
    return Html(f"<p>{_inline(text)}</p>")


def preformatted(text: str) -> Html:
    """Lines as they are; long ones scroll within their box."""
    return Html(f'<pre tabindex="0">{markup.text(text)}</pre>')


def table(header: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "", *, label: str = "") -> Html:
    """A table that scrolls within its box where the window is narrow; the first column names the rows.

    Args:
        header, rows: what it shows; the header may be empty.
        caption: below it.
        label: what screen readers call it, by default the caption.
    """
    name = markup.text(label or caption or "table")
    inner = markup.table(rows, header, caption)
    return Html(f'<div class="wide" role="region" aria-label="{name}" tabindex="0">{inner}</div>')


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", markup.text(text))
