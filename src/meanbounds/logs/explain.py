"""One page for the people who decide: what a log says, what it cannot say, and what would have to be true."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.logs.agent import OF_BOUNDS
from meanbounds.logs.bounds import Bounds, bounds
from meanbounds.logs.counts import Counts
from meanbounds.logs.experts import Experts
from meanbounds.logs.pictures import Bar, Pin, Swing, bars, pins, swings
from meanbounds.logs.start import Outlook, Start, start
from meanbounds.logs.tipping import Tip, tipping
from meanbounds.logs.words import Words, cautions, listed, moved, name_of, quantity, quoted, some
from meanbounds.support.optional import import_optional
from meanbounds.support.saving import write_atomically
from meanbounds.support.version import __version__

__all__ = ["Page", "explain"]

_ANY = Experts()
_TIPS = 6  # in words, and of each context in a picture
_FIELDS = {
    "errors": "wrong choices",
    "loss": "lost by choices",
    "gap_low": "least lead of the best",
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
    contexts = [one.context for one in found.outlooks]
    given = {
        "confidence": 1.0 - OF_BOUNDS * (1.0 - found.confidence),
        "shift": found.shift,
        "arms": options.get("arms"),
    }
    tips = tipping(counts, experts, contexts=contexts, **given)
    return Page(_template().render(**_Parts(found, bounds(counts, experts, **given), tips).all()), found)


@cache
def _template() -> Any:
    jinja2 = import_optional("jinja2", "logs", "pages")
    text = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True).from_string(text)


class _Parts:
    """Everything that the template shows. Names from the log are escaped there, and in the pictures."""

    def __init__(self, found: Start, bounds: Bounds, tips: dict[Any, tuple[Tip, ...]]) -> None:
        self.start, self.counts, self.bounds, self.tips = found, found.counts, bounds, tips
        self.words, self.shown = Words.of(found.counts), found.outlooks
        self.several = len(self.counts.contexts) > 1

    def all(self) -> dict[str, Any]:
        """The variables of the template."""
        found, counts = self.start, self.counts
        sizes = (
            (counts.rows, "row"),
            (len(counts.contexts), "context"),
            (len(next(iter(self.bounds.values()))), "option"),
        )
        left = len(counts.contexts) - len(self.shown)
        assumed = found.experts.in_words()
        return {
            "title": f"{found.in_words()[:-1]}: what the log of {name_of(counts.arm)} and {name_of(counts.reward)} says",
            "sizes": ", ".join(quantity(*size) for size in sizes),
            "conclusion": found.in_words()[:-1],
            "lead": self._lead(),
            "cautions": cautions(counts),
            "warnings": found.warnings(),
            "tiles": self._tiles(),
            "reward": name_of(counts.reward),
            "assumed": "Nothing is assumed of them." if found.experts == _ANY else f"It is assumed that {assumed}.",
            "bars": [self._figure(one, self._bars(one)) for one in self.shown],
            "left_out": f"{quantity(left, 'more context')} with fewer rows are not shown here." if left else "",
            "unsaid": [self._unsaid(one) for one in self.shown[:_TIPS]],
            "tips": self._said()[:_TIPS],
            "pins": [
                self._figure(one, pins("Tipping values", self._pins(one))) for one in self.shown if self._pins(one)
            ],
            "swings": [self._figure(one, self._swings(one)) for one in self.shown],
            "unit": self.words.unit,
            "cost": f", less the cost of asking them ({found.cost:g} each time)" if found.cost else "",
            "promised": found.promised(),
            "promises": self._promises(),
            "firsts": [
                (name_of(one.context), _upper(one.first_in_words()), _upper(one.conclusion), one.because)
                for one in self.shown
            ],
            "footer": f"Bounds and limits hold in each context at once with probability {found.confidence:g}, counting "
            f"from {quantity(counts.rows, 'row')} with {name_of(counts.reward)} between {counts.low:g} and "
            f"{counts.high:g}. Made with meanbounds {__version__}.",
        }

    def _lead(self) -> list[str]:
        """The first screen in words: why, and what the bounds exclude."""
        first, lines = self.shown[0], []
        lines.append(f"{self._where(first)}{_upper(first.because) if not self.several else first.because}.")
        out = {one.context: self._excluded(one) for one in self.shown}
        if not any(out.values()):
            where = " in any context" * self.several
            lines.append(f"The bounds from this log exclude no option{where}: each could be the best one.")
        else:
            said = [f"{listed(arms)}{f' in {quoted(c)}' * self.several}" for c, arms in out.items() if arms]
            lines.append(f"By the bounds from this log, these cannot be the best option: {some(said, 4)}.")
        return lines

    def _tiles(self) -> list[tuple[str, str]]:
        one, words = self.shown[0], self.words
        of = f" in {quoted(one.context)}, the largest context" if self.several else ""
        low, high = map(words.reward, one.limits)
        tiles = [(words.reward(one.value), f"is what your experts earn{of} ({low} to {high})")]
        if one.best is not None:
            tiles.append(
                (
                    f"-{words.sum(1e3 * one.loss[one.best])} to +{words.sum(1e3 * one.gain[one.best])}",
                    f"{words.unit} in 1,000 decisions, if {quoted(one.best)} took over{of}",
                )
            )
        tiles.append((quoted(one.first), f"comes first{of}: {one.first_in_words().split(': ', 1)[1]}"))
        return tiles

    def _figure(self, one: Outlook, picture: str) -> Any:
        title = f"{name_of(one.context)}, {quantity(one.rows, 'row')}"
        markup = import_optional("markupsafe", "logs", "pages").Markup
        return markup("<figure><h3>{}</h3>{}</figure>").format(title, markup(picture))

    def _bars(self, one: Outlook) -> str:
        counts, own, words = self.counts, self._own(one), self.words
        means = dict(zip(counts.arms, counts.means[counts.position(one.context)].tolist(), strict=True))
        rows = dict(zip(counts.arms, counts.count[counts.position(one.context)].tolist(), strict=True))
        drawn = [Bar("your experts", one.limits, one.value, words.reward(one.value), "experts")]
        for arm, low, high in zip(own.arms, own.lower.tolist(), own.upper.tolist(), strict=True):
            label = f"{words.reward(low)} to {words.reward(high)}, {quantity(rows.get(arm, 0), 'row')}"
            average = means.get(arm, np.nan)
            kind = "out" if arm in one.unsupported else "option"
            drawn.append(Bar(name_of(arm), (low, high), average if average == average else None, label, kind))
        text = "; ".join(f"{bar.name}: {bar.label}" for bar in drawn)
        return bars(f"Bounds on the mean of each option. {text}", drawn, counts.low, counts.high)

    def _swings(self, one: Outlook) -> str:
        drawn = []
        for arm, gain in one.gain.items():
            gain, loss = 1e3 * gain, 1e3 * one.loss[arm]
            drawn.append(Swing(name_of(arm), loss, gain, f"{-loss:+,.0f} to {gain:+,.0f}"))
        text = "; ".join(f"{own.name}: {own.label}" for own in drawn)
        return swings(f"What switching can lose and gain in 1,000 decisions. {text}", drawn)

    def _pins(self, one: Outlook) -> list[Pin]:
        """Tipping values on one scale: the share of the way from the strongest assumption to none."""
        found = []
        for tip in self.tips[one.context]:
            given = self._given(tip.field, one)
            side = "or more" if tip.weaker != (tip.field == "gap_low") else "or less"
            arms = listed(tip.enter or tip.leave) + (" in" if tip.enter else " out")
            label = f"{tip.value:.3g} {side}"
            found.append(
                Pin(f"{_FIELDS[tip.field]}: {arms}", *(self._scaled(tip.field, v) for v in (given, tip.value)), label)
            )
        if one.odds is not None:
            arm, odds = one.odds
            ends = (self._scaled("odds", value) for value in (self._given("odds", one), odds))
            found.append(Pin(f"hidden odds: {quoted(arm)} wins", *ends, f"{odds:.3g} or less"))
        return found

    def _given(self, field: str, one: Outlook) -> float:
        value = self.start.shift if field == "shift" else getattr(self.start.experts, field)
        return float(value[one.context] if isinstance(value, dict) else value)

    def _scaled(self, field: str, value: float) -> float:
        width = self.counts.high - self.counts.low
        if field == "odds":
            return 1.0 - 1.0 / value
        share = value if field in ("errors", "shift") else value / width
        return 1.0 - share if field == "gap_low" else min(share, 1.0)

    def _said(self) -> list[str]:
        """Tipping values in sentences: first what would let an option beat the experts."""
        wins, turns = [], []
        for one in self.shown:
            if one.odds is not None:
                arm, odds = one.odds
                noun = "unrecorded facts changed the odds of a choice by at most a factor"
                wins.append(f"{self._where(one)}{quoted(arm)} earns more than your experts if {noun} {odds:.3g}.")
            for tip in self.tips[one.context]:
                condition, change = moved(tip)
                turns.append(f"{self._where(one)}{change} if {condition}.")
        return wins + turns

    def _unsaid(self, one: Outlook) -> str:
        """The order of the plain averages, and how much of it the bounds confirm."""
        counts, words, own = self.counts, self.words, self._own(one)
        means = counts.means[counts.position(one.context)]
        seen = [k for k in np.argsort(-means, kind="stable").tolist() if means[k] == means[k]]
        order = " > ".join(f"{quoted(counts.arms[k])} {words.reward(means[k])}" for k in seen[:_TIPS])
        pairs = [(a, b) for place, a in enumerate(seen) for b in seen[place + 1 :]]
        sure = [
            (a, b)
            for a, b in pairs
            if own.lower[own.arms.index(counts.arms[a])] > own.upper[own.arms.index(counts.arms[b])]
        ]
        said = [f"{quoted(counts.arms[a])} above {quoted(counts.arms[b])}" for a, b in sure]
        known = (
            f"of this order the bounds confirm {some(said, 3)}" if said else "the bounds confirm nothing of this order"
        )
        text = (
            f"{self._where(one)}plain averages say {order}; {known}."
            if pairs
            else f"{self._where(one)}there is nothing to compare."
        )
        if one.unsupported:
            text += f" Too few rows, or forbidden: {listed(one.unsupported)}."
        return text

    def _excluded(self, one: Outlook) -> list[Arm]:
        own = self._own(one)
        return [arm for arm, upper in zip(own.arms, own.upper.tolist(), strict=True) if upper < own.lower.max()]

    def _promises(self) -> list[str]:
        found = self.start
        if found.promise is None:
            return []
        lines = [
            "The promise is about expected rewards, at every moment, and holds whatever the agent learns: it plays an "
            "option only while what was earned so far pays for it, and asks your experts otherwise."
        ]
        if found.promise.total is None:
            lines.append(
                "It allows to lose this much for ever. Where your experts choose better than any single option can do, "
                "a limit on the total (total=30) stops that, at the price of most gains."
            )
        return lines

    def _own(self, one: Outlook) -> MeanBounds:
        return self.bounds[one.context]

    def _where(self, one: Outlook) -> str:
        return f"{_upper(name_of(one.context))}: " if self.several else ""


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
