"""What a service has seen over time: how often each arm was chosen, and what agent and experts got.

It follows from the log like everything else. A line has at most `MARKS` points: when there are more, every second one
is dropped, so that a line of a million decisions is as long on the screen as one of a hundred.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, Literal

from meanbounds.agents.contexts import Context
from meanbounds.bounds import Arm
from meanbounds.service.events import name_of

__all__ = ["LINES", "MARKS", "By", "Got", "History", "Line", "Sums", "value_limits"]

MARKS = 128  # points of a line
LINES = 256  # contexts that have a line, those with the newest events; sums are kept for all
By = Literal["agent", "expert", "nobody"]
_TIGHTEST = 1_000.0  # number of rewards at which limits are tightest, compared with those for one fixed number


def value_limits(count: int, total: float, low: float, high: float, error: float = 0.025) -> tuple[float, float]:
    """Limits on the mean value of what was decided so far, which hold at all times at once.

    The value of a decision is the mean of its reward given all that went before. It changes as an agent learns, so the
    limits are about the average of these means. Rewards less their means are a martingale whose steps are
    subgaussian with the factor ``(high - low) ** 2 / 4``; a normal mixture of its exponentials gives the limits.

    Parameters
    ----------
    count, total
        How many rewards there were, and their sum.
    low, high
        The range of the rewards.
    error
        The probability with which the limits may ever fail.

    Returns
    -------
    The lower and the upper limit, within the range.

    Examples
    --------
    >>> from meanbounds.service.history import value_limits
    >>> lower, upper = value_limits(1_000, 700.0, 0.0, 1.0)
    >>> round(lower, 3), round(upper, 3)
    (0.648, 0.752)
    """
    if count == 0 or not low < high:
        return low, high
    factor = (high - low) ** 2 / 4.0
    width = 2.0 * log(1.0 / error)
    spare = factor * _TIGHTEST / (width + log(1.0 + width))
    known = count * factor + spare
    radius = sqrt(known * (log(known / spare) + width)) / count
    mean = total / count
    return max(low, mean - radius), min(high, mean + radius)


@dataclass(slots=True)
class Sums:
    """How many rewards agent and experts had, and their sums."""

    agent: int = 0
    agent_total: float = 0.0
    expert: int = 0
    expert_total: float = 0.0

    def add(self, reward: float, by: By) -> None:
        """One more reward."""
        if by == "expert":
            self.expert, self.expert_total = self.expert + 1, self.expert_total + reward
        else:
            self.agent, self.agent_total = self.agent + 1, self.agent_total + reward

    def copy(self) -> Sums:
        """The same sums, to be added to."""
        return Sums(self.agent, self.agent_total, self.expert, self.expert_total)

    def saved(self) -> list[float]:
        """The four numbers, for JSON."""
        return [self.agent, self.agent_total, self.expert, self.expert_total]

    @classmethod
    def from_saved(cls, data: list[float]) -> Sums:
        """The sums that `saved` described."""
        return cls(int(data[0]), data[1], int(data[2]), data[3])


Got = dict[Arm, list[float]]  # of each arm: decisions, rewards, and the sum of the rewards


@dataclass(slots=True)
class Line:
    """How often each arm was chosen and what it brought, over time, at no more than `MARKS` times.

    Events are noted as they come, and counted when somebody looks, or when there are many: most lines of a service with
    many contexts are dropped before anybody looks. `History.line` gives a line in which everything is counted.
    """

    arms: Got = field(default_factory=dict)
    marks: list[tuple[float, Got, list[float]]] = field(default_factory=list)
    step: int = 1  # events between two marks
    since: int = 0  # events since the last mark
    sums: Sums = field(default_factory=Sums)  # of the rewards that are counted, in the same context
    noted: list[tuple[float, Arm, float, By | None]] = field(default_factory=list)  # not counted; a decision has no By

    def note(self, time: float, arm: Arm, reward: float, by: By | None) -> None:
        """An event has happened."""
        self.noted.append((time, arm, reward, by))
        if len(self.noted) >= MARKS:
            self.count()

    def count(self) -> None:
        """Count what was noted."""
        noted, self.noted = self.noted, []
        for time, arm, reward, by in noted:
            if by is None:
                self._arm(arm)[0] += 1
            else:
                if by != "nobody":
                    self.sums.add(reward, by)
                if by != "expert":
                    got = self._arm(arm)
                    got[1], got[2] = got[1] + 1, got[2] + reward
            self.since += 1
            if self.since >= self.step:
                self._mark(time)

    def _arm(self, arm: Arm) -> list[float]:
        """The numbers of an arm, to be added to."""
        return self.arms.setdefault(arm, [0, 0, 0.0])

    def _mark(self, time: float) -> None:
        self.since = 0
        self.marks.append((time, {arm: got[:] for arm, got in self.arms.items()}, self.sums.saved()))
        if len(self.marks) > MARKS:
            self.marks, self.step = self.marks[::2], 2 * self.step

    def saved(self) -> dict[str, Any]:
        """The line in values that JSON can hold."""
        self.count()
        marks = [[time, list(arms.items()), sums] for time, arms, sums in self.marks]
        return {"arms": list(self.arms.items()), "marks": marks, "step": self.step, "since": self.since}

    @classmethod
    def from_saved(cls, data: Mapping[str, Any], sums: Sums) -> Line:
        """The line that `saved` described, with the sums of the same context."""
        marks = [(time, {arm: list(got) for arm, got in arms}, sums) for time, arms, sums in data["marks"]]
        arms = {arm: list(got) for arm, got in data["arms"]}
        return cls(arms, marks, data["step"], data["since"], sums.copy())


class History:
    """What an agent's decisions brought, in all contexts and in each.

    Examples
    --------
    >>> from meanbounds.service.history import History
    >>> history = History()
    >>> history.decided(1.0, "old", "tPA")
    >>> history.rewarded(2.0, "old", "tPA", 1.0, "agent")
    >>> history.sums("old").agent, history.line("old").arms
    (1, {'tPA': [1, 1, 1.0]})
    """

    def __init__(self) -> None:
        self._sums: dict[Context, Sums] = {None: Sums()}
        self._lines: OrderedDict[Context, Line] = OrderedDict({None: Line()})

    def sums(self, context: Context) -> Sums:
        """What agent and experts got in a context; None for all."""
        return self._sums.get(context, Sums())

    def line(self, context: Context) -> Line | None:
        """Plays over time in a context, if it is one of those with the newest events; None for all contexts."""
        line = self._lines.get(context)
        if line is not None:
            line.count()
        return line

    def decided(self, time: float, context: Context, arm: Arm) -> None:
        """A decision for an arm, by the agent or forced."""
        self._line(None).note(time, arm, 0.0, None)
        if context is not None:
            self._line(context).note(time, arm, 0.0, None)

    def rewarded(self, time: float, context: Context, arm: Arm, reward: float, by: By) -> None:
        """A reward, by who decided; what is forced is neither the agent's choice nor the expert's."""
        for where in (None,) if context is None else (None, context):
            self._line(where).note(time, arm, reward, by)  # before the sums: those of a new line do not have the reward
            own = self._sums.get(where)
            if own is None:
                own = self._sums[where] = Sums()
            if by != "nobody":
                own.add(reward, by)

    def _line(self, context: Context) -> Line:
        lines = self._lines
        line = lines.get(context)
        if line is None:
            line = lines[context] = Line(sums=self.sums(context).copy())
            if len(lines) > LINES:
                ages = iter(lines)
                oldest = next(ages)
                del lines[next(ages) if oldest is None else oldest]
        else:
            lines.move_to_end(context)  # so that all have the order of their newest events, that of all contexts too
        return line

    def rename(self, context: Context, new: Context) -> None:
        """Let a context have another name, at its place among the others."""
        self._sums = {new if own == context else own: sums for own, sums in self._sums.items()}
        self._lines = OrderedDict((new if own == context else own, line) for own, line in self._lines.items())

    def saved(self) -> dict[str, Any]:
        """The whole history in values that JSON can hold."""
        return {
            "sums": [[name_of(context), own.saved()] for context, own in self._sums.items()],
            "lines": [[name_of(context), line.saved()] for context, line in self._lines.items()],
        }

    @classmethod
    def from_saved(cls, data: Mapping[str, Any], as_context: Callable[[Any], Context]) -> History:
        """The history that `saved` described."""
        made = cls()
        made._sums = {as_context(context): Sums.from_saved(own) for context, own in data["sums"]}
        made._lines = OrderedDict(
            (context, Line.from_saved(line, made.sums(context)))
            for context, line in ((as_context(name), line) for name, line in data["lines"])
        )
        return made
