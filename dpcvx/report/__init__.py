"""Reports: one HTML file that needs no network, legible in light and dark, on a phone and on paper."""

from dpcvx.report.figures import figure, side_by_side
from dpcvx.report.page import Page, paragraph, preformatted, table
from dpcvx.report.sections import certificate, declaration, reproduce

__all__ = [
    "Page",
    "certificate",
    "declaration",
    "figure",
    "paragraph",
    "preformatted",
    "reproduce",
    "side_by_side",
    "table",
]
