"""One page for the people who decide: what a log says, what it cannot say, and what would have to be true."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from meanbounds.logs.agent import OF_BOUNDS
from meanbounds.logs.bounds import Bounds, bounds
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.experts import Experts
from meanbounds.logs.pictures import Row, bars, pins, swings
from meanbounds.logs.start import Outlook, Start, start
from meanbounds.logs.tipping import Tip, tipping
from meanbounds.logs.words import Words, amount, cautions, listed, moved, name_of, quantity, quoted, some
from meanbounds.support.optional import import_optional
from meanbounds.support.saving import write_atomically
from meanbounds.support.version import __version__

__all__ = ["Page", "explain"]

_ANY = Experts()
_LINES = 6  # of a list
_FIELDS = {
    "errors": "wrong choices",
    "loss": "lost by choices",
    "gap_low": "lead of the best",
    "gap_high": "largest difference",
    "odds": "hidden odds",
    "shift": "changed cases",
}


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


def explain(counts: Counts, experts: Experts = _ANY, **options: Any) -> Page:
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
    given: dict[str, Any] = {"confidence": 1.0 - OF_BOUNDS * (1.0 - found.confidence), "shift": found.shift}
    given["arms"] = options.get("arms")
    tips = tipping(counts, experts, contexts=[one.context for one in found.outlooks], **given)
    return Page(_template().render(_Parts(found, bounds(counts, experts, **given), tips).all()), found)


@cache
def _template() -> Any:
    """The page without its contents. It escapes what it is given; the pictures have escaped their names."""
    jinja2 = import_optional("jinja2", "logs", "pages")
    page = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True).from_string(page)


class _Parts:
    """Everything that the template shows."""

    def __init__(self, found: Start, bounds: Bounds, tips: dict[Context, tuple[Tip, ...]]) -> None:
        self.start, self.counts, self.bounds, self.tips = found, found.counts, bounds, tips
        self.words, self.several = Words.of(found.counts), len(found.counts.contexts) > 1

    def all(self) -> dict[str, Any]:
        """The variables of the template."""
        found, counts, shown = self.start, self.counts, self.start.outlooks
        sizes = (counts.rows, "row"), (len(counts.contexts), "context"), (len(shown[0].gain), "option")
        pictures = [
            (
                f"{name_of(one.context)}, {quantity(one.rows, 'row')}",
                self._bars(one),
                self._pins(one),
                self._swings(one),
            )
            for one in shown
        ]
        left = len(counts.contexts) - len(shown)
        return {
            "start": found,
            "words": self.words,
            "conclusion": found.in_words().removesuffix("."),
            "assumed": "" if found.experts == _ANY else found.experts.in_words(),
            "cautions": [*cautions(counts), *found.warnings()],
            "sizes": ", ".join(quantity(*size) for size in sizes),
            "lead": [self._about(shown[0], shown[0].because), self._excluded()],
            "largest": f" in {quoted(shown[0].context)}, the largest context" * self.several,
            "pictures": pictures,
            "left_out": f"{quantity(left, 'more context')} with fewer rows: not shown here." if left else "",
            "unsaid": [self._unsaid(one) for one in shown[:_LINES]],
            "tips": self._tips()[:_LINES],
            "name_of": name_of,
            "quoted": quoted,
            "version": __version__,
        }

    def _about(self, one: Outlook, text: str) -> str:
        """A sentence about a context, with its name if there are several."""
        return f"{name_of(one.context)}: {text}." if self.several else f"{text[:1].upper()}{text[1:]}."

    def _excluded(self) -> str:
        """What the bounds exclude."""
        said = []
        for one in self.start.outlooks:
            own = self.bounds[one.context]
            if out := [arm for arm, upper in zip(own.arms, own.upper, strict=True) if upper < own.lower.max()]:
                said.append(f"{listed(out)}{f' in {quoted(one.context)}' * self.several}")
        if said:
            return f"By the bounds from this log, these cannot be the best option: {'; '.join(said[:4])}."
        where = " in any context" * self.several
        return f"The bounds from this log exclude no option{where}: each could be the best one."

    def _unsaid(self, one: Outlook) -> str:
        """The order of the plain averages, and how much of it the bounds confirm."""
        means, own = self._seen(one)[0], self.bounds[one.context]
        order = sorted((arm for arm in own.arms if means[arm] == means[arm]), key=lambda arm: -means[arm])
        ends = {arm: (own.lower[k], own.upper[k]) for k, arm in enumerate(own.arms)}
        pairs = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :] if ends[a][0] > ends[b][1]]
        known = some([f"{quoted(a)} above {quoted(b)}" for a, b in pairs], 3) if pairs else "nothing"
        said = " > ".join(f"{quoted(arm)} {self.words.reward(means[arm])}" for arm in order[:_LINES])
        text = f"plain averages say {said}; of this order the bounds confirm {known}"
        if len(order) < 2:
            text = f"all rows have {listed(order)}" if order else "there is not one row"
        out = f". Not played, for too few rows or by name: {listed(one.unsupported)}" if one.unsupported else ""
        return self._about(one, text + out)

    def _tips(self) -> list[str]:
        """Tipping values in sentences: first what would let an option beat the experts."""
        wins, turns = [], []
        for one in self.start.outlooks:
            if one.odds is not None:
                change = f"unrecorded facts changed the odds of a choice by at most a factor {one.odds[1]:.3g}"
                wins.append(self._about(one, f"{quoted(one.odds[0])} earns more than your experts if {change}"))
            turns += [self._about(one, " if ".join(moved(tip)[::-1])) for tip in self.tips[one.context]]
        return wins + turns

    def _seen(self, one: Outlook) -> tuple[dict[Any, float], dict[Any, float]]:
        """Plain average and rows of each option, also of those that the log lacks."""
        place, none = self.counts.position(one.context), dict.fromkeys(one.gain, 0.0)
        means, rows = (
            dict(zip(self.counts.arms, part[place].tolist(), strict=True))
            for part in (self.counts.means, self.counts.count)
        )
        return {**dict.fromkeys(none, float("nan")), **means}, {**none, **rows}

    def _bars(self, one: Outlook) -> str:
        words, own, (means, rows) = self.words, self.bounds[one.context], self._seen(one)
        drawn = [Row("your experts", *one.limits, words.reward(one.value), one.value, "experts")]
        for arm, low, high in zip(own.arms, own.lower.tolist(), own.upper.tolist(), strict=True):
            label = f"{words.reward(low)} to {words.reward(high)}, {quantity(rows[arm], 'row')}"
            kind = "out" if arm in one.unsupported else "option"
            drawn.append(Row(name_of(arm), low, high, label, means[arm], kind))
        return bars("Bounds on the mean of each option", drawn, self.counts.low, self.counts.high)

    def _swings(self, one: Outlook) -> str:
        ends = {arm: (-1e3 * one.loss[arm], 1e3 * gain) for arm, gain in one.gain.items()}
        drawn = [Row(name_of(arm), *both, self.words.span(*both)) for arm, both in ends.items()]
        return swings("What switching can lose and gain in 1,000 decisions", drawn)

    def _pins(self, one: Outlook) -> str:
        """Tipping values on one scale, from the strongest assumption to none; empty if there are none."""
        drawn = []
        for tip in self.tips[one.context]:
            side = "or more" if tip.weaker != (tip.field == "gap_low") else "or less"
            what = f"{listed(tip.enter)} can win" if tip.enter else f"{listed(tip.leave)} is out"
            drawn.append((tip.field, tip.value, side, what))
        if one.odds is not None:
            drawn.insert(0, ("odds", one.odds[1], "or less", f"{quoted(one.odds[0])} beats experts"))
        rows = []
        for field, value, side, what in drawn:
            given = self.start.shift if field == "shift" else getattr(self.start.experts, field)
            given = given[one.context] if isinstance(given, dict) else given
            ends = self._scaled(field, given), self._scaled(field, value)
            rows.append(Row(f"{_FIELDS[field]}: {what}", *ends, f"{amount(field, value)} {side}"))
        return pins("Values at which the answer changes", rows) if rows else ""

    def _scaled(self, field: str, value: float) -> float:
        share = value if field in ("errors", "shift") else value / (self.counts.high - self.counts.low)
        if field == "odds":
            share = 1.0 - 1.0 / value
        return 1.0 - share if field == "gap_low" else float(np.clip(share, 0.0, 1.0))
