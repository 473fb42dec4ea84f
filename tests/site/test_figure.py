"""The interactive figure of the front page, in a real browser: its numbers are the library's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.support.theme import DARK, LIGHT
from tests import servers
from tests.servers import find_module

FOLDER = Path(__file__).parents[2] / "docs" / "interactive"
FRAGMENT = (FOLDER / "figure.html").read_text(encoding="utf-8")
STYLE = (FOLDER / "figure.css").read_text(encoding="utf-8")
SCRIPT = (FOLDER / "figure.js").read_text(encoding="utf-8")
SITE = "http://site.test/"  # answered by the tests, never looked up
WORLD: dict[str, Any] = json.loads(
    FRAGMENT.partition('<script type="application/json" class="mb-world">')[2].partition("</script>")[0]
)
ARMS = WORLD["arms"]
SLIDERS = ("strength", "errs", "errors", "gap_low", "gap_high")
CLOSE = 1e-9

# Moves every slider as a hand does, one after the other, and reads what is then shown.
MOVE = """positions => {
  const find = selector => document.querySelector(selector);
  const set = (input, value) => { input.value = value; input.dispatchEvent(new Event("input", {bubbles: true})); };
  return positions.map(([age, follow, moved]) => {
    find(`.mb-ages input[value="${age}"]`).click();
    Object.entries(moved).forEach(([name, value]) => set(find(`input[name="${name}"]`), value));
    if (find("input[name=follow]").checked !== follow) find("input[name=follow]").click();
    return {
      values: [...document.querySelectorAll(".mb-slider input")].map(input => Number(input.value)),
      rows: [...document.querySelectorAll(".mb-numbers tbody tr")].map(row => {
        const cells = [...row.querySelectorAll("td")].map(cell => ({...cell.dataset}));
        return Object.assign({arm: row.dataset.arm, text: row.textContent}, ...cells);
      }),
      bars: document.querySelectorAll(".mb-chart .mb-bar").length,
      sentence: find(".mb-sentence").textContent,
      call: find(".mb-call code").textContent,
    };
  });
}"""

SIZES = """() => [...document.querySelectorAll(".mb-figure *")]
  .filter(one => one.checkVisibility() && one.childElementCount === 0 && one.textContent.trim())
  .map(one => parseFloat(getComputedStyle(one).fontSize))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with servers.browser() as window:
        yield window


@contextmanager
def opened(browser: Any, width: int = 390) -> Iterator[Any]:
    """A page that includes the figure and nothing else; whatever its console says, or loads from afar, is an error."""
    whole = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Figure</title>'
        '<meta name="viewport" content="width=device-width"><style>body { margin: 8px }</style></head>'
        f"<body><main><h1>Figure</h1>{FRAGMENT}</main></body></html>"
    )
    files = {"page.html": whole, "figure.css": STYLE, "figure.js": SCRIPT}
    page = browser.new_page(viewport={"width": width, "height": 844})
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.route("**/*", lambda route: wrong.append(route.request.url))  # the latest route goes first
    kinds = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
    for name, text in files.items():
        answer = {"body": text, "content_type": kinds[name.partition(".")[2]]}
        page.route(SITE + name, lambda route, _, answer=answer: route.fulfill(**answer))
    try:
        page.goto(SITE + "page.html")
        page.wait_for_selector(".mb-chart svg")
        yield page
    finally:
        page.close()
    assert wrong == []


def the_world(age: str, strength: float) -> mb.HiddenContexts:
    """The world of one visible context."""
    own = WORLD["contexts"][age]
    means = np.array(own["means"]) - strength * np.array(WORLD["drop"])[:, None]
    return mb.HiddenContexts([means], [own["probabilities"]], contexts=[age], arms=ARMS)


def the_log(world: mb.HiddenContexts, errs: float) -> mb.logs.Counts:
    """An infinite log of a doctor who takes one of the other arms, at random, in a share of all cases."""
    best = world.best[..., None] == np.arange(len(ARMS))
    played = np.where(best, 1.0 - errs, errs / (len(ARMS) - 1))
    histogram = np.einsum("zu,zuk,zukv->zkv", world.probabilities, played, world.law)
    total = histogram @ world.values
    values = mb.logs.Histogram(world.values, world.values, histogram)
    return mb.logs.Counts(
        *(world.contexts, ARMS), count=histogram.sum(axis=2), total=total, squares=total, histogram=values
    )


