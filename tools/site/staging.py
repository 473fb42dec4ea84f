"""Copy the pages into one folder, as Sphinx reads them."""

from __future__ import annotations

import shutil
from pathlib import Path

from tools.site.pages import LISTS, ROOT, listings, rewrite, site_path, tracked_pages
from tools.site.reference import write_reference

__all__ = ["Staging", "contents", "stage"]

FIGURE = "<!-- the interactive figure -->"  # in docs/index.md
ROOMS = "<!-- every public name -->"  # in docs/reference.md
FRAGMENT = ROOT / "docs" / "interactive" / "figure.html"
LANGUAGES = {".py": "python", ".toml": "toml", ".cff": "yaml", ".yml": "yaml", ".js": "javascript", ".css": "css"}


class Staging:
    """The folder that Sphinx reads, and what has been put there."""

    def __init__(self, folder: Path, made: frozenset[str] = frozenset()) -> None:
        self.folder, self.made, self.pages = folder, made, set(tracked_pages())
        self.files = set[str]()

    def follow(self, path: str) -> str:
        """Where a file of the repository is on the site; what a page links to comes with it."""
        if not (ROOT / path).exists() and path.removeprefix("docs/") not in self.made:
            raise SystemExit(f"a page links to {path}, which is not there: mend the link")
        new = site_path(path)
        if path not in self.pages and path not in self.files:
            self.files.add(path)
            if path.startswith("docs/"):
                self.copy_beside(path, new)
            else:
                self.write(new, shown(path))
        return new

    def copy_beside(self, path: str, new: str) -> None:
        """Copy a picture or another file that is no page, unless the build makes it."""
        if new not in self.made:
            target = self.folder / new
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target)

    def write(self, path: str, text: str) -> None:
        """Write a page."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def stage(folder: Path, made: frozenset[str] = frozenset()) -> Staging:
    """Write every page, with the settings of Sphinx, into an empty folder.

    Parameters
    ----------
    folder
        Where to write; it must not exist.
    made
        Pictures, as paths on the site, that the build draws.
    """
    folder.mkdir(parents=True)
    staging = Staging(folder, made)
    rooms = write_reference(staging.write)
    for path in tracked_pages():
        text = rewrite((ROOT / path).read_text(encoding="utf-8"), path, staging.follow)
        text = text.replace(ROOMS, rooms).replace(FIGURE, figure())
        staging.write(site_path(path), text + (contents(text, site_path(path)) if site_path(path) in LISTS else ""))
    shutil.copyfile(ROOT / "docs" / "conf.py", folder / "conf.py")
    shutil.copytree(ROOT / "docs" / "static", folder / "static")
    (folder / "extra").mkdir()
    if FRAGMENT.exists():  # what it loads has to be beside the page
        shutil.copytree(FRAGMENT.parent, folder / "extra", ignore=lambda *_: {FRAGMENT.name}, dirs_exist_ok=True)
        shutil.copyfile(FRAGMENT, folder / FRAGMENT.name)
    return staging


def contents(text: str, path: str) -> str:
    """The tables of contents of a page, from its lists; they are hidden, since the lists are there to read."""
    parts = []
    for listing in listings(text, path):
        entries = "\n".join(f"{item.title} </{item.page.removesuffix('.md')}>" for item in listing.items)
        parts.append(f"\n\n```{{toctree}}\n:hidden:\n:caption: {listing.heading}\n\n{entries}\n```\n")
    return "".join(parts)


def shown(path: str) -> str:
    """A page that shows a file of the repository which is no page."""
    language = LANGUAGES.get(Path(path).suffix, "text")
    text = (ROOT / path).read_text(encoding="utf-8")
    fence = "`" * 6
    return f"---\norphan: true\n---\n\n# {path}\n\n{fence}{language}\n{text}\n{fence}\n"


def figure() -> str:
    """The interactive figure of the front page, if there is one."""
    return f"```{{raw}} html\n:file: {FRAGMENT.name}\n```" if FRAGMENT.exists() else ""
