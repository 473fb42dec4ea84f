"""Names, numbers and assumptions in plain words; everything that comes from a log is escaped for HTML here."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from meanbounds.bounds import Arm
from meanbounds.logs.assumptions import AnyExpert, Assumption, ErringExpert, NearlyOptimalExpert, OptimalExpert
from meanbounds.logs.names import Context
from meanbounds.support.text import visible

__all__ = [
    "CLAUSES",
    "COLOURS",
    "NUMBERS",
    "Words",
    "amount",
    "condition",
    "name_of",
    "plain",
    "safe",
    "said",
    "shortened",
    "some",
    "title_of",
    "total",
]

_LONGEST = 200  # characters of a name on the page
_WHOLE = 24  # characters of a name that is not broken into lines
_SHORT = 60  # characters of an option in a list
_PLAIN = (
    (r"\b(was|were) played\b", r"\1 chosen"),
    (r"\barm played\b", "option chosen"),
    (r"\bplayed\b", "chose"),
    (r"\barm(s?)\b", r"option\1"),
    (r"\bgap_(low|high)\b", r"gap-\1"),
)
_PERCENT = ("errors", "shift", "confidence")

NUMBERS = {
    "errors": ("Wrong choices", "In how many cases of 100 the choice was not the best one, at most."),
    "loss": (
        "What better choices would have added",
        "By how much the average would have been higher if the best option had been chosen every time, at most.",
    ),
    "gap_low": (
        "The smallest gap",
        "By how much the best option is better than the second best, at least, in every kind of case.",
    ),
    "gap_high": (
        "The largest gap",
        "By how much the best option is better than the worst, at most, in any kind of case.",
    ),
    "odds": (
        "What was hidden",
        "By which factor things that were not recorded changed the odds of a choice, at most.",
    ),
    "shift": (
        "Change since the log was written",
        "How many of the cases may be of another kind today than when the log was written.",
    ),
    "confidence": (
        "Confidence",
        "How sure you want to be that all bounds hold at once, given that the log has only so many rows.",
    ),
}
"""For each number of a judgement a heading, and what it means."""

CLAUSES = {
    "errors": "the share of wrong choices is",
    "loss": "better choices would have added",
    "gap_low": "the smallest gap between the best option and the second best is",
    "gap_high": "the largest gap between the best option and the worst is",
    "odds": "the factor by which hidden things changed the odds of a choice is",
    "shift": "the share of cases that are of another kind today is",
    "confidence": "the confidence that you want is",
}
"""The same in a sentence, before a value."""


def safe(value: object, longest: int = _LONGEST) -> str:
    """A name as HTML, whatever characters it has; the end of a very long one is left out.

    Examples
    --------
    >>> from meanbounds.logs.explaining.words import safe
    >>> safe("<script>")
    '&lt;script&gt;'
    """
    text = visible(str(value)).replace("\n", " ")
    return html.escape(text if len(text) <= longest else f"{text[: longest - 1]}…")


def name_of(context: Context) -> str:
    """A context as text; several columns are joined by a slash.

    Examples
    --------
    >>> from meanbounds.logs.explaining.words import name_of
    >>> name_of(("old", 3))
    'old / 3'
    """
    return " / ".join(map(str, context)) if isinstance(context, tuple) else str(context)


def shortened(name: str, columns: int) -> str:
    """A name that takes at most so many columns of a terminal; most letters of pictures are narrower than one.

    Examples
    --------
    >>> from meanbounds.logs.explaining.words import shortened
    >>> shortened("no aspirin, low heparin", 12)
    'no aspirin,…'
    """
    from rich.cells import cell_len

    name = visible(name).replace("\n", " ")[: 2 * columns]
    if cell_len(name) <= columns:
        return name
    while cell_len(name) >= columns:
        name = name[:-1]
    return f"{name.rstrip()}…"


def some(names: Sequence[str]) -> str:
    """Names in a row.

    Examples
    --------
    >>> from meanbounds.logs.explaining.words import some
    >>> some(["a", "b", "c"]), some(["a"]), some([])
    ('a, b and c', 'a', 'none')
    """
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def plain(text: str) -> str:
    """A message of the library about options that were chosen, rather than arms that were played.

    Examples
    --------
    >>> from meanbounds.logs.explaining.words import plain
    >>> plain("gap_low=0.9 is more than the log allows: where the arm was played it was better than others")
    'gap-low=0.9 is more than the log allows: where the option was chosen it was better than others'
    """
    for pattern, word in _PLAIN:
        text = re.sub(pattern, word, text)
    return text


def said(assumption: Assumption) -> str:
    """What is assumed, with the words of someone who decides.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.explaining.words import said
    >>> said(mb.logs.OptimalExpert(0.1))
    'the expert always chose the best option, better than the second best by at least 0.1'
    >>> said(mb.logs.AnyExpert())
    'whoever chose, and however'
    """
    if assumption == AnyExpert():
        return "whoever chose, and however"
    return plain(assumption.in_words())


def condition(assumption: Assumption) -> str:
    """Under which condition something holds, as the end of a sentence.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.explaining.words import condition
    >>> condition(mb.logs.AnyExpert()), condition(mb.logs.OptimalExpert())
    ('whoever chose, and however', 'if the expert always chose the best option')
    """
    return said(assumption) if assumption == AnyExpert() else f"if {said(assumption)}"


def title_of(assumption: Assumption) -> str:
    """A heading for what is assumed.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.explaining.words import title_of
    >>> title_of(mb.logs.ErringExpert(0.05))
    'Few wrong choices'
    """
    kinds = {
        AnyExpert: "Nothing is assumed of those who chose",
        NearlyOptimalExpert: "Choices that were nearly as good as the best",
        ErringExpert: "Few wrong choices",
        OptimalExpert: "The best choice in every case",
    }
    title = kinds.get(type(assumption), "Several judgements together")
    gaps = any(getattr(assumption, name, None) for name in ("gap_low", "gap_high"))
    return f"{title}, and gaps between the options" if gaps else title


def amount(name: str, value: float) -> str:
    """The value of a number of a judgement: shares as percentages, a confidence with as many digits as it needs.

    Examples
    --------
    >>> from meanbounds.logs.explaining.words import amount
    >>> amount("errors", 0.05), amount("gap_low", 0.32104), amount("confidence", 0.99987)
    ('5%', '0.321', '99.987%')
    """
    if name == "confidence" and 0.9 < value < 1.0:
        digits = max(1, -1 - floor(log10(1.0 - value)))  # after the point: two that distinguish it from 100%
        return f"{100 * value:.{digits}f}".rstrip("0").rstrip(".") + "%"
    return f"{100 * value:.3g}%" if name in _PERCENT else f"{value:.3g}"


def total(value: float) -> str:
    """A sum of rewards, with three digits or as a whole number.

    Examples
    --------
    >>> from meanbounds.logs.explaining.words import total
    >>> total(7.9273), total(45.41), total(2032.6)
    ('7.93', '45.4', '2,033')
    """
    return f"{value:.3g}" if abs(value) < 100.0 else f"{value:,.0f}"


@dataclass(frozen=True)
class Words:
    """How a page writes the rewards and options of one log.

    Attributes
    ----------
    arms
        All options; the colour of each is its place among them.
    decimals
        Digits after the point of a reward.
    """

    arms: tuple[Arm, ...]
    decimals: int

    @classmethod
    def of(cls, arms: tuple[Arm, ...], span: float) -> Words:
        """For rewards whose range has this width: two digits after the point for 0 to 1 and for stars."""
        return cls(arms, min(12, max(0, 2 - floor(log10(span)) if span < 1.0 else 2 - floor(log10(span) / 2))))

    def reward(self, value: float) -> str:
        """A reward, or a mean of rewards; a dash for one that is not known."""
        return "-" if value != value else f"{value:.{self.decimals}f}"

    def option(self, arm: Arm, longest: int = _SHORT) -> str:
        """An option with its colour, as HTML."""
        whole = " w" * (len(str(arm)) <= _WHOLE)  # the colour stays beside the name
        return f'<span class="o k{self.colour(arm)}{whole}">{safe(arm, longest)}</span>'

    def colour(self, arm: Arm) -> int:
        """The number of an option's colour."""
        return self.arms.index(arm) % COLOURS

    def options(self, arms: Sequence[Arm]) -> str:
        """Options as HTML; all of them, or all but a few, in fewer words."""
        if len(arms) == len(self.arms) > 2:
            return f"all {len(arms)} options"
        left = [arm for arm in self.arms if arm not in set(arms)]
        if len(arms) > 4 and len(left) <= 3:
            return f"all but {some([self.option(arm) for arm in left])}"
        if len(arms) > 12:
            first = [self.option(arm) for arm in arms[:10]]
            return f"{', '.join(first)} and {len(arms) - 10} more"
        return some([self.option(arm) for arm in arms])


COLOURS = 8
"""How many colours options have; with more options they repeat, and names tell them apart."""