def positions() -> list[tuple[str, bool, dict[str, float]]]:
    """A grid over all sliders, assumptions that are true, places at random, and some that the log may contradict."""
    ages = list(WORLD["contexts"])
    ends = [(0.0, 0.4, 0.5), (0.0, 0.2), (0.0, 0.03, 0.3), (0.0, 0.4), (0.2, 1.0)]
    grid = [(age, False, dict(zip(SLIDERS, place, strict=True))) for age in ages for place in product(*ends)]
    true = [(age, True, {"strength": s, "errs": e}) for age in ages for s in ends[0] for e in (0.0, 0.03, 0.2)]
    rng = np.random.default_rng(1)
    least, most = np.array([(0, 0, 0, 0, 20), (50, 20, 30, 40, 100)])
    drawn = (rng.integers(least, most + 1, (120, 5)) / 100).tolist()
    bold = list(product((0.5,), (0.0, 0.01), (0.0, 0.01), (0.35, 0.38, 0.4), (0.4, 1.0)))
    other = [(ages[k % 2], False, dict(zip(SLIDERS, place, strict=True))) for k, place in enumerate(drawn)]
    refused = [(age, False, dict(zip(SLIDERS, place, strict=True))) for age in ages for place in bold]
    return [*grid, *true, *other, *refused]


@pytest.fixture(scope="module")
def shown(browser: Any) -> list[tuple[str, bool, dict[str, Any]]]:
    """What the figure shows at each place."""
    places = positions()
    with opened(browser) as page:
        found = page.evaluate(MOVE, places)
    return [(age, follow, one) for (age, follow, _), one in zip(places, found, strict=True)]


def test_every_number_is_the_librarys(shown: list[tuple[str, bool, dict[str, Any]]]) -> None:
    refused = 0
    for age, follow, one in shown:
        strength, errs, errors, gap_low, gap_high = one["values"]
        assert gap_low <= gap_high
        world = the_world(age, strength)
        counts = the_log(world, errs)
        rows = one["rows"]
        assert [row["arm"] for row in rows] == ARMS
        assert [float(row["truth"]) for row in rows] == pytest.approx(world.marginal_means[0], abs=CLOSE)
        assert [float(row["naive"]) for row in rows] == pytest.approx((counts.total / counts.count)[0], abs=CLOSE)
        assumption = mb.logs.ErringExpert(errors, gap_low=gap_low, gap_high=gap_high)
        assert one["call"].startswith("mb.logs.bounds(counts, mb.logs.")
        called = eval(one["call"].removeprefix("mb.logs.bounds(counts, ").removesuffix(", infinite=True)"), {"mb": mb})
        assert called == (assumption if errors else mb.logs.OptimalExpert(gap_low, gap_high))
        try:
            found = mb.logs.bounds(counts, called, infinite=True)[age]
        except mb.BoundsError:
            refused += 1
            assert not any("lower" in row for row in rows)
            assert one["bars"] == 0
            assert "the log itself contradicts what you assume" in one["sentence"]
            continue
        assert [float(row["lower"]) for row in rows] == pytest.approx(found.lower, abs=CLOSE)
        assert [float(row["upper"]) for row in rows] == pytest.approx(found.upper, abs=CLOSE)
        assert one["bars"] == len(ARMS)
        written = [re.findall(r"\d\.\d{3}", row["text"]) for row in rows]
        exact = np.column_stack([counts.total[0] / counts.count[0], found.lower, found.upper, world.marginal_means[0]])
        assert np.array(written, dtype=float) == pytest.approx(exact, abs=0.0005 + CLOSE)
        if np.all((np.abs(found.upper - found.best_lower) > CLOSE) | (found.lower == found.best_lower)):
            assert [row["open"] == "true" for row in rows] == found.possible.tolist()
        if follow:
            assert (errors, gap_low, gap_high) == pytest.approx((errs, world.gap_low[0], world.gap_high[0]), abs=CLOSE)
            assert found.contains(world.marginal_means[0]).all()
    assert 10 < refused < 0.5 * len(shown)


def named(words: str) -> list[str]:
    return [arm for arm in ARMS if re.search(rf"\b{arm}\b", words)]


