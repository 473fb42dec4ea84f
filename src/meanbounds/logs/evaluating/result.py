"""What a log says about the values of policies: numbers, a table, and words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import floor, log10
from typing import TYPE_CHECKING, Any

from meanbounds.support.checks import shown
from meanbounds.support.entries import Entries
from meanbounds.support.optional import optional
from meanbounds.support.saving import Saved
from meanbounds.support.tables import text_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Evaluation", "PolicyValue"]

_WIDTH = 110  # of a line of words


@dataclass(frozen=True)
class PolicyValue:
    """What a log says about the value of one policy: its mean reward over the rows of the log, in reward units.

    Attributes
    ----------
    name
        Name of the policy: "agent" for whoever wrote the log, "always tPA" for an arm, else the name that was given.
    rows
        Rows that the numbers rest on.
    ipw
        Estimate by inverse propensities; for who wrote the log, the plain mean of the rewards. What the log could not
        try counts as the lowest reward.
    dr
        Doubly robust estimate; None for who wrote the log, and where the log could not try all that the policy plays.
    unseen
        Share of the policy's decisions that are pairs of context and arm which the log never has and, as far as is
        known, could not have. As far as the estimate goes, the value of the whole policy is between ``ipw`` and
        ``ipw + unseen (high - low)``.
    lower, upper
        Confidence limits; what the log could not try counts as the lowest reward in one, and the highest in the other.
    effective_rows
        How many rows of the policy itself would say as much: the sum of the weights, squared, over the sum of squares.
    mean_weight
        Average weight; about 1 if the log could try all that the policy plays.
    difference, difference_lower, difference_upper
        Value of the policy minus that of the one it is compared with, and limits on it; None for that one itself.
    notes
        What cannot be said, in words.

    Examples
    --------
    >>> import meanbounds as mb
    >>> events = mb.logs.Events(arm=["a", "b"] * 500, reward=[1, 0] * 500, probability=[0.5] * 1000)
    >>> found = mb.logs.evaluate(events)["always a"]
    >>> found.ipw, found.dr > 0.99, found.lower > 0.85, found.upper
    (1.0, True, True, 1.0)
    """

    name: str
    rows: int
    ipw: float
    dr: float | None
    unseen: float
    lower: float
    upper: float
    effective_rows: float
    mean_weight: float
    difference: float | None = None
    difference_lower: float | None = None
    difference_upper: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The estimate to quote: doubly robust where there is one.

        Examples
        --------
        >>> import meanbounds as mb
        >>> events = mb.logs.Events(arm=["a", "b"] * 500, reward=[1, 0] * 500, probability=[0.5] * 1000)
        >>> mb.logs.evaluate(events)["agent"].value
        0.5
        """
        return self.ipw if self.dr is None else self.dr


