"""Matplotlib figures inside a page: inline SVG in the page's colours, with words for those who do not see it."""

import io
import re
from typing import Any

import matplotlib

from dpcvx import markup
from dpcvx.markup import Html
from dpcvx.report.style import COLOURS, variable
from dpcvx.storage.fingerprint import fingerprint

_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "dpcvx"}  # text stays text; the same figure gives the same file


def figure(drawn: Any, *, alternative: str, caption: str = "") -> Html:
    """A matplotlib figure as a block of a page.

    Args:
        drawn: the figure. Its black becomes the colour of the page's text, matplotlib's ten usual colours become ones
            that are legible on light and dark, and backgrounds become transparent. About 5 inches of width stay
            legible on a phone.
        alternative: what it shows, in a sentence, for screen readers.
        caption: below it.
    """
    if not alternative.strip():
        raise ValueError("alternative must say in words what the figure shows; it is empty.")
    below = f"<figcaption>{markup.text(caption)}</figcaption>" if caption else ""
    opening = f'<svg role="img" aria-label="{markup.text(alternative)}"'
    return Html(f"<figure>{_svg(drawn).replace('<svg', opening, 1)}{below}</figure>")


def side_by_side(*figures: Html) -> Html:
    """Figures in one row where there is room, below each other where there is not."""
    return Html(f'<div class="beside">{"".join(figures)}</div>')


def _svg(drawn: Any) -> str:
    """The bare element: no prolog, no metadata, no fixed size, colours of the page, ids of its own."""
    buffer = io.StringIO()
    with matplotlib.rc_context(_SETTINGS):
        drawn.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r"<svg \1>", svg, count=1)
    svg = re.sub(r"(font:[^;\"]*?px|font-family:) [^;\"]+", r"\1 system-ui, sans-serif", svg)
    return _own_ids(_page_colours(svg))


def _page_colours(svg: str) -> str:
    """Colours as variables, with the drawn colour for where the page does not define them."""
    svg = re.sub(r"(?<=[ \"])(stroke|fill): #000000", r"\1: currentColor", svg)
    svg = svg.replace("#ffffff", "var(--page, #ffffff)")
    for colour in COLOURS:
        svg = svg.replace(colour, f"var({variable(colour)}, {colour})")
    return svg


def _own_ids(svg: str) -> str:
    """Only ids that the figure refers to, under a name that no other figure has."""
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    prefix = f"f{fingerprint(svg)[:8]}-"
    svg = re.sub(r' id="([^"]+)"', lambda found: f' id="{prefix}{found[1]}"' if found[1] in used else "", svg)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}", svg)
