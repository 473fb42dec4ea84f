"""The documentation site: built once, every link followed, and every page opened in a real browser from its file."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tools.site.pages import ROOT, tracked_pages
from tools.site.pictures import PICTURES
from tools.site.reference import ROOMS, public_names

from meanbounds.cli import COMMANDS
from tests import servers
from tests.test_docstrings import PUBLIC

PATIENCE = 60_000.0  # milliseconds
WIDTHS = (1_200, 390)
BROKEN = """() => [...document.querySelectorAll(".highlight-console .whole")]
  .filter(one => one.getClientRects().length > 1).map(one => one.textContent)"""
WIDER = """() => document.documentElement.scrollWidth > innerWidth
  || [...document.querySelectorAll(".highlight-console pre")].some(one => one.scrollWidth > one.clientWidth)"""
MADE_BY_SPHINX = {"genindex", "py-modindex", "search"}
MEASURED = {"choices.png": "benchmarks.choices"}  # drawn by the command that writes the page, which takes long


class Reader(HTMLParser):
    """What a page links to, and what can be linked to on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names, self.links, self.loaded = set[str](), list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.names |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "href" in given or "src" in given:
            self.loaded.append(given.get("href") or given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site; processes that test at the same time share one."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    html = folder / "site" / "html"
    command = [sys.executable, "-m", "tools.site", "--quick", "-o", str(html.parent)]
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (html / "llms.txt").exists():  # what a build writes last
            environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
            done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    return html


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Reader]:
    """Every page, by its path on the site."""
    found = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    return {str(path.relative_to(site)): Reader(path.read_text(encoding="utf-8")) for path in found}


def test_every_page_is_there(pages: dict[str, Reader]) -> None:
    wanted = {path.removeprefix("docs/").removesuffix(".md") + ".html" for path in tracked_pages()}
    assert wanted <= set(pages)
    assert {"index.html", "guide.html", "README.html", "api/logs.html", "api/command_line.html"} <= set(pages)


def test_every_link_and_anchor_leads_somewhere(site: Path, pages: dict[str, Reader]) -> None:
    broken, followed = [], 0
    for name, page in pages.items():
        for link in page.links + page.loaded:
            path, _, anchor = unquote(link).partition("#")
            if re.match(r"[a-z]+:", link) or link.startswith("search.html?"):
                continue
            target = (site / name).parent / path.partition("?")[0] if path else site / name
            there = pages.get(os.path.relpath(target, site))
            followed += 1
            if not target.exists() or (anchor and there is not None and anchor not in there.names):
                broken.append((name, link))
    assert broken == []
    assert followed > 10_000


def test_nothing_is_loaded_from_the_network(pages: dict[str, Reader]) -> None:
    loaded = {link for page in pages.values() for link in page.loaded if re.match(r"(https?:)?//", link)}
    assert loaded == set()


def test_every_public_name_is_in_the_reference(pages: dict[str, Reader]) -> None:
    anchors = {name for path, page in pages.items() if path.startswith("api/") for name in page.names}
    missing = [
        f"{room}.{name}"
        for room, name in PUBLIC
        if not {f"{room}.{name}", f"meanbounds.{name}", f"module-{room}.{name}"} & anchors
    ]
    assert missing == []
    assert {path for room in ROOMS for path in public_names(room)} <= anchors


def test_pages_that_docstrings_name_are_links(pages: dict[str, Reader]) -> None:
    links = {link for path, page in pages.items() if path.startswith("api/") for link in page.links}
    assert {"../trust.html", "../gittins.html", "../evidence.html"} <= links


def test_every_command_is_in_the_reference(pages: dict[str, Reader]) -> None:
    anchors = pages["api/command_line.html"].names
    assert [command.name for command in COMMANDS if f"meanbounds-{command.name}" not in anchors] == []


def test_llms_lists_every_page_once(site: Path, pages: dict[str, Reader]) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    own = {path for path in pages if not path.startswith(("files/", "_modules/"))}
    assert set(listed) | {"index.html"} == own - {f"{name}.html" for name in MADE_BY_SPHINX}


def test_pictures_are_made_by_the_build(site: Path) -> None:
    shown = {path.name for path in (site / "_images").iterdir()}
    assert shown == {Path(name).name for name in PICTURES} | set(MEASURED)
    for picture, module in MEASURED.items():
        assert picture in (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with servers.browser() as window:
        yield window


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab in which an error, a warning, or anything that is not in a file, is a failure."""
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": 900})
    said, asked = list[str](), list[str]()
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page
    page.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_pages_open_from_a_file_and_fit_a_phone(tab: Any, site: Path, pages: dict[str, Reader]) -> None:
    wide = []
    for name in pages:
        if name.startswith("_modules/"):  # all alike: one is enough
            continue
        tab.set_viewport_size({"width": WIDTHS[0], "height": 900})
        tab.goto((site / name).as_uri())
        tab.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise.then(() => true)")
        for width in WIDTHS:
            tab.set_viewport_size({"width": width, "height": 900})
            if tab.evaluate(WIDER) or tab.evaluate(BROKEN):
                wide.append((name, width))
    assert wide == []


def test_source_opens_too(tab: Any, site: Path) -> None:
    tab.set_viewport_size({"width": WIDTHS[1], "height": 900})
    tab.goto((site / "_modules/meanbounds/bounds.html").as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "class MeanBounds" in tab.inner_text("pre")


def test_formulas_are_drawn(tab: Any, site: Path) -> None:
    tab.goto((site / "theorems.html").as_uri())
    tab.wait_for_selector("mjx-container svg", timeout=PATIENCE)
    tab.evaluate("() => MathJax.startup.promise.then(() => true)")
    assert tab.locator("mjx-container svg").count() > 100
    assert tab.locator("[data-mjx-error], mjx-merror, [data-mml-node=merror]").count() == 0


def test_search_works_from_a_file(tab: Any, site: Path) -> None:
    tab.goto((site / "index.html").as_uri())
    tab.locator("button.search-button__button:visible").first.click()
    tab.locator("input[type=search]:visible").fill("variance_proxy_from_bounds")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#search-results ul.search li a", timeout=PATIENCE)
    found = tab.locator("#search-results ul.search li a").all_inner_texts()
    assert any("variance_proxy_from_bounds" in text for text in found)
    tab.locator("#search-results ul.search li a").first.click()
    tab.wait_for_url("**/api/bounds.html*", timeout=PATIENCE)