@dataclass(frozen=True)
class Evaluation(Saved):
    """Values of policies from a log, with limits; `meanbounds.logs.evaluate` makes it.

    Attributes
    ----------
    values
        A `PolicyValue` for each policy.
    rows, pending
        Rows of the log, and how many of them have no reward yet.
    low, high
        The range of the rewards.
    confidence
        Probability with which the limits hold, of all policies together unless ``simultaneous`` is False.
    simultaneous, anytime
        Whether the confidence is for all limits at once, and for all numbers of rows at once.
    against
        Name of the policy that the others are compared with; "" if there is none.
    notes
        What is to be known about the log as a whole, in words.

    Examples
    --------
    >>> import meanbounds as mb
    >>> events = mb.logs.Events(arm=["a", "b"] * 500, reward=[1, 0] * 500, probability=[0.5] * 1000)
    >>> found = mb.logs.evaluate(events)
    >>> [value.name for value in found]
    ['agent', 'always a', 'always b']
    >>> mb.logs.Evaluation.from_dict(found.to_dict()) == found
    True
    """

    values: tuple[PolicyValue, ...]
    rows: int
    pending: int
    low: float
    high: float
    confidence: float
    simultaneous: bool
    anytime: bool
    against: str
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[PolicyValue]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> PolicyValue:
        for value in self.values:
            if value.name == name:
                return value
        names = ", ".join(repr(value.name) for value in self.values)
        raise KeyError(f"there is no policy {shown(name)}; there are {names}")

    def summary(self) -> str:
        r"""The values as a table, and what cannot be said, in words.

        Examples
        --------
        >>> import meanbounds as mb
        >>> events = mb.logs.Events(arm=["a", "b"] * 500, reward=[1, 0] * 500, probability=[0.5] * 1000)
        >>> print(mb.logs.evaluate(events).summary().split("\n\n")[0])
        policy    value  lower  upper  rows' worth  minus agent   lower   upper
        -----------------------------------------------------------------------
        agent     0.500  0.445  0.555        1,000
        always a  1.000  0.890  1.000          500       +0.500  +0.440  +0.560
        always b  0.000  0.000  0.110          500       -0.500  -0.560  -0.440
        """
        decimals = min(12, max(0, 3 - floor(log10(self.high - self.low))))
        rows = [self._cells(value, decimals) for value in self.values]
        header = ["policy", "value", "lower", "upper", "rows' worth"]
        align = "lrrrr"
        if self.against:
            header += [f"minus {self.against}", "lower", "upper"]
            align += "rrr"
        parts = [text_table(header, [row[: len(header)] for row in rows], align=align), self._claim()]
        parts += [_wrapped(note) for note in self.notes]
        parts += [_wrapped(f"{value.name}: {note}") for value in self.values for note in value.notes]
        return "\n\n".join(parts)

    __str__ = summary

    def _cells(self, value: PolicyValue, decimals: int) -> list[str]:
        def number(one: float | None, sign: str = "") -> str:
            return "" if one is None else f"{one:{sign}.{decimals}f}"

        whole = number(min(max(value.value, self.low), self.high))  # doubly robust ones can leave the range
        if value.unseen > 0.0:
            whole += f" to {number(value.ipw + value.unseen * (self.high - self.low))}"
        own = [value.name, whole, number(value.lower), number(value.upper), f"{value.effective_rows:,.0f}"]
        gaps = (value.difference, value.difference_lower, value.difference_upper)
        return [*own, *(number(gap, "+") for gap in gaps)]

    def _claim(self) -> str:
        sure = f"{100 * self.confidence:.12g}%"
        which = "All limits hold together" if self.simultaneous else "Each pair of limits holds by itself"
        when = (
            ", however often you look" if self.anytime else " for a number of rows that was not chosen by the results"
        )
        return _wrapped(
            f"{which} with {sure} confidence{when}. They are about the mean reward over the {self.rows:,} rows of this "
            f"log, and hold although probabilities changed with earlier rewards."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame, a row for each policy.

        Examples
        --------
        >>> import meanbounds as mb
        >>> events = mb.logs.Events(arm=["a", "b"] * 500, reward=[1, 0] * 500, probability=[0.5] * 1000)
        >>> mb.logs.evaluate(events).to_frame().columns.tolist()[:5]
        ['name', 'rows', 'ipw', 'dr', 'unseen']
        """
        with optional("frames", "data frames"):
            import pandas as pd

        names = [field.name for field in fields(PolicyValue)]
        rows = [[getattr(value, name) for name in names[:-1]] + [" ".join(value.notes)] for value in self.values]
        return pd.DataFrame(rows, columns=names)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists, strings and numbers, for JSON."""
        found = asdict(self)
        found["values"] = [{**value, "notes": list(value["notes"])} for value in found["values"]]
        return {"kind": "Evaluation", **found, "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Evaluation:
        """Make the evaluation that `to_dict` described."""
        saved = Entries(data, "evaluation")
        names = [field.name for field in fields(cls)]
        saved.need(names)
        values = [_value(one, saved) for one in saved.sequence("values")]
        low, high, confidence = (float(saved.numbers(name, ())) for name in ("low", "high", "confidence"))
        flags = [saved[name] for name in ("simultaneous", "anytime")]
        if not all(isinstance(flag, bool) for flag in flags):
            raise saved.fail("simultaneous and anytime must be true or false")
        rows, pending = saved.whole("rows"), saved.whole("pending")
        against, notes = saved["against"], _texts(saved.sequence("notes"), saved)
        if not isinstance(against, str):
            raise saved.fail(f"against must be text; got {shown(against)}")
        return cls(tuple(values), rows, pending, low, high, confidence, flags[0], flags[1], against, notes)


def _value(data: Any, saved: Entries) -> PolicyValue:
    own = Entries(data, "evaluation")
    names = [field.name for field in fields(PolicyValue)]
    own.need(names)
    if not isinstance(own["name"], str):
        raise saved.fail(f"a name must be text; got {shown(own['name'])}")
    optional_ones = ("dr", "difference", "difference_lower", "difference_upper")
    numbers: dict[str, Any] = {
        name: None if own[name] is None and name in optional_ones else float(own.numbers(name, ()))
        for name in names[2:-1]
    }
    return PolicyValue(own["name"], own.whole("rows"), **numbers, notes=_texts(own.sequence("notes"), saved))


def _texts(given: Sequence[Any], saved: Entries) -> tuple[str, ...]:
    if not all(isinstance(text, str) for text in given):
        raise saved.fail(f"notes must be text; got {shown(given)}")
    return tuple(given)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
