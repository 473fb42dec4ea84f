"""An agent that starts from a log, and what to expect of it: whether it should take over from the experts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from meanbounds.agents import Agent
from meanbounds.bounds import Arm
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.experts import ANYONE, Experts
from meanbounds.logs.log_agent import PROMISE, agent
from meanbounds.logs.outlook import CONCLUSIONS, Conclusion, Limits, Outlook
from meanbounds.logs.words import TRIALS, Words, assumptions, cut, excess, listed, name_of, quantity, quoted, some
from meanbounds.policies import Guarded, Promise
from meanbounds.support.checks import as_whole

__all__ = ["Start", "start"]

_PRINTED, _WITH_TREE = 6, 2  # contexts in the text for a terminal, and below a tree
_HEAD = ["found on other rows", "     rows", "experts choose", "earn", "agent would try"]  # of the tree's columns
_SIZES = 80, 12, 18, 12, 15  # the characters of all columns, and at most of each


@dataclass(frozen=True, eq=False)
class Start:
    """An agent that starts from a log, and what to expect of it; `meanbounds.logs.start` makes it.

    Attributes
    ----------
    agent
        The agent, which has not decided yet.
    counts, experts, promise, confidence, shift, cost
        What it was made from.
    outlooks
        What to expect in each context, those with the most rows first.
    concluded
        In how many contexts which conclusion holds, of all contexts with rows.
    """

    agent: Agent
    counts: Counts
    experts: Experts
    promise: Promise | None
    confidence: float
    shift: float
    cost: float
    outlooks: tuple[Outlook, ...]
    concluded: Mapping[Conclusion, int]

    @property
    def conclusion(self) -> Conclusion:
        """That of all contexts if it is the same; otherwise to take over under a guard, if there is one."""
        return next(iter(self.concluded)) if len(self.concluded) == 1 else CONCLUSIONS[1 if self.promise else 3]

    def in_words(self) -> str:
        """The conclusion as a sentence."""
        if len(self.concluded) == 1:
            return f"{self.conclusion.capitalize()}."
        found = [f"{one} in {quantity(self.concluded[one], 'context')}" for one in CONCLUSIONS if one in self.concluded]
        return f"{some(found).capitalize()}."

    @property
    def outline(self) -> list[tuple[int, str, Outlook | None]]:
        """The tree of the contexts line by line: how deep, the answer, and for a leaf what to expect there."""
        tree, found = self.counts.tree, {one.context: one for one in self.outlooks}
        if tree is None:
            return []
        lines = tree.outline()
        lines += [(0, name, name) for name in tree.contexts[len(tree.contexts) - len(tree.columns) :] if name in found]
        return [(depth, answer, found.get(context)) for depth, answer, context in lines]

    @property
    def average(self) -> float:
        """What the experts earn on average in all contexts, before the cost of asking."""
        rows = self.counts.chosen.sum(axis=1)
        return float(rows @ np.nan_to_num(self.counts.value) / rows.sum())

    @property
    def _pooled(self) -> bool:
        """Whether one promise is about all contexts together."""
        return isinstance(self.agent.policy, Guarded) and self.agent.policy.pooled

    @property
    def assumed(self) -> str:
        """What is assumed of the log and of the experts, in words; empty if it is nothing."""
        return assumptions(self.counts, "" if self.experts == ANYONE else self.experts.in_words())

    @property
    def _earned(self) -> dict[Context, float]:
        """What the experts earn before the cost of asking, wherever a promise compares with it."""
        if self._pooled:
            return {None: self.average}
        return {one.context: one.value + self.cost for one in self.outlooks if one.rows}

    def promised(self) -> str:
        """The promise as a sentence, with what it allows."""
        if self.promise is None:
            return "Nothing is promised: no guard keeps the agent from doing worse than your experts."
        said, words = self.promise.in_words(), Words.of(self.counts)
        ends = {"low": self.counts.low, "high": self.counts.high}
        often = [self.promise.per_decisions(value, 10_000, **ends) for value in self._earned.values()]
        most = " to ".join(dict.fromkeys(words.sum(end) for end in (min(often), max(often))))
        rate = f"at most {most} {words.unit} fewer in 10,000 decisions"
        rate += f" than they earn less the cost of asking, {self.cost:g} each" * (self.cost > 0.0)
        each = (" in all contexts together" if self._pooled else " in each context") * (len(self.counts.contexts) > 1)
        return f"{said[0].upper()}{said[1:]}: {rate}, with probability {self.confidence:g}{each}."

    def warnings(self) -> list[str]:
        """What the promise allows that may be too much, in a sentence."""
        found = {context: excess(self.promise, own, self.counts, self.cost) for context, own in self._earned.items()}
        over = [context for context, share in found.items() if share]
        where = f" in {some([quoted(context) for context in over], 4)}" * (len(self.outlooks) > 1 and not self._pooled)
        share, most = max(found.values(), default=0.0), "up to " * (len(over) > 1)
        most = f"{most}{100.0 * share:.3g}% more failures than they have"
        most = "failures where they have none" if share == np.inf else most
        who = "and the cost of asking allow" if self.cost else "allows"
        said = f"The promise to your experts {who} {most}"
        return [f"{said}{where}; trials often allow at most {TRIALS:.0%}."] if over else []

    def __str__(self) -> str:
        words, counts = Words.of(self.counts), self.counts
        sizes = (counts.rows, "row"), (sum(self.concluded.values()), "context"), (len(counts.arms), "option")
        said = ", ".join(quantity(*size) for size in sizes)
        if counts.missing is not None:
            said += f", and {quantity(float(counts.missing.sum()), 'row')} without {name_of(counts.reward)}"
        lines = [f"{said}; {self.assumed or self.experts.in_words()}"]
        lines += [self.promised(), *(f"Warning: {said}" for said in self.warnings()), *self._drawn()]
        printed = self.outlooks[: _WITH_TREE if self.outline[1:] else _PRINTED]
        for one in printed:
            low, high = map(words.reward, one.limits)
            lines.append(f"\n{name_of(one.context)} ({quantity(one.rows, 'row')}): {one.conclusion}")
            lines.append(f"  why      {one.because}")
            after = " after the cost of asking" * (self.cost > 0.0)
            lines.append(f"  experts  earn {words.reward(one.value)} ({low} to {high}){after}")
            lines.append(f"  first    {one.first_in_words()}")
            if one.best is not None:
                lines.append(f"  switch   to {quoted(one.best.arm)}, in 1,000 decisions: {one.switching(words)}")
            if one.unsupported:
                lines.append(f"  left out {listed(one.unsupported)}")
        if (more := sum(self.concluded.values()) - len(printed)) > 0:
            lines.append(f"\n{quantity(more, 'more context')}, with fewer rows")
        return "\n".join([*lines, f"\nConclusion: {self.in_words()}"])

    def _drawn(self) -> list[str]:
        """The tree in 80 columns; empty for one leaf."""
        outline, words = self.outline, Words.of(self.counts)
        if len(outline) < 2:
            return []
        step, lines = 2 if max(depth for depth, *_ in outline) < 7 else 1, [_HEAD]
        for depth, answer, one in outline:
            said = [" " * step * depth + name_of(answer), *[""] * 4]
            if one is not None:
                most, tries = f"{one.mostly.share:.0%} {quoted(one.mostly.arm)}", quoted(one.wanted)
                said[1:] = f"{one.rows:>9,}", most, words.reward(one.likely), tries
            lines.append(said)
        sizes = [min(most, max(map(len, part))) for most, part in zip(_SIZES, zip(*lines, strict=True), strict=True)]
        sizes[0] = min(sizes[0], _SIZES[0] - sum(sizes[1:]) - 2 * 4)
        cells = [[f"{cut(text, size):{size}}" for text, size in zip(line, sizes, strict=True)] for line in lines]
        return ["", *("  ".join(line).rstrip() for line in cells)]

    def to_dict(self) -> dict[str, Any]:
        """What to expect, as JSON can hold it; the agent is saved apart."""
        made = {name: getattr(self, name) for name in ("conclusion", "confidence", "shift", "cost")}
        made |= {"experts": self.experts.to_dict(), "promise": self.promise and self.promise.to_dict()}
        contexts = [one.to_dict() for one in self.outlooks if one.rows]
        return {**made, "rows": self.counts.rows, "concluded": dict(self.concluded), "contexts": contexts}

    def save(self, path: str | Path) -> None:
        """Write the agent to a JSON file; `meanbounds.Agent.load` reads it."""
        self.agent.save(path)


def start(
    counts: Counts,
    experts: Experts = ANYONE,
    *,
    shift: float = 0.0,
    promise: Promise | None = PROMISE,
    confidence: float = 0.95,
    cost: float = 0.0,
    expert: bool = True,
    arms: Iterable[Arm] | None = None,
    most: int = 20,
    **options: Any,
) -> Start:
    """Make an agent from a log, and say for each context what to expect of it and whether to take over.

    Parameters
    ----------
    counts, experts, shift, promise, confidence, cost, expert, arms
        As for `meanbounds.logs.agent`. Without experts to ask nothing is promised.
    most
        How many contexts to describe, those with the most rows first; all leaves of a tree. The conclusion is about all
        that have rows.
    options
        More arguments of `meanbounds.logs.agent`, such as ``include=["new"]`` or ``seed=7``.

    Notes
    -----
    With v the experts' value less the cost of asking, an option can gain at most the least of three: its upper bound
    less the lower limit on v; the failures in cases that got another option, each of which might have been a success;
    and what was assumed of the experts (`Experts.loss`, or `Experts.errors` times `Experts.gap_high`). It can lose at
    most the lesser of the upper limit on v less its lower bound, and the successes in those cases. In each context all
    these limits hold at once with the confidence. Then, of the options that have enough rows,

    - *take over* if one is certain to lose nothing;
    - *keep your experts* if none can gain more than the promise may cost, or if there is none;
    - *take over under a guard* otherwise: the log does not tell, and an agent can find out.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[600, 400, 5]], [[480, 200, 5]]
    >>> counts = mb.logs.Counts(["north"], ["tPA", "watch", "new"], count, total, total)
    >>> found = mb.logs.start(counts, seed=7)
    >>> found.conclusion, found.outlooks[0].unsupported
    ('take over under a guard', ['new'])
    >>> found.outlooks[0].first_in_words()
    'ask your experts (1,005 rows): the promise does not allow “tPA” yet'
    >>> mb.logs.start(counts, mb.Experts(errors=0)).conclusion
    'keep your experts'
    """
    given: dict[str, Any] = {"confidence": confidence, "shift": shift, "cost": cost}
    made = agent(counts, experts, **given, promise=promise, expert=expert, arms=arms, **options)
    promise = made.policy.promise if isinstance(made.policy, Guarded) else None
    limits = Limits(counts, experts, made, promise, given)
    rows, size = counts.count.sum(axis=1), as_whole("most", most)
    shown = np.argsort(-rows, kind="stable")[: np.count_nonzero(rows)]
    found = [limits.outlook(place) for place in shown[: None if counts.tree else size].tolist()]
    tally = Counter(limits.concluded[shown].tolist())
    concluded = {one: tally[place] for place, one in enumerate(CONCLUSIONS) if tally[place]}
    return Start(made, counts, experts, promise, confidence, shift, cost, tuple(found), concluded)
