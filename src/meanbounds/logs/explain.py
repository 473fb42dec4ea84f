"""One page for the people who decide: what a log says, what it cannot say, and what would have to be true."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from meanbounds.bounds import EXPERT, Arm
from meanbounds.logs.counts import Counts
from meanbounds.logs.experts import ANYONE, Experts
from meanbounds.logs.log_agent import OF_BOUNDS
from meanbounds.logs.log_bounds import bounds
from meanbounds.logs.outlook import Outlook
from meanbounds.logs.pictures import Branch, Row, bars, branches, pins, swings
from meanbounds.logs.read import LOUD
from meanbounds.logs.start import Start, start
from meanbounds.logs.tipping import tipping
from meanbounds.logs.words import Words, amount, cautions, condition, listed, name_of, quantity, quoted, some
from meanbounds.support.optional import import_optional
from meanbounds.support.saving import write_atomically
from meanbounds.support.version import __version__

__all__ = ["Page", "explain"]

_LINES = 6  # of a list


@dataclass(frozen=True, eq=False)
class Page:
    """A page about a log, which any browser opens, and what it is about; `meanbounds.logs.explain` makes it.

    Attributes
    ----------
    html
        The page, in one piece: it needs no other file and no scripts.
    start
        The agent and what to expect of it.
    """

    html: str
    start: Start

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        write_atomically(path, lambda partial: partial.write_text(self.html, encoding="utf-8"))

    def _repr_html_(self) -> str:
        return self.html


def explain(counts: Counts, experts: Experts = ANYONE, **options: Any) -> Page:
    """Write a page for the people who decide, from the log of their experts.

    Its first screen concludes. Then it shows what the log says, what it cannot say, what would have to be true for
    another answer, what switching can gain or lose, what is promised, and what an agent would do first.

    Parameters
    ----------
    counts, experts
        As for `meanbounds.logs.start`.
    options
        More arguments of `meanbounds.logs.start`, such as ``promise=mb.Promise(failures=0.14)`` or ``shift=0.1``.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[600, 400]], [[480, 200]]
    >>> counts = mb.logs.Counts(["north"], ["tPA", "watch"], count, total, total)
    >>> page = mb.logs.explain(counts)
    >>> "<h1>Take over under a guard</h1>" in page.html, "<script" in page.html
    (True, False)
    """
    found = start(counts, experts, **options)
    return Page(_template().render(_Parts(found).all()), found)


@cache
def _template() -> Any:
    """The page without its contents. It escapes what it is given; the pictures have escaped their names."""
    jinja2 = import_optional("jinja2", "logs", "pages")
    page = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True).from_string(page)


class _Parts:
    """Everything that the template shows."""

    def __init__(self, found: Start) -> None:
        self.start, self.counts = found, found.counts
        self.words, self.several = Words.of(found.counts), sum(found.concluded.values()) > 1
        arms, level = [own.arm for own in found.outlooks[0].options], 1.0 - OF_BOUNDS * (1.0 - found.confidence)
        self.given: dict[str, Any] = {"confidence": level, "shift": found.shift, "arms": arms}
        contexts = [one.context for one in found.outlooks]
        self.tips = tipping(found.counts, found.experts, contexts=contexts, **self.given)

    def all(self) -> dict[str, Any]:
        """The variables of the template."""
        found, counts, shown = self.start, self.counts, self.start.outlooks
        contexts, where, tree = sum(found.concluded.values()), quoted(shown[0].context), counts.tree
        sizes = (counts.rows, "row"), (contexts, "context"), (len(shown[0].options), "option")
        draws = self._bars, self._pins, self._swings
        titles = [f"{name_of(one.context)}, {quantity(one.rows, 'row')}" for one in shown]
        pictures = [(title, *(draw(one) for draw in draws)) for title, one in zip(titles, shown, strict=True)]
        left = contexts - len(shown)
        return {
            "start": found,
            "words": self.words,
            "conclusion": found.in_words().removesuffix("."),
            "assumed": found.assumed,
            "added": self._added(),
            "trees": self._trees(),
            "differ": self._differ(),
            "columns": some([quoted(name) for name in counts.columns]),
            "cautions": [*self._dropped(), *cautions(counts), *found.warnings()],
            "sizes": ", ".join(quantity(*size) for size in sizes),
            "lead": [self._about(shown[0], shown[0].because, f"In the largest context, {where}"), self._excluded()],
            "largest": (" in the largest context" if tree else f" in {where}, the largest context") * self.several,
            "pictures": pictures,
            "left_out": f"{quantity(left, 'more context')} with fewer rows: not shown here." if left else "",
            "unsaid": [self._unsaid(one) for one in shown[:_LINES]],
            "tips": self._tips()[:_LINES],
            "name_of": name_of,
            "quoted": quoted,
            "version": __version__,
        }

    def _about(self, one: Outlook, text: str, where: str = "") -> str:
        """A sentence about a context, with its name if there are several."""
        return f"{where or name_of(one.context)}: {text}." if self.several else f"{text[:1].upper()}{text[1:]}."

    def _dropped(self) -> list[str]:
        """How many rows were left out, and how many have no reward, each in a sentence or two."""
        counts, left = self.counts, sum(self.counts.dropped.values())
        kinds = some([f"{name_of(kind)} ({number:,})" for kind, number in counts.dropped.items()])
        many = ". That is many: find out why before you rely on the rest" * (left > LOUD * (left + counts.rows))
        said = [f"{left:,} of {quantity(left + counts.rows, 'row')} left out: {kinds}{many}."] if left else []
        if counts.missing is not None and counts.missing.any():
            shares = counts.missing.sum(axis=0) / np.maximum(counts.chosen.sum(axis=0), 1.0)
            worst = f"{quoted(counts.arms[int(shares.argmax())])}, {shares.max():.0%}"
            said.append(f"{counts.missing_in_words()} They are most frequent with {worst}.")
        return said

    def _excluded(self) -> str:
        """What the bounds exclude."""
        said, often = list[str](), Counter[Arm]()
        for one in self.start.outlooks:
            most = max(own.lower for own in one.options)
            if out := [own.arm for own in one.options if own.upper < most]:
                said.append(f"{listed(out)}{f' in {quoted(one.context)}' * self.several}")
                often.update(out)
        if len(said) > _LINES // 2:
            said = [f"{quoted(arm)} in {quantity(many, 'context')}" for arm, many in often.most_common()]
        if said:
            return f"By the bounds from this log, these cannot be the best option: {'; '.join(said)}."
        where = " in any context" * self.several
        return f"The bounds from this log exclude no option{where}: each could be the best one."

    def _unsaid(self, one: Outlook) -> str:
        """The order of the plain averages, and how much of it the bounds confirm."""
        order = sorted((own for own in one.options if own.rows), key=lambda own: -own.average)
        pairs = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :] if a.lower > b.upper]
        known = some([f"{quoted(a.arm)} above {quoted(b.arm)}" for a, b in pairs], 3) if pairs else "nothing"
        said = " > ".join(f"{quoted(own.arm)} {self.words.reward(own.average)}" for own in order[:_LINES])
        text = f"plain averages say {said}; of this order the bounds confirm {known}"
        if len(order) < 2:
            text = f"all rows have {quoted(order[0].arm)}" if order else "there is not one row"
        out = f". Not played, for too few rows or by name: {listed(one.unsupported)}" if one.unsupported else ""
        return self._about(one, text + out)

    def _tips(self) -> list[str]:
        """Tipping values in sentences: first what would let an option beat the experts."""
        wins, turns = [], []
        for one in self.start.outlooks:
            tips = self.tips[one.context]
            if one.odds is not None:
                change = f"unrecorded facts changed the odds of a choice by at most a factor {one.odds[1]:.3g}"
                wins.append(self._about(one, f"{quoted(one.odds[0])} earns more than your experts if {change}"))
            turns += [self._about(one, f"{tip.change} if {condition(tip.field, tip.value)} {tip.side}") for tip in tips]
        return wins + turns

    def _added(self) -> str:
        """What an instrument adds to the bounds of the contexts that are shown."""
        own, found, counts = self.counts.instrument, self.start, replace(self.counts, instrument=None)
        if own is None:
            return ""
        without = bounds(counts, found.experts, **self.given)
        before = [one.rows * (own.upper - own.lower).sum() for one in found.outlooks for own in [without[one.context]]]
        after = [one.rows * (option.upper - option.lower) for one in found.outlooks for option in one.options]
        share = 1.0 - sum(after) / sum(before)
        more = f"makes the bounds {share:.0%} narrower on average" if share >= 0.005 else "adds nothing to the bounds"
        more += ", which are not the sharpest: its values and the options are too many for these" * own.simple
        return f"That {quoted(own.column)} was partly chance {more}."

    def _trees(self) -> list[str]:
        """A picture for each side of the first question; none if there is no question."""
        found: list[list[Branch]] = []
        for depth, answer, one in self.start.outline:
            found += [[] for _ in range(depth == 0)]
            found[-1].append(self._branch(depth, answer, one))
        ends = self.counts.low, self.counts.high, self.start.average - self.start.cost
        drawn = [branches(f"The contexts with {part[0].answer}", part, *ends) for part in found]
        return drawn if len(self.start.outline) > 1 else []

    def _branch(self, depth: int, answer: str, one: Outlook | None) -> Branch:
        if one is None:
            return Branch(depth, name_of(answer))
        most, words = one.mostly, self.words
        tries = "asks your experts" if one.wanted is EXPERT else f"would try {quoted(one.wanted)}"
        asks = "asks first" * (one.first is EXPERT and one.wanted is not EXPERT)
        lines = [
            (f"experts: {quoted(most.arm)} {most.share:.0%}", f"earn {words.reward(one.likely)}", "soft"),
            (f"agent: {tries}", asks, "other" if one.differs else "soft"),
        ]
        return Branch(depth, name_of(answer), quantity(one.rows, "row"), lines, one.likely)

    def _differ(self) -> list[str]:
        """Where the agent's policy prefers another option than the experts, those with the most rows first."""
        found, reward = [], self.words.reward
        for one in self.start.outlooks:
            if one.differs:
                own, most = next(own for own in one.options if own.arm == one.wanted), one.mostly
                found.append(
                    f"{name_of(one.context)} ({quantity(one.rows, 'row')}): your experts mostly choose "
                    f"{quoted(most.arm)} ({most.share:.0%}) and earn about {reward(one.likely)}; the agent would "
                    f"rather try {quoted(own.arm)}, which can earn {reward(own.lower)} to {reward(own.upper)}."
                )
        more = [f"{quantity(len(found) - _LINES, 'more context')} with fewer rows."] * (len(found) > _LINES)
        return [*found[:_LINES], *more]

    def _bars(self, one: Outlook) -> str:
        words = self.words
        drawn = [Row("your experts", *one.limits, words.reward(one.value), one.value, "experts")]
        for own in one.options:
            label = f"{words.reward(own.lower)} to {words.reward(own.upper)}, {quantity(own.rows, 'row')}"
            kind = "option" if own.played else "out"
            drawn.append(Row(name_of(own.arm), own.lower, own.upper, label, own.average, kind))
        return bars("Bounds on the mean of each option", drawn, self.counts.low, self.counts.high)

    def _swings(self, one: Outlook) -> str:
        ends = [(own.arm, -1e3 * own.loss, 1e3 * own.gain) for own in one.options]
        drawn = [Row(name_of(arm), low, high, self.words.span(low, high)) for arm, low, high in ends]
        return swings("What switching can lose and gain in 1,000 decisions", drawn)

    def _pins(self, one: Outlook) -> str:
        """Tipping values on one scale, from the strongest assumption to none; empty if there are none."""
        drawn = []
        for tip in self.tips[one.context]:
            what = f"{listed(tip.enter)} can win" if tip.enter else f"{listed(tip.leave)} is out"
            drawn.append((tip.field, tip.value, tip.side, what))
        if one.odds is not None:
            drawn.insert(0, ("odds", one.odds[1], "or less", f"{quoted(one.odds[0])} beats experts"))
        rows = []
        for field, value, side, what in drawn:
            given = self.start.shift if field == "shift" else getattr(self.start.experts, field)
            given = given[one.context] if isinstance(given, dict) else given
            ends = self._scaled(field, given), self._scaled(field, value)
            rows.append(Row(f"{field.replace('_', '-')}: {what}", *ends, f"{amount(field, value)} {side}"))
        return pins("Values at which the answer changes", rows) if rows else ""

    def _scaled(self, field: str, value: float) -> float:
        share = value if field in ("errors", "shift") else value / (self.counts.high - self.counts.low)
        if field == "odds":
            share = 1.0 - 1.0 / value
        return 1.0 - share if field == "gap_low" else float(np.clip(share, 0.0, 1.0))
