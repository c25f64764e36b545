"""The elements of a page, to be held against what a page should be."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img"}


class Outline(HTMLParser):
    """The elements of a page in order, and whether every one is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.elements = [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def having(self, key):
        return [attrs[key] for _, attrs in self.elements if key in attrs]
