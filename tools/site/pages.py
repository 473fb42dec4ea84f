"""Which pages there are, where they are on the site, and which page lists which.

On the site the pages of docs are at the top. Every other file keeps its path. The pages of `LISTS` have items such as
``- [Title](page.md): what it says``: they are the tables of contents, and the lines of llms.txt.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "CODE",
    "LINK",
    "LISTS",
    "ROOT",
    "Item",
    "Listing",
    "listings",
    "rewrite",
    "site_path",
    "tracked_pages",
]

ROOT = Path(__file__).parents[2]
DOCS = "docs/"
BESIDE = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "SECURITY.md"),
    "benchmarks/RESULTS.md",
)  # pages outside docs
LISTS = ("index.md", "tutorials.md", "howto.md", "explanation.md", "reference.md")  # pages that list others
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|<!--.*?-->", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<open>\]\(|(?:src|href)=\")(?P<target>[^)\s\"]+)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
_ITEM = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<page>[^)#\s]+\.md)\):(?P<line>.*(?:\n(?!\n|- |#).*)*)", re.MULTILINE)


class Item(NamedTuple):
    """A page in a list: its title there, its path on the site, and what the list says of it."""

    title: str
    page: str
    line: str


class Listing(NamedTuple):
    """The items below one heading of a page."""

    heading: str
    items: list[Item]


def tracked_pages() -> list[str]:
    """Every page of the repository that is on the site, as a path from the repository's root.

    Examples
    --------
    >>> from tools.site.pages import tracked_pages
    >>> {"README.md", "docs/guide.md", "benchmarks/RESULTS.md"} <= set(tracked_pages())
    True
    """
    docs = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / DOCS).rglob("*.md"))
    return [*docs, *BESIDE]


def site_path(path: str) -> str:
    """Where a file of the repository is on the site.

    Examples
    --------
    >>> from tools.site.pages import site_path
    >>> site_path("docs/guide.md"), site_path("README.md"), site_path("src/meanbounds/bounds.py")
    ('guide.md', 'README.md', 'files/src/meanbounds/bounds.py.md')
    """
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    return path if path in BESIDE else f"files/{path}.md"


def is_local(target: str) -> bool:
    """Whether a link is to a file beside the page, and not to the page itself or to the network."""
    return re.match(r"[a-z][a-z+.-]*:|#|//", target) is None


def rewrite(text: str, path: str, follow: Callable[[str], str]) -> str:
    """Replace each link of a page to a file of the repository; code is left alone.

    Parameters
    ----------
    text
        The page.
    path
        Where the page is in the repository.
    follow
        Takes the path of a file in the repository and returns the one on the site.

    Examples
    --------
    >>> from tools.site.pages import rewrite, site_path
    >>> rewrite("[a](../README.md#more) [b](guide.md) `[c](d.md)`", "docs/agent.md", site_path)
    '[a](README.md#more) [b](guide.md) `[c](d.md)`'
    """
    here, there = posixpath.dirname(path), posixpath.dirname(site_path(path))

    def change(found: re.Match[str]) -> str:
        target, mark, anchor = found["target"].partition("#")
        if not target or not is_local(found["target"]):
            return found[0]
        new = follow(posixpath.normpath(posixpath.join(here, target)))
        return f"{found['open']}{posixpath.relpath(new, there or '.')}{mark}{anchor}"

    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [LINK.sub(change, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, LINK.sub(change, text[end:])])


def listings(text: str, path: str) -> list[Listing]:
    r"""The lists of other pages in a staged page, by heading; `path` is its own path on the site.

    Examples
    --------
    >>> from tools.site.pages import listings
    >>> listings("# All\n\n- [A](a.md): the first,\n  in two lines\n- [B](b.md#part): a part\n", "index.md")
    [Listing(heading='All', items=[Item(title='A', page='a.md', line='the first, in two lines')])]
    """
    text = CODE.sub(lambda found: found[0] if found[0].startswith("`") and "\n" not in found[0] else "", text)
    found, heads = list[Listing](), list(_HEADING.finditer(text))
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        part = text[head.end() : after.start() if after else len(text)]
        items = [
            Item(item["title"], posixpath.normpath(posixpath.join(posixpath.dirname(path), item["page"])), line)
            for item in _ITEM.finditer(part)
            for line in [" ".join(item["line"].split())]
        ]
        if items:
            found.append(Listing(head["text"], items))
    return found
