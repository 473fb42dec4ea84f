"""Names, numbers, assumptions and promises in plain words, for a terminal and for pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np

from meanbounds.bounds import EXPERT, Arm
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.values import similar
from meanbounds.policies import Promise
from meanbounds.support.types import Floats

__all__ = ["TRIALS", "Words", "allowed", "cautions", "condition", "excess", "listed", "name_of", "quantity", "quoted"]

_LONGEST = 120  # characters of a name
_MANY = 100  # contexts from which on too few rows in each are warned of
TRIALS = 0.14
"""How many more failures trials often allow of a treatment that should be no worse, as a share."""

_NOUNS = {
    "errors": "the share of cases in which another option would have been better",
    "loss": "what better choices would have added to the mean reward",
    "gap_low": "the lead of the best option over the second best, in every kind of case,",
    "gap_high": "the largest difference between two options, in any kind of case,",
    "odds": "the factor by which unrecorded facts changed the odds of a choice",
    "shift": "the share of cases that have changed since the log was written",
}


def name_of(name: Context | Arm) -> str:
    r"""A context or an option as text: what could not be seen is shown, and cannot command a terminal.

    Examples
    --------
    >>> print(*map(name_of, [("old", "north"), "a ", 3, "red \x1b[31m"]), sep=", ")
    old / north, a␣, 3, red \x1b[31m
    """
    if name is EXPERT or name is None:
        return "your experts" if name is EXPERT else "all cases"
    text = " / ".join(name) if isinstance(name, tuple) else str(name)
    start, end = (len(text) - len(part) for part in (text.lstrip(" "), text.rstrip(" ")))
    text = "␣" * start + text.strip(" ") + "␣" * (end if text.strip(" ") else 0)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return cut(text, _LONGEST)


def cut(text: str, most: int) -> str:
    """At most so many characters of a text: its beginning and its end."""
    end = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"[:most]


def quoted(name: Context | Arm) -> str:
    """A name in quotation marks; the experts without."""
    return name_of(name) if name is EXPERT else f"“{name_of(name)}”"


def some(names: Sequence[str], most: int = 10) -> str:
    """Names in a row."""
    parts = [*names[:most], f"{len(names) - most:,} more"] if len(names) > most else list(names)
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def listed(names: Sequence[Arm]) -> str:
    """The first few options in quotation marks, in a row."""
    return some([quoted(name) for name in names], 4)


def quantity(size: float, word: str) -> str:
    """A number with its noun: 1 row, 6,000 rows."""
    return f"{size:,.0f} {word}" + "s" * (size != 1)


@dataclass(frozen=True)
class Words:
    """How texts about one log write its rewards."""

    decimals: int  # of a mean reward
    unit: str  # what a sum of rewards counts

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
        return f"{value:,.0f}" if abs(value) >= 10.0 or abs(value) < 1e-9 else f"{value:.2g}"

    def span(self, least: float, most: float) -> str:
        """Two sums with their signs, such as -417 to +25."""
        return " to ".join(f"{'+' * (value > 1e-9)}{self.sum(value)}" for value in (least, most))


def assumptions(counts: Counts, *more: str) -> str:
    """What was assumed when the log was read, of missing outcomes and of an instrument, then more; perhaps nothing."""
    found, reward = [said for said in more if said], quoted(counts.reward)
    if counts.apart == 0.0:
        found.append(f"whether {reward} is missing was chance for cases of a context with the same option")
    elif counts.apart is not None and counts.apart < counts.high - counts.low:
        found.append(f"with each option the mean of missing {reward} is within {counts.apart:g} of that of the others")
    if counts.instrument is not None:
        each, column = " in each context" * (len(counts.contexts) > 1), quoted(counts.instrument.column)
        found.append(f"every {column} met the same kinds of cases{each}, and mattered only through the option")
    return "; and ".join(found)


def cautions(counts: Counts) -> list[str]:
    """What makes a log say little, and what to do, each in a sentence or two."""
    found, contexts, tree = list[str](), len(counts.contexts), counts.tree
    if counts.rows == 1:
        found.append("The log has 1 row, which says next to nothing: is this the whole log?")
    elif len(counts.arms) == 1:
        found.append(
            f"All rows have the option {quoted(counts.arms[0])}, so the log says nothing about any other: is "
            f"{quoted(counts.arm)} the right column? List all options with arms= if there are more."
        )
    if contexts >= _MANY and not tree and counts.rows < 2 * contexts:
        found.append(
            f"{contexts:,} contexts have {quantity(counts.rows, 'row')}, less than 2 each, which is too few to learn "
            f"from: {listed(counts.columns)} may name each row. Choose columns with fewer values, or group them (ages "
            f"in bands)."
        )
    names = {"options": [str(arm) for arm in counts.arms]}
    for place, column in enumerate(() if tree else counts.columns):
        values = {own[place] if isinstance(own, tuple) else str(own) for own in counts.contexts}
        names[f"values of {name_of(column)}"] = sorted(values)
    for what, given in names.items():
        if pairs := similar(given):
            more = f" (and {quantity(len(pairs) - 1, 'more pair')} like this)" if len(pairs) > 1 else ""
            both = f"{quoted(pairs[0][0])} and {quoted(pairs[0][1])} are counted apart{more}"
            found.append(f"The {what} {both}: if they are the same, correct the log.")
    return found


def amount(field: str, value: float) -> str:
    """A value of an assumption; shares of cases as percentages."""
    return f"{100 * value:.3g}%" if field in ("errors", "shift") else f"{value:.3g}"


def condition(field: str, value: float) -> str:
    """A value of an assumption in a sentence."""
    return f"{_NOUNS[field]} is {amount(field, value)}"


def allowed(promise: Promise | None, value: Floats | float, counts: Counts) -> Floats:
    """What a promise may cost in each decision in the long run, in reward units; 0 without a promise."""
    earned, many = np.asarray(value, dtype=float), 10**9
    if promise is None:
        return np.zeros(earned.shape)
    found = [promise.per_decisions(own, many, low=counts.low, high=counts.high) for own in earned.ravel().tolist()]
    return np.round(np.array(found) / many, 7).reshape(earned.shape)


def excess(promise: Promise | None, value: float, counts: Counts, cost: float = 0.0) -> float:
    """How many more failures a promise allows, as a share of those of the experts; 0 up to what trials often allow.

    `value` is what they earn before the cost of asking; it is infinite where they never fail.

    Examples
    --------
    >>> import meanbounds as mb
    >>> counts = mb.logs.Counts([None], ["a"], [[100]], [[93]], [[93]])
    >>> [round(excess(mb.Promise(**one), 0.93, counts), 3) for one in ({"at_least": 0.98}, {"failures": TRIALS})]
    [0.266, 0.0]
    """
    lost, failures = float(allowed(promise, value, counts)) + (cost if promise else 0.0), counts.high - value
    share = lost / failures if failures > 1e-9 * (counts.high - counts.low) else (np.inf if lost else 0.0)
    return share if share > TRIALS * (1.0 + 1e-6) else 0.0
