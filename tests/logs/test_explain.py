"""The page: its first screen concludes, everything is escaped, nothing is said twice, many contexts are summed up."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.agents.tree import Split, Tree
from tests.logs.three_logs import BAD, GOOD, UNCLEAR, log_of, made


class Reader(HTMLParser):
    """Texts by element, and whether every element that opens closes."""

    VOID = ("meta", "br")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self.open), data))

    def inside(self, tag: str) -> str:
        return " ".join(" ".join(text for path, text in self.texts if tag in path).split())


def binary(count: list[int], total: list[int], arms: list[str] | None = None) -> mb.logs.Counts:
    return made([count], [total], arms=arms)


STARS = made([[600, 400]], [[2400, 1000]], [[10000, 3000]], low=1, high=5, reward="stars")


@pytest.mark.parametrize(
    ("cases", "experts", "conclusion"),
    [
        (GOOD, mb.Experts(errors=0.0), "Keep your experts"),
        (BAD, mb.Experts(odds=1.5), "Take over"),
        (UNCLEAR, mb.Experts(), "Take over under a guard"),
    ],
)
def test_the_first_screen_concludes(cases: mb.simulation.HiddenContexts, experts: mb.Experts, conclusion: str) -> None:
    page = mb.logs.explain(log_of(cases), experts, seed=7)
    read = Reader(page.html)
    assert read.inside("h1") == conclusion
    head = read.inside("header")
    one = page.start.outlooks[0]
    assert one.because in head
    assert f"{one.value:.2f} is what your experts earn in “north”" in head
    assert one.best is not None
    assert re.sub(r"\+0\b", "0", f"{-1e3 * one.best.loss:+.0f} to {1e3 * one.best.gain:+.0f} successes") in head


def test_bounds_that_exclude_nothing_are_said_so_first() -> None:
    """0.2 did not (fault 16)."""
    head = Reader(mb.logs.explain(log_of(UNCLEAR)).html).inside("header")
    assert "The bounds from this log exclude no option in any context: each could be the best one." in head
    counts = binary([9_000, 1_000], [8_800, 10])
    head = Reader(mb.logs.explain(counts, mb.Experts(odds=1.2)).html).inside("header")
    assert "these cannot be the best option: “b”." in head
    assert "exclude no option" not in head


def test_the_experts_have_a_bar_among_the_options() -> None:
    """0.2 drew none (fault 16)."""
    page = mb.logs.explain(log_of(BAD))
    kinds = [tag[1].get("class") for tag in Reader(page.html).tags if tag[0] == "rect"]
    assert kinds.count("experts") == 2
    assert kinds.count("option") == 6
    bars = re.findall(r'<rect class="experts" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', page.html)
    for one, (left, width) in zip(page.start.outlooks, bars, strict=True):
        ends = (float(left) - 10.0) / 338.0, (float(left) + float(width) - 10.0) / 338.0
        assert ends == pytest.approx(one.limits, abs=2e-3)


def test_options_that_are_not_played_are_drawn_otherwise_and_named() -> None:
    page = mb.logs.explain(binary([600, 400, 5], [480, 200, 5])).html
    assert page.count('<rect class="out"') == 1
    assert "Not played, for too few rows or by name: “c”." in page


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "</svg><b>", '"><img src=x>', "a & b", "\x1b[31m", "{{ 7 * 7 }}"]
)
def test_names_are_escaped(name: str) -> None:
    names = {"contexts": [name, "south"], "arms": [name, "b"], "columns": (name,), "arm": name, "reward": name}
    counts = made([[60, 40], [50, 50]], [[60, 40], [50, 50]], **names, dropped={name: 1})
    read = Reader(mb.logs.explain(counts, promise=mb.Promise(at_least=0.5)).html)
    assert not {"script", "b", "img"} & {tag for tag, attributes in read.tags if attributes or tag != "b"}
    assert not [attributes for _, attributes in read.tags if "src" in attributes or "onerror" in attributes]
    shown = name.replace("\x1b", "\\x1b")
    assert f"“{shown}”" in read.inside("header")


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = mb.logs.explain(log_of(BAD), seed=7)
    page.save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text == page.html == page._repr_html_()
    assert not re.search(r"<script|<link|<img|https?://|@import|url\(", text)
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    assert len(text) < 60_000


def test_what_would_have_to_be_true_agrees_with_tipping() -> None:
    counts = log_of(GOOD.with_experts(errors=0.05))
    experts = mb.Experts(errors=0.05, gap_high=0.5)
    page = mb.logs.explain(counts, experts)
    tips = mb.logs.tipping(counts, experts, confidence=1.0 - 0.25 * 0.05)
    said = Reader(page.html).inside("main")
    for context, own in tips.items():
        for tip in own:
            value = f"{100 * tip.value:.3g}%" if tip.field in ("errors", "shift") else f"{tip.value:.3g}"
            assert f"{value} or {'more' if tip.weaker != (tip.field == 'gap_low') else 'less'}" in said
            assert f"{context}: “watch” can no longer be best" in said


def test_plain_averages_and_bounds_are_compared() -> None:
    said = Reader(mb.logs.explain(log_of(BAD), mb.Experts(odds=1.5)).html).inside("main")
    assert "plain averages say “aspirin” 0.86 > “watch” 0.35 > “heparin” 0.33" in said
    assert "the bounds confirm “aspirin” above “watch” and “aspirin” above “heparin”" in said
    said = Reader(mb.logs.explain(log_of(BAD)).html).inside("main")
    assert "of this order the bounds confirm nothing" in said


@pytest.mark.parametrize(
    ("counts", "caution"),
    [
        (binary([1, 0], [1, 0]), "The log has 1 row, which says next to nothing: is this the whole log?"),
        (binary([50, 50], [20, 20], ["a", "a "]), "The options “a” and “a␣” are counted apart"),
        (made([[50, 50]], [[20, 20]], dropped={"missing arm": 3}), "3 of 103 rows left out"),
    ],
)
def test_each_caution_is_on_the_page_once(counts: mb.logs.Counts, caution: str) -> None:
    """0.2 had none for some of these, and reported dropped rows three times (fault 20)."""
    read = Reader(mb.logs.explain(counts).html)
    assert " ".join(text for _, text in read.texts).count(caution) == 1
    assert caution in read.inside("header")
    assert read.inside("header").count("left out") == ("left out" in caution)


def test_many_contexts_are_summed_up() -> None:
    rows = np.arange(1, 101)[:, None] * [[6, 4]]
    counts = made(rows, rows // 2, contexts=[f"c{k}" for k in range(100)])
    page = mb.logs.explain(counts)
    assert page.html.count("<figure>") <= 3 * 20
    assert [one.context for one in page.start.outlooks] == [f"c{k}" for k in range(99, 79, -1)]
    assert "80 more contexts with fewer rows: not shown here." in page.html
    assert page.html.count("<summary>16 more</summary>") >= 2


@pytest.mark.parametrize(
    ("promise", "said"), [(mb.Promise(margin=0.01, total=30), "at most 30 points"), (None, "Nothing is promised")]
)
def test_the_promise_is_said_with_what_it_allows(promise: mb.Promise | None, said: str) -> None:
    page = Reader(mb.logs.explain(STARS, promise=promise).html).inside("main")
    assert said in page


def test_graded_rewards_use_their_own_range_and_unit() -> None:
    read = Reader(mb.logs.explain(STARS).html)
    assert "3.40 is what your experts earn" in read.inside("header")
    assert "points of stars in 1,000 decisions" in read.inside("header")
    ticks = [text for path, text in read.texts if path[-1:] == ("text",)]
    assert {"1", "2", "3", "4", "5"} <= set(ticks)


def test_the_odds_up_to_which_an_option_beats_the_experts_are_said_whatever_is_assumed() -> None:
    for experts in (mb.Experts(), mb.Experts(odds=1.5), mb.Experts(odds=5.0)):
        page = mb.logs.explain(log_of(BAD), experts)
        odds = page.start.outlooks[0].odds
        assert odds is not None
        assert odds[0] == "aspirin"
        assert odds[1] == pytest.approx(2.986, abs=0.01)
        said = Reader(page.html).inside("main")
        assert "north: “aspirin” earns more than your experts if unrecorded facts changed the odds" in said


SEVERITY = Split("severity", None, ("high",), ("low", "<b>"))
GROWN = Tree((Split("age", 75.0, missing="right"), SEVERITY, None, None, None))


def of_tree(tree: Tree) -> mb.logs.Counts:
    """A log in which everybody who is younger than 75 and severely ill does well with what is mostly not chosen."""
    count = np.array([[100, 500, 100], [300, 200, 0], [90, 10, 0], [0, 0, 0], [7, 0, 0]])[: len(tree.contexts)]
    total = np.round(count * [[0.9, 0.4, 0.3], [0.7, 0.5, 0.5], [0.5, 0.2, 0.5], [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]])
    return made(count, total, contexts=tree.contexts, arms=["tPA", "watch", "new"], columns=tree.columns, tree=tree)


def test_a_tree_is_drawn_with_what_experts_and_agent_do_in_each_leaf() -> None:
    page = mb.logs.explain(of_tree(GROWN), seed=7)
    read = Reader(page.html)
    drawn = [text for path, text in read.texts if path[-1:] == ("text",)]
    for said in ("age < 75", "severity = high", "severity not high", "age >= 75 (or missing)", "700 rows"):
        assert said in drawn
    assert "experts: “watch” 71%" in drawn
    assert "agent: would try “tPA”" in drawn
    assert "unknown: severity" in drawn
    assert "unknown: age" not in drawn  # it has no rows
    leaf = page.start.outlooks[0]
    assert (leaf.context, leaf.mostly.arm, leaf.wanted, leaf.differs) == (GROWN.contexts[0], "watch", "tPA", True)
    head, said = read.inside("header"), read.inside("main")
    assert "1,307 rows, 4 contexts, 3 options" in head
    assert "In the largest context, “age < 75 and severity = high”" in head
    assert "your experts mostly choose “watch” (71%) and earn about 0.46; the agent would rather try “tPA”" in said
    assert said.index("Where the agent would differ") < said.index("What the log says")


def test_what_experts_earn_in_a_leaf_is_drawn_towards_the_average_and_ends_are_not() -> None:
    found = mb.logs.start(of_tree(GROWN), seed=7)
    everywhere = (320 + 310 + 47 + 4) / 1307
    assert found.average == pytest.approx(everywhere)
    for one in found.outlooks:
        assert one.likely == pytest.approx((one.rows * one.value + 30 * everywhere) / (one.rows + 30))
        assert one.limits[0] <= one.value <= one.limits[1]


def test_an_instrument_is_said_to_be_assumed_with_what_it_adds() -> None:
    """With a ward that always gives one option and one that never does, its bounds are those of a trial."""
    count, total = np.array([[500.0, 500.0]]), np.array([[400.0, 200.0]])
    sums = np.zeros((4, 2, 1, 2))
    for place, sides in enumerate((count, total, total)):
        sums[place] = sides[0][None, None, :] * np.eye(2)[:, None, :]
    counts = made(count, total, instrument={"column": "<b>", "values": ["east", "west"], "sums": sums})
    page = mb.logs.explain(counts)
    read, said = Reader(page.html), "every “<b>” met the same kinds of cases, and mattered only through the option"
    assert f"if {said}." in read.inside("main")
    added = re.search(r"That “<b>” was partly chance makes the bounds (\d+)% narrower on average", read.inside("main"))
    alone = mb.logs.explain(made(count, total)).start.outlooks[0]
    widths = [sum(own.upper - own.lower for own in one.options) for one in (page.start.outlooks[0], alone)]
    assert added
    assert int(added[1]) == round(100 * (1 - widths[0] / widths[1])) > 50
    assert said in str(page.start)
    assert "if what you assume is true" in page.start.outlooks[0].because