def test_the_sentence_says_what_is_there(shown: list[tuple[str, bool, dict[str, Any]]]) -> None:
    kinds = set()
    for _, _, one in shown:
        rows, sentence = one["rows"], one["sentence"]
        average, truth = ([float(row[name]) for row in rows] for name in ("naive", "truth"))
        first, best = ARMS[int(np.argmax(average))], ARMS[int(np.argmax(truth))]
        start, _, rest = sentence.partition("; ")
        assert named(start) == [arm for arm in ARMS if arm in {first, best}]
        assert ("both put" in start) == (first == best)
        if "lower" not in rows[0]:
            kinds.add("contradicted")
            continue
        bounds = mb.MeanBounds([float(row["lower"]) for row in rows], [float(row["upper"]) for row in rows], arms=ARMS)
        missed = [arm for arm, held in zip(ARMS, bounds.contains(truth), strict=True) if not held]
        out = [row["arm"] for row in rows if row["open"] != "true"]
        if missed:
            kinds.add("missed")
            assert named(rest.partition(", because")[0]) == missed
            assert re.search(r"because you assume too much: \S", rest)
        elif out:
            kinds.add("ruled out")
            assert named(rest) == out
        else:
            kinds.add("open")
            high = [arm for arm, mean, upper in zip(ARMS, average, bounds.upper, strict=True) if mean > upper + CLOSE]
            assert named(rest) == high
    assert kinds == {"contradicted", "missed", "ruled out", "open"}


def test_a_slider_moves_a_bound_by_keyboard(browser: Any) -> None:
    with opened(browser) as page:
        before = [float(one.get_attribute("data-upper")) for one in page.locator("td[data-upper]").all()]
        slider = page.get_by_label("The doctor errs in at most")
        slider.focus()
        page.keyboard.press("ArrowRight")
        after = [float(one.get_attribute("data-upper")) for one in page.locator("td[data-upper]").all()]
        assert slider.get_attribute("aria-valuetext") == "3% of cases"
        assert not page.get_by_label("just what is true").is_checked()
        assert np.subtract(after, before) == pytest.approx([0.012] * 3)  # one error in 100 more, and each adds 1 + 0.2
        page.get_by_label("under 65").check()
        assert float(page.locator("td[data-upper]").first.get_attribute("data-upper")) != after[0]


@pytest.mark.parametrize("width", [390, 1_200])
def test_it_is_readable(browser: Any, width: int) -> None:
    axe = find_module("axe_playwright_python.sync_playwright", "axe-playwright-python").Axe()
    with opened(browser, width) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        sizes = page.evaluate(SIZES)
        assert len(sizes) > 30
        assert min(sizes) >= 12.0
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found = axe.run(page).response["violations"]
            assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


def test_a_pages_theme_goes_before_that_of_the_system(browser: Any) -> None:
    with opened(browser) as page:
        for scheme, theme, colours in (
            ("light", None, LIGHT),
            ("dark", None, DARK),
            ("dark", "light", LIGHT),
            ("light", "dark", DARK),
        ):
            page.emulate_media(color_scheme=scheme)
            page.evaluate("theme => theme && document.documentElement.setAttribute('data-theme', theme)", theme)
            seen = page.evaluate("getComputedStyle(document.querySelector('.mb-figure')).backgroundColor")
            assert seen == f"rgb({', '.join(str(int(colours['page'][k : k + 2], 16)) for k in (1, 3, 5))})"


def test_colours_are_those_of_other_pages() -> None:
    blocks = re.findall(r"color-scheme: (light|dark);((?:\s*--mb-\w+: #\w+;)+)", STYLE)
    assert [scheme for scheme, _ in blocks] == ["light", "dark", "dark"]
    for scheme, block in blocks:
        colours = dict(re.findall(r"--mb-(\w+): (#\w+);", block))
        assert len(colours) >= 10
        assert colours == {name: (LIGHT if scheme == "light" else DARK)[name] for name in colours}
    assert not re.findall(r"#[0-9a-f]{3,6}", re.sub(r"--mb-\w+: #\w+;", "", STYLE))


def test_nothing_comes_from_elsewhere() -> None:
    for text in (FRAGMENT, STYLE, SCRIPT.replace("http://www.w3.org/2000/svg", "")):
        assert not re.search(r"https?:|url\(|@import|fetch\(|innerHTML", text)
    assert re.findall(r'(?:src|href)="([^"]+)"', FRAGMENT) == ["figure.css", "figure.js"]
    assert not re.search(r"<(html|head|body)\b", FRAGMENT)
