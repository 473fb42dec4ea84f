"""llms.txt: the whole site as one list of links, each with a line that says what is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.site.pages import LISTS, Listing, listings

__all__ = ["llms_text"]

ROLE = re.compile(r"\{py:obj\}`(\w+) <[\w.]+>`")  # a link of the reference
HEAD = """# meanbounds

> {description}

Every line below is a page of this site. The pages are also Markdown files in the folder docs of the repository.
"""


def llms_text(source: Path, description: str) -> str:
    """The file, from the lists of the staged pages, beginning with index.md."""
    parts = [HEAD.format(description=description)]
    for listing in walk(source, "index.md", set()):
        lines = [f"- [{item.title}]({item.page.removesuffix('.md')}.html): {item.line}" for item in listing.items]
        parts.append(ROLE.sub(r"`\1`", "\n".join([f"## {listing.heading}", "", *lines, ""])))
    return "\n".join(parts)


def walk(source: Path, page: str, seen: set[str]) -> Iterator[Listing]:
    """The lists of a page, then those of the pages in them."""
    seen.add(page)
    found = [] if page not in LISTS else listings((source / page).read_text(encoding="utf-8"), page)
    yield from found
    for listing in found:
        for item in listing.items:
            if item.page not in seen:
                yield from walk(source, item.page, seen)
