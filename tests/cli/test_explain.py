"""`meanbounds explain`: the page in a real browser, on a phone and on a desk, against the numbers of the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import meanbounds as mb
from meanbounds.cli import main
from meanbounds.logs.explaining.words import total
from tests.servers import browser

PHONE, DESK = 390, 1200
SMALLEST = 11.0  # pixels of a letter
COLUMNS = ["--context", "context", "--arm", "arm", "--reward", "reward"]
HOSTILE = "<script>alert(1)</script> & \u202e 'co'"
OPTIONS = ["tPA", "</td><img src=x onerror=alert(1)>", "watch"]
TWO = mb.HiddenContexts(
    [[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]], [[0.85, 0.3, 0.2], [0.5, 0.6, 0.1]]],
    [[0.4, 0.1], [0.3, 0.2]],
    contexts=["north" + " by north" * 12, HOSTILE],
    arms=OPTIONS,
)
JUDGED = mb.logs.ErringExpert(0.02, gap_low=0.3, gap_high=0.8)

MEASURE = """() => {
  const luminance = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/rgba\\(.*, 0\\)|transparent/.test(colour)) return colour;
    }
    throw new Error('no background');
  };
  const found = {small: [], faint: [], outside: [], overlapping: [], texts: 0};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const ratios = new Map();
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), e = walker.currentNode.parentElement;
    if (!text || !e.checkVisibility() || ['TITLE', 'title', 'desc', 'STYLE'].includes(e.tagName)) continue;
    found.texts += 1;
    const style = getComputedStyle(e), svg = e.closest('svg');
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    if (parseFloat(style.fontSize) * scale < 11) found.small.push([text, parseFloat(style.fontSize) * scale]);
    const key = [svg ? style.fill : style.color, behind(svg ? svg.parentElement : e)].join('|');
    if (!ratios.has(key)) {
      const [low, high] = key.split('|').map(luminance).sort((a, b) => a - b);
      ratios.set(key, (high + 0.05) / (low + 0.05));
    }
    if (ratios.get(key) < 4.5) found.faint.push([text, key, ratios.get(key)]);
  }
  for (const svg of document.querySelectorAll('svg')) {
    const box = svg.viewBox.baseVal, texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBBox()]);
    for (const [text, b] of texts)
      if (b.x < -0.5 || b.x + b.width > box.width + 0.5 || b.y < -2 || b.y + b.height > box.height + 2)
        found.outside.push([text, b.x, b.x + b.width, b.y + b.height, box.height]);
    texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
      if (a.x < b.x + b.width && b.x < a.x + a.width && a.y + 2 < b.y + b.height - 2 && b.y + 2 < a.y + a.height - 2)
        found.overlapping.push([one, other]);
    }));
  }
  found.width = document.documentElement.scrollWidth;
  return found;
}"""

STRUCTURE = """() => ({
  scripts: document.querySelectorAll('script, img, link, iframe, [onerror]').length,
  levels: [...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1]),
  tables: [...document.querySelectorAll('table')].every(t => t.caption && t.caption.textContent.trim()
    && [...t.querySelectorAll('th')].every(h => ['col', 'row'].includes(h.scope))),
  pictures: [...document.querySelectorAll('svg')].every(s => s.getAttribute('role') == 'img'
    && s.querySelector('title').textContent && s.querySelector('desc').textContent && s.getAttribute('aria-label')),
  number: document.querySelectorAll('svg').length,
  colours: [...document.querySelectorAll('.o')].map(o => [o.textContent, o.className]),
})"""

TABLE = """table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => ({
  text: cell.textContent, options: [...cell.querySelectorAll('.o')].map(o => o.textContent)})))"""


@dataclass(frozen=True)
class Shown:
    """A page in the browser, with what the library says."""

    tab: Any
    counts: mb.logs.Counts
    found: mb.logs.Explanation
    size: int
    said: list[str]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Shown]]:
    """The stroke trial, a log with two contexts, and one with 5,000, each opened once."""
    folder = tmp_path_factory.mktemp("explained")
    trial, many = mb.stroke_trial(), mb.HiddenContexts.random(visible=5_000, hidden=2, arms=3, seed=1)
    made = {
        "stroke": (trial.sample(100_000, seed=1), None, 8),
        "two": (TWO.sample(20_000, seed=3), JUDGED, 8),
        "many": (many.sample(500_000, seed=1), None, 8),
    }
    with ExitStack() as stack:
        window = stack.enter_context(browser())
        shown = {}
        for name, (counts, assumption, worlds) in made.items():
            found = mb.logs.explain(counts, assumption, worlds=worlds)
            path = folder / f"{name}.html"
            found.save(path, f"{name}<b>.csv")
            tab = window.new_page(viewport={"width": PHONE, "height": 800})
            said: list[str] = []
            tab.on("console", lambda message, to=said: to.append(message.text))
            tab.on("pageerror", lambda error, to=said: to.append(str(error)))
            tab.on("dialog", lambda dialog, to=said: to.append(dialog.message))
            tab.on("request", lambda request, to=said: to.append(request.url))
            tab.goto(path.as_uri())
            tab.evaluate("document.querySelectorAll('details').forEach((d, i) => { d.open = i < 21; })")
            shown[name] = Shown(tab, counts, found, path.stat().st_size, said)
        yield shown


NAMES = ("stroke", "two", "many")


@pytest.mark.parametrize("name", NAMES)
def test_legible_on_a_phone_and_on_a_desk_in_light_and_dark(pages: dict[str, Shown], name: str) -> None:
    page = pages[name]
    for width in (PHONE, DESK):
        page.tab.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark"):
            page.tab.emulate_media(color_scheme=scheme)
            seen = page.tab.evaluate(MEASURE)
            assert seen["width"] <= width
            assert seen["texts"] > 100
            assert {kind: seen[kind] for kind in ("small", "faint", "outside", "overlapping")} == {
                "small": [],
                "faint": [],
                "outside": [],
                "overlapping": [],
            }, (width, scheme)
    page.tab.emulate_media(color_scheme="dark", media="print")
    assert page.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.tab.evaluate(MEASURE)["faint"] == []
    page.tab.emulate_media(color_scheme="light", media="screen")


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_reader_finds_its_way_and_nothing_runs(pages: dict[str, Shown], name: str) -> None:
    page = pages[name]
    own = page.tab.evaluate("location.href")
    assert [text for text in page.said if text != own] == []
    assert page.size < 3_000_000
    seen = page.tab.evaluate(STRUCTURE)
    assert seen["scripts"] == 0
    assert seen["tables"]
    assert seen["pictures"]
    assert seen["number"] >= 5
    assert seen["levels"][0] == 1
    assert seen["levels"].count(1) == 1
    assert all(after <= before + 1 for before, after in zip(seen["levels"], seen["levels"][1:], strict=False))
    colours: dict[str, set[str]] = {}
    for option, colour in seen["colours"]:
        colours.setdefault(option, set()).add(colour)
    assert len(colours) == len(page.counts.arms)
    assert len({frozenset(own) for own in colours.values()}) == len(colours)
    assert all(len(own) == 1 for own in colours.values())


def tables(page: Shown, under: str) -> list[list[list[dict[str, Any]]]]:
    """The rows of all tables in some part of the page."""
    return [table.evaluate(TABLE) for table in page.tab.query_selector_all(f"{under} table")]


def names(page: Shown, cell: dict[str, Any]) -> tuple[str, ...]:
    """The options that a cell lists."""
    every = tuple(shown(arm) for arm in page.counts.arms)
    if re.fullmatch(r"all \d+ options", cell["text"]):
        return every
    if cell["text"].startswith("all but"):
        return tuple(arm for arm in every if arm not in cell["options"])
    return tuple(cell["options"])


def shown(name: object) -> str:
    """A name as the page shows it."""
    return str(name).replace("\u202e", "\\u202e")


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_the_library(pages: dict[str, Shown], name: str) -> None:
    page = pages[name]
    counts, assumption = page.counts, page.found.basis.assumption
    judged = mb.logs.bounds(counts, assumption)
    context_tables = tables(page, ".grid > div > details")
    assert len(context_tables) == len(page.found.shown) == min(len(counts.contexts), 12)
    for context, rows in zip(page.found.shown, context_tables, strict=True):
        place, own = counts.position(context), judged[context]
        assert len(rows) == len(counts.arms)
        for option, *cells in rows:
            arm = [shown(each) for each in counts.arms].index(option["text"])
            count, sum_of = counts.count[place, arm], counts.total[place, arm]
            assert [cell["text"] for cell in cells] == [
                f"{count:,.0f}",
                f"{count / counts.count[place].sum():.1%}",
                f"{sum_of / count:.2f}" if count else "-",
                f"{own.lower[arm]:.2f}",
                f"{own.upper[arm]:.2f}",
            ]
    for number, rung in enumerate(page.found.rungs, start=1):
        expected = mb.logs.bounds(counts, rung.assumption)
        *decisions, bounds = tables(page, f"[data-rung='{number}']")
        listed = {(row[0]["text"], row[1]["text"]): (row[2]["text"], row[3]["text"]) for row in bounds}
        for place, context in enumerate(page.found.shown):
            own = expected[context]
            if decisions:
                assert names(page, decisions[0][place][1]) == tuple(map(shown, own.pruned().arms))
            else:
                assert own.possible.all()
            for option_of, lower, upper in zip(own.arms, own.lower, own.upper, strict=True):
                assert listed[shown(context), shown(option_of)] == (f"{lower:.2f}", f"{upper:.2f}")


@pytest.mark.parametrize("name", NAMES)
def test_bounds_on_both_sides_of_a_tipping_point_give_the_decisions_that_the_page_names(
    pages: dict[str, Shown], name: str
) -> None:
    page = pages[name]
    rows = page.tab.query_selector_all("tr[data-turn]")
    assert len(rows) == len(page.found.turns) >= 3
    for row in rows:
        turn = page.found.turns[int(row.get_attribute("data-turn"))]
        value, point = float(row.get_attribute("data-value")), turn.point
        cells = row.evaluate(TABLE.replace("[...table.tBodies[0].rows]", "[table]"))[0]
        assert cells[0]["text"] == shown(point.context)
        assert cells[1]["text"].split()[0] == point.direction
        way = 1e-6 if point.direction == "above" else -1e-6
        for side, cell in ((value - way, cells[2]), (value + 0.01 * way, cells[3])):
            given: dict[str, Any] = {}
            assumed = turn.assumption
            if point.assumption in ("shift", "confidence"):
                given[point.assumption] = side
            else:
                others = dict.fromkeys(page.counts.contexts, turn.start)  # which other values may contradict
                assumed = replace(assumed, **{point.assumption: {**others, point.context: side}})
            own = mb.logs.bounds(page.counts, assumed, **given)[point.context]
            assert names(page, cell) == tuple(map(shown, own.pruned().arms))


@pytest.mark.parametrize("name", NAMES)
def test_costs_and_sentences_are_on_the_page(pages: dict[str, Shown], name: str) -> None:
    page = pages[name]
    for kind, costs in zip(("judged", "any"), page.found.costs, strict=True):
        (rows,) = tables(page, f"[data-costs='{kind}']")
        for row, (label, mean) in zip(rows, costs.mean.items(), strict=True):
            assert row[0]["text"].lower() == label.lower()
            for cell, own, error in zip(row[1:], mean, costs.error[label], strict=True):
                assert cell["text"] == f"{total(own)} ± {total(2.0 * error)}"
    said = page.tab.query_selector("section.box").inner_text()
    for sentence in page.found.sentences:
        assert " ".join(shown(sentence).split()) in " ".join(said.split())
    text = page.tab.inner_text("main")
    for part in ("What the log has", "What follows", "When the decision tips", "ask an expert", "first decisions"):
        assert part in text
    sample = "a sample of 8 of its 5,000 contexts" in text
    assert sample == (name == "many")


def test_all_contexts_are_listed_in_folded_tables(pages: dict[str, Shown]) -> None:
    page = pages["many"]
    listed = page.tab.evaluate(
        "[...document.querySelectorAll('#all ~ details tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    assert [row[0] for row in listed] == [str(context) for context in page.counts.contexts]
    rows = page.counts.count.sum(axis=1)
    assert [row[1] for row in listed] == [f"{number:,.0f}" for number in rows]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TWO.write_log(tmp_path / "log.parquet", 2_000, seed=1)
    out = tmp_path / "page.html"
    command = ["explain", str(tmp_path / "log.parquet"), *COLUMNS, "--assume", "erring=0.05", "-o", str(out)]
    assert main(command) == 0
    said = capsys.readouterr().out
    counts = mb.logs.read(tmp_path / "log.parquet", context="context", arm="arm", reward="reward")
    found = mb.logs.explain(counts, mb.logs.ErringExpert(0.05), worlds=2)
    page = out.read_text(encoding="utf-8")
    assert "160 worlds" in page
    assert "<h1>What log.parquet says" in page
    first, second, _ = (" ".join(shown(sentence).split()) for sentence in found.sentences)
    assert " ".join(said.split()).startswith(f"1. {first} 2. {second} 3. The first 1,000 decisions")
    assert said.endswith(f"written: {out}; open it in a browser\n")
