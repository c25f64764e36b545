"""Follow every link of the built pages: `python docs/check_links.py docs/_build/html`.

A relative link must lead to a file, and its anchor to an id in it. Pages must need nothing from the network: no script,
style, picture or font of another host. Links to other hosts are listed by their number only; nobody is asked.
"""

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


@dataclass
class Page(HTMLParser):
    """The ids of a page, where it leads, and what it loads."""

    path: Path
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADS and LOADS[tag] in given and given.get("rel") not in ("canonical", "next", "prev", "search"):
            self.loaded.append(given[LOADS[tag]])


def faults(folder: Path) -> tuple[list[str], int, int]:
    """A sentence on each link that leads nowhere; how many led somewhere, and how many lead to other hosts."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    wrong, followed, elsewhere = [], 0, 0
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for link in page.links:
            split = urlsplit(link)
            if split.scheme or split.netloc:
                elsewhere += 1
                continue
            followed += 1
            target = (path.parent / unquote(split.path)).resolve() if split.path else path
            if not target.exists():
                wrong.append(f"{name}: {link} leads to no file.")
            elif split.fragment and target in pages and unquote(split.fragment) not in pages[target].ids:
                wrong.append(f"{name}: {link} leads to a file without that anchor.")
        for source in page.loaded:
            split = urlsplit(source)
            if split.scheme in ("http", "https") or split.netloc:
                wrong.append(f"{name}: {source} would be loaded from another host.")
            elif split.scheme != "data" and not (path.parent / unquote(split.path)).exists():
                wrong.append(f"{name}: {source} is missing.")
    return wrong, followed, elsewhere


def main() -> None:
    folder = Path(sys.argv[1])
    wrong, followed, elsewhere = faults(folder)
    print("\n".join(wrong))
    print(f"{followed} links followed, {len(wrong)} faults; {elsewhere} links lead to other hosts and were not tried.")
    if wrong or not followed:
        sys.exit(1)


if __name__ == "__main__":
    main()
