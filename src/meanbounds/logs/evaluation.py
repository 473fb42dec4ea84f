"""What an agent earned, and what others would have earned: the numbers, a table, and a conclusion in plain words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meanbounds.logs.counts import Context, plain
from meanbounds.logs.words import name_of, quantity, quoted, some
from meanbounds.support.checks import unknown

__all__ = ["LINES", "Evaluation", "Value"]

LINES = ("agent", "experts, asked", "experts, log")
"""The names of what was earned in fact; all others are policies that did not decide."""

_PRINTED, _NAME = 6, 18  # contexts, and characters of a name, in the text for a terminal


@dataclass(frozen=True)
class Value:
    """What one policy earned, or would have earned, on average over the decisions, in reward units.

    Attributes
    ----------
    name, rows
        ``"agent"``, ``"experts, asked"``, ``"experts, log"``, ``"always tPA"``, or the name that was given; and how
        many rows the numbers rest on.
    value
        The estimate to quote: the mean reward; for other policies the doubly robust estimate, moved into the limits.
        Over all decisions it is the average of the contexts' estimates, weighted by their rows.
    lower, upper
        Confidence limits on the average of what each decision was expected to bring.
    unseen
        The share of its decisions that nobody ever made in these contexts. They count as the lowest reward in `value`
        and `lower`, and as the highest in `upper`.
    difference
        Limits on what it earned minus what the agent earned; None for the agent.
    ipw, robust
        For other policies: the estimates by inverse propensities, and doubly robust with predicted means of context and
        arm, None where something is unseen.
    effective, largest
        How many rows of its own would say as much, and the largest weight.
    note
        What cannot be said of it, in words.
    """

    name: str
    rows: int
    value: float
    lower: float
    upper: float
    unseen: float = 0.0
    difference: tuple[float, float] | None = None
    ipw: float | None = None
    robust: float | None = None
    effective: float = 0.0
    largest: float = 1.0
    note: str = ""


@dataclass(frozen=True)
class Evaluation:
    """What an agent earned, and what others would have earned; `meanbounds.logs.evaluate` makes it, `print` shows it.

    Attributes
    ----------
    values, contexts
        A `Value` for the agent, the experts and each policy: over all decisions, where all limits hold at once, and for
        each context, where they hold at once in each context by itself.
    rows, pending, dropped
        Decisions with a reward, those without, and how many were left out, by kind.
    low, high, confidence
        The range of the rewards, and the probability with which limits hold.
    """

    values: tuple[Value, ...]
    contexts: Mapping[Context, tuple[Value, ...]]
    rows: int
    pending: int
    dropped: Mapping[str, int]
    low: float
    high: float
    confidence: float

    def __getitem__(self, name: str) -> Value:
        for value in self.values:
            if value.name == name:
                return value
        raise LookupError(unknown("policy", name, [value.name for value in self.values]))

    def conclusion(self) -> str:
        """What follows for all decisions together, in plain words."""
        said, text, unclear = [f"The agent earned {self._earned(self.values[0])}."], self._number, []
        for one in self.values[1:]:
            low, high = one.difference or (0.0, 0.0)
            if one.name in LINES:
                end = f"so it is open who did better (experts minus agent: {text(low, '+')} to {text(high, '+')})"
                end = f"so they did better, by at least {text(low)}" if low > 0.0 else end
                end = f"so the agent did better, by at least {text(-high)}" if high < 0.0 else end
                where = "in the log" if one.name == LINES[2] else "earned, when they were asked,"
                said.append(f"The experts {where} {self._earned(one)}, {end}.".replace("log ", "log earned "))
            elif low > 0.0:
                said.append(f"{quoted(one.name)} would have earned {self._earned(one)}: more, by at least {text(low)}.")
            elif high > 0.0:
                unclear.append(quoted(one.name))
        if unclear:
            said.append(f"Whether {some(unclear, 4)} would have earned more than the agent is open.")
        elif all(one.name in LINES or (one.difference or (0.0, 0.0))[1] <= 0.0 for one in self.values):
            said.append("No other policy here would have earned more than the agent.")
        return " ".join(said)

    def notes(self) -> list[str]:
        """What to know before relying on the numbers, each in a sentence or two."""
        found = [f"{quantity(number, 'row')} left out: {kind}." for kind, number in self.dropped.items()]
        if self.pending:
            found.append(
                f"{quantity(self.pending, 'decision')} without a reward left out: right only if how long a reward "
                f"takes has nothing to do with its size."
            )
        return [*found, *(f"{name_of(one.name)}: {one.note}" for one in self.values if one.note)]

    def __str__(self) -> str:
        limits = f"{100 * self.confidence:g}% limits"
        head = f"{quantity(self.rows, 'decision')} with a reward\n\n{'':{_NAME}} {'earned':>15}  {limits:>15}"
        parts = [f"{head} {'worth rows':>11} {'minus agent':>16}\n{self._table(self.values)}"]
        parts += [textwrap.fill(said, 80, break_on_hyphens=False) for said in (self.conclusion(), *self.notes())]
        ranked = sorted(self.contexts.items(), key=lambda one: -one[1][0].rows)
        for name, own in ranked[:_PRINTED] if len(ranked) > 1 else ():
            parts.append(f"{name_of(name)} ({quantity(own[0].rows, 'decision')})\n{self._table(own)}")
        if len(ranked) > _PRINTED:
            parts.append(f"{quantity(len(ranked) - _PRINTED, 'more context')}, with fewer decisions")
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        data = {**vars(self), "conclusion": self.conclusion(), "notes": self.notes()}
        data["values"] = [vars(one) for one in self.values]
        data["contexts"] = [{"context": name, "values": [*map(vars, own)]} for name, own in self.contexts.items()]
        return dict(plain(data))

    def _number(self, value: float, sign: str = "") -> str:
        return f"{value:{sign}.{min(12, max(0, 2 - math.floor(math.log10(self.high - self.low))))}f}"

    def _range(self, one: Value) -> str:
        last = f" to {self._number(one.value + one.unseen * (self.high - self.low))}" if one.unseen else ""
        return self._number(one.value) + last

    def _earned(self, one: Value) -> str:
        return f"{self._range(one)} (limits {self._number(one.lower)} to {self._number(one.upper)})"

    def _table(self, values: Sequence[Value]) -> str:
        text, lines = self._number, []
        for one in values:
            name = name_of(one.name)
            name = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
            limits = f"{text(one.lower)} to {text(one.upper)}"
            gap = "" if one.difference is None else " to ".join(text(end, "+") for end in one.difference)
            lines.append(f"{name:{_NAME}} {self._range(one):>15}  {limits:>15} {one.effective:>11,.0f} {gap:>16}")
        return "\n".join(line.rstrip() for line in lines)
