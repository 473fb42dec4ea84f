"""Names, numbers, assumptions and promises in plain words, for a terminal and for pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10

from meanbounds.bounds import EXPERT, Arm
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.tipping import Tip
from meanbounds.logs.values import similar
from meanbounds.policies import Promise

__all__ = [
    "Words",
    "allowed",
    "cautions",
    "listed",
    "moved",
    "name_of",
    "quantity",
    "quoted",
    "some",
    "visible",
    "warning",
]

_LONGEST = 60  # characters of a name
_DROPPED, _MANY, _FEW = 0.05, 100, 2.0  # as in `meanbounds.logs.read`: contexts from which on few rows in each count
_TRIALS = 0.14  # of the failures: what trials that ask whether a treatment is no worse allow
# Control characters, of which codes for terminals are made; marks that turn text around; halves of characters.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NOUNS = {
    "errors": "the share of cases in which another option would have been better",
    "loss": "what better choices would have added to the mean reward",
    "gap_low": "the lead of the best option over the second best, in every kind of case,",
    "gap_high": "the largest difference between two options, in any kind of case,",
    "odds": "the factor by which unrecorded facts changed the odds of a choice",
    "shift": "the share of cases that have changed since the log was written",
}


def visible(text: str) -> str:
    r"""Control characters as escapes, so that no name in a log can command a terminal.

    Examples
    --------
    >>> print(visible("red: \x1b[31m, Zürich"))
    red: \x1b[31m, Zürich
    """
    return text if text.isprintable() else _UNSAFE.sub(lambda it: it[0].encode("unicode_escape").decode(), text)


def name_of(name: Context | Arm) -> str:
    """A context or an option as text; blanks that would not be seen are shown as ``␣``.

    Examples
    --------
    >>> name_of(("old", "north")), name_of("a "), name_of(3)
    ('old / north', 'a␣', '3')
    """
    if name is EXPERT:
        return "your experts"
    text = visible(
        " / ".join(map(str, name)) if isinstance(name, tuple) else "all cases" if name is None else str(name)
    )
    inner = text.strip(" ")
    if inner != text:
        start = len(text) - len(text.lstrip(" "))
        text = f"{'␣' * start}{inner}{'␣' * (len(text) - len(inner) - start)}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def quoted(name: Context | Arm) -> str:
    """A name in quotation marks; the experts without."""
    return name_of(name) if name is EXPERT else f"“{name_of(name)}”"


def some(names: Sequence[str], most: int = 10) -> str:
    """Names in a row.

    Examples
    --------
    >>> some(["a", "b", "c"]), some(["a"]), some(["a", "b", "c"], most=1)
    ('a, b and c', 'a', 'a and 2 more')
    """
    listed = [*names[:most], f"{len(names) - most:,} more"] if len(names) > most else list(names)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"


def quantity(size: float, word: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> quantity(1, "row"), quantity(6000, "row")
    ('1 row', '6,000 rows')
    """
    return f"{size:,.0f} {word}" + "s" * (size != 1)


@dataclass(frozen=True)
class Words:
    """How texts about one log write its rewards.

    Attributes
    ----------
    decimals
        Digits after the point of a mean reward.
    unit
        What a sum of rewards counts.

    Examples
    --------
    >>> import meanbounds as mb
    >>> words = Words.of(mb.logs.Counts([None], ["a"], [[4]], [[3]], [[3]], reward="recovered"))
    >>> words.reward(0.75), words.sum(31.2), words.unit
    ('0.75', '31', 'successes')
    """

    decimals: int
    unit: str

    @classmethod
    def of(cls, counts: Counts) -> Words:
        """For the rewards of this log."""
        width = counts.high - counts.low
        decimals = max(0, 2 - floor(log10(width) / (1 if width < 1.0 else 2)))
        successes = (counts.low, counts.high) == (0.0, 1.0) and (counts.total == counts.squares).all()
        return cls(min(12, decimals), "successes" if successes else f"points of {name_of(counts.reward)}")

    def reward(self, value: float) -> str:
        """A mean reward; a dash for one that is not known."""
        return "-" if value != value else f"{value:.{self.decimals}f}"

    def sum(self, value: float) -> str:
        """A sum of rewards."""
        value = max(value, 0.0)
        return f"{value:,.0f}" if value >= 10.0 or value == 0.0 else f"{value:.2g}"


def cautions(counts: Counts) -> list[str]:
    """What makes a log say little, each in a sentence.

    Examples
    --------
    >>> import meanbounds as mb
    >>> cautions(mb.logs.Counts([None], ["a", "a "], [[1, 0]], [[1, 0]], [[1, 0]]))[0]
    'The log has 1 row, which says next to nothing.'
    """
    found = []
    if counts.dropped:
        kinds = [f"{name_of(kind)} ({number:,})" for kind, number in counts.dropped.items()]
        left = sum(counts.dropped.values())
        loud = ", which is many: find out why before you rely on the rest" * (left > _DROPPED * (left + counts.rows))
        found.append(f"{quantity(left, 'row')} of {left + counts.rows:,} left out: {some(kinds)}{loud}.")
    contexts = len(counts.contexts)
    if counts.rows == 1:
        found.append("The log has 1 row, which says next to nothing.")
    if len(counts.arms) == 1:
        found.append(f"All rows have the option {quoted(counts.arms[0])}: the log says nothing about any other.")
    if contexts >= _MANY and counts.rows < _FEW * contexts:
        found.append(
            f"{contexts:,} contexts have {counts.rows:,} rows, less than {_FEW:g} each, which is too few to learn from:"
            f" choose columns with fewer values, or group them."
        )
    names = {"options": list(map(str, counts.arms))}
    for place, column in enumerate(counts.columns):
        values = (own[place] if isinstance(own, tuple) else own for own in counts.contexts)
        names[f"values of {name_of(column)}"] = sorted({str(value) for value in values})
    for what, listed in names.items():
        if pairs := similar(listed):
            more = f" (and {quantity(len(pairs) - 1, 'more pair')} like this)" if len(pairs) > 1 else ""
            found.append(
                f"The {what} {quoted(pairs[0][0])} and {quoted(pairs[0][1])} are counted apart{more}: if they are the "
                f"same, correct the log."
            )
    return found


def moved(tip: Tip) -> tuple[str, str]:
    """The condition and the consequence of a tipping value.

    Examples
    --------
    >>> " -> ".join(moved(Tip("old", "errors", 0.1234, weaker=True, enter=("heparin",), leave=())))
    'the share of cases in which another option would have been better is 12.3% or more -> “heparin” can be best too'
    """
    amount = f"{100 * tip.value:.3g}%" if tip.field in ("errors", "shift") else f"{tip.value:.3g}"
    side = "more" if tip.weaker != (tip.field == "gap_low") else "less"
    ends = ((tip.enter, "can be best too"), (tip.leave, "can no longer be best"))
    said = [f"{some([quoted(arm) for arm in arms], 4)} {what}" for arms, what in ends if arms]
    return f"{_NOUNS[tip.field]} is {amount} or {side}", ", and ".join(said)


def allowed(promise: Promise | None, value: float, counts: Counts) -> float:
    """What a promise allows to lose in each decision in the long run, in reward units; 0 without a promise.

    Examples
    --------
    >>> import meanbounds as mb
    >>> counts = mb.logs.Counts([None], ["a"], [[4]], [[3]], [[3]])
    >>> allowed(mb.Promise(at_least=0.98), 0.75, counts), allowed(mb.Promise(total=30), 0.75, counts)
    (0.015, 0.0)
    """
    many = 10**9
    found = 0.0 if promise is None else promise.per_decisions(value, many, low=counts.low, high=counts.high) / many
    return round(found, 7)


def warning(promise: Promise | None, value: float, counts: Counts) -> str:
    """What to say of a promise that allows many more failures; empty for one that does not.

    Examples
    --------
    >>> import meanbounds as mb
    >>> counts = mb.logs.Counts([None], ["a"], [[100]], [[93]], [[93]])
    >>> warning(mb.Promise(at_least=0.98), 0.93, counts)
    'allows 27% more failures than the experts have; trials often allow at most 14%'
    """
    lost, most = counts.high - value, allowed(promise, value, counts)
    if most <= _TRIALS * lost * (1.0 + 1e-6):
        return ""
    more = f"{most / lost:.0%} more failures than the experts have" if most < lost else "twice the failures, or more"
    return f"allows {more}; trials often allow at most {_TRIALS:.0%}"


def listed(names: Iterable[Arm]) -> str:
    """Options in quotation marks, in a row."""
    return some([quoted(name) for name in names], 4)
