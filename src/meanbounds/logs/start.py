"""An agent that starts from a log, and what to expect of it: whether it should take over from the experts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from meanbounds.agents import Agent
from meanbounds.bounds import EXPERT, Arm
from meanbounds.logs.agent import FEWEST, LEAST_SHARE, OF_BOUNDS, OF_GUARD, OF_VALUE, PROMISE, agent
from meanbounds.logs.assumed import WEAKEST, Assumed
from meanbounds.logs.bounds import value
from meanbounds.logs.claims import nearest
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.experts import Experts
from meanbounds.logs.limits import as_nats, upper_limit
from meanbounds.logs.words import TRIALS, Words, allowed, excess, listed, name_of, quantity, quoted, some
from meanbounds.policies import Guarded, Promise
from meanbounds.support.checks import as_whole
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["CONCLUSIONS", "MOST", "Conclusion", "Outlook", "Start", "start"]

Conclusion = Literal["take over", "take over under a guard", "keep your experts"]
"""What to do in a context."""

CONCLUSIONS: tuple[Conclusion, ...] = get_args(Conclusion)

MOST = 20
"""How many contexts are described, those with the most rows first."""

_PRINTED = 6  # contexts in the text for a terminal
_ANY = Experts()


@dataclass(frozen=True, eq=False)
class Outlook:
    """What to expect in one context.

    Attributes
    ----------
    context, rows
        Its name, and its rows in the log.
    value, limits
        What the experts earned on average less the cost of asking them, and limits on that.
    first, behind, reason
        What would be played first, `EXPERT` if the experts are asked; how many rows stand behind it; and why:
        ``"policy"`` for what the policy wants, ``"guard"`` if it wants `wanted`, which the promise does not allow yet,
        ``"support"`` if no option has enough rows.
    best
        The option to switch to: the one with the highest middle of what it can gain and lose, or the one that is
        certain to lose least; None if none can be played.
    gain, loss
        The most that each option can gain or lose against the experts in a decision, in reward units; a negative loss
        is a certain gain.
    unsupported
        The options that are not played: they have too few rows, or are forbidden.
    conclusion, because
        What to do, and why.
    odds
        For the option that gets there first, the factor up to which unrecorded facts may have changed the odds of a
        choice while it is still certain to earn no less than the experts, all else as assumed; None if there is none.
    """

    context: Context
    rows: int
    value: float
    limits: tuple[float, float]
    first: Arm
    reason: Literal["guard", "policy", "support"]
    behind: int
    wanted: Arm
    best: Arm | None
    gain: Mapping[Arm, float]
    loss: Mapping[Arm, float]
    unsupported: tuple[Arm, ...]
    conclusion: Conclusion
    because: str
    odds: tuple[Arm, float] | None

    def first_in_words(self) -> str:
        """What is done first, and why."""
        why = f"by what the log makes likely, {'they do best' if self.first is EXPERT else 'it is most worth trying'}"
        if self.reason == "support":
            why = "no option has enough rows to be played"
        elif self.reason == "guard":
            why = f"the promise does not allow {quoted(self.wanted)} yet"
        what = "ask your experts" if self.first is EXPERT else f"play {quoted(self.first)}"
        return f"{what} ({quantity(self.behind, 'row')}): {why}"

    def switching(self, words: Words) -> str:
        """What 1,000 decisions for `best` can gain and lose, against asking the experts."""
        gain, loss = (0.0, 0.0) if self.best is None else (1e3 * self.gain[self.best], 1e3 * self.loss[self.best])
        if loss <= 0.0:
            return f"gain {words.sum(-loss)} to {words.sum(gain)} {words.unit}"
        if gain <= 0.0:
            return f"lose {words.sum(-gain)} to {words.sum(loss)} {words.unit}"
        return f"gain at most {words.sum(gain)}, lose at most {words.sum(loss)} {words.unit}"

    def to_dict(self) -> dict[str, Any]:
        """The outlook, as JSON can hold it."""
        data: dict[str, Any] = {**vars(self), "value": self.value if self.rows else None}
        data |= {name: {"expert": True} if data[name] is EXPERT else data[name] for name in ("first", "wanted")}
        data |= {name: [list(pair) for pair in data[name].items()] for name in ("gain", "loss")}
        return {name: list(part) if isinstance(part, tuple) else part for name, part in data.items()}


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
        In how many contexts which conclusion holds, of all contexts.
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
        """That of all contexts if it is the same; otherwise to take over under a guard, which suits each of them."""
        return next(iter(self.concluded)) if len(self.concluded) == 1 else CONCLUSIONS[1]

    def in_words(self) -> str:
        """The conclusion as a sentence."""
        if len(self.concluded) == 1:
            return f"{self.conclusion.capitalize()}."
        found = [f"{one} in {quantity(self.concluded[one], 'context')}" for one in CONCLUSIONS if one in self.concluded]
        return f"{some(found).capitalize()}."

    def promised(self) -> str:
        """The promise as a sentence, with what it allows."""
        if self.promise is None:
            return "Nothing is promised: no guard keeps the agent from doing worse than your experts."
        said, words, ends = self.promise.in_words(), Words.of(self.counts), (self.counts.low, self.counts.high)
        often = [self.promise.per_decisions(one.value, 10_000, low=ends[0], high=ends[1]) for one in self.outlooks]
        most = " to ".join(dict.fromkeys(words.sum(end) for end in (min(often), max(often))))
        rate = f"at most {most} {words.unit} fewer in 10,000 decisions"
        return f"{said[0].upper()}{said[1:]}: {rate}, with probability {self.confidence:g} in each context."

    def warnings(self) -> list[str]:
        """What the promise allows that may be too much, in a sentence."""
        found = {one.context: excess(self.promise, one.value, self.counts) for one in self.outlooks if one.rows}
        over = [context for context, share in found.items() if share]
        where = f" in {some([quoted(context) for context in over], 4)}" * (len(self.counts.contexts) > 1)
        most = f"{'up to ' * (len(over) > 1)}{100 * max(found.values(), default=0.0):.3g}%"
        said = f"The promise allows {most} more failures than your experts have"
        return [f"{said}{where}; trials often allow at most {TRIALS:.0%}."] if over else []

    def __str__(self) -> str:
        words, counts = Words.of(self.counts), self.counts
        sizes = (counts.rows, "row"), (len(counts.contexts), "context"), (len(counts.arms), "option")
        lines = [f"{', '.join(quantity(*size) for size in sizes)}; {self.experts.in_words()}", self.promised()]
        lines += [f"Warning: {said}" for said in self.warnings()]
        for one in self.outlooks[:_PRINTED]:
            low, high = map(words.reward, one.limits)
            lines.append(f"\n{name_of(one.context)} ({quantity(one.rows, 'row')}): {one.conclusion}")
            lines.append(f"  why      {one.because}")
            lines.append(f"  experts  earn {words.reward(one.value)} ({low} to {high})")
            lines.append(f"  first    {one.first_in_words()}")
            if one.best is not None:
                lines.append(f"  switch   to {quoted(one.best)}, in 1,000 decisions: {one.switching(words)}")
            if one.unsupported:
                lines.append(f"  left out {listed(one.unsupported)}")
        if (more := len(counts.contexts) - len(self.outlooks[:_PRINTED])) > 0:
            lines.append(f"\n{quantity(more, 'more context')}, with fewer rows")
        return "\n".join([*lines, f"\nConclusion: {self.in_words()}"])

    def to_dict(self) -> dict[str, Any]:
        """What to expect, as JSON can hold it; the agent is saved apart."""
        made = {name: getattr(self, name) for name in ("conclusion", "confidence", "shift", "cost")}
        made |= {"experts": self.experts.to_dict(), "promise": self.promise and self.promise.to_dict()}
        contexts = [one.to_dict() for one in self.outlooks]
        return {**made, "rows": self.counts.rows, "concluded": dict(self.concluded), "contexts": contexts}

    def save(self, path: str | Path) -> None:
        """Write the agent to a JSON file; `meanbounds.Agent.load` reads it."""
        self.agent.save(path)


def start(
    counts: Counts,
    experts: Experts = _ANY,
    *,
    shift: float = 0.0,
    promise: Promise | None = PROMISE,
    confidence: float = 0.95,
    cost: float = 0.0,
    expert: bool = True,
    arms: Iterable[Arm] | None = None,
    most: int = MOST,
    **options: Any,
) -> Start:
    """Make an agent from a log, and say for each context what to expect of it and whether to take over.

    Parameters
    ----------
    counts, experts, shift, promise, confidence, cost, expert, arms
        As for `meanbounds.logs.agent`. Without experts to ask nothing is promised.
    most
        How many contexts to describe, those with the most rows first. The conclusion is about all of them.
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
    - *keep your experts* if none can gain more than the promise allows to lose, or if there is none;
    - *take over under a guard* otherwise: the log does not tell, and an agent can find out.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[600, 400, 5]], [[480, 200, 5]]
    >>> counts = mb.logs.Counts(["north"], ["tPA", "watch", "new"], count, total, total)
    >>> found = mb.logs.start(counts, seed=7)
    >>> found.conclusion, found.outlooks[0].unsupported
    ('take over under a guard', ('new',))
    >>> found.outlooks[0].first_in_words()
    'ask your experts (1,005 rows): the promise does not allow “tPA” yet'
    >>> mb.logs.start(counts, mb.Experts(errors=0)).conclusion
    'keep your experts'
    """
    if not expert and promise == PROMISE:
        promise = None
    given: dict[str, Any] = {"confidence": confidence, "shift": shift, "cost": cost}
    made = agent(counts, experts, **given, promise=promise, expert=expert, arms=arms, **options)
    limits = _Limits.of(counts, experts, made, promise, given)
    rows = counts.count.sum(axis=1)
    shown = np.argsort(-rows, kind="stable")[: as_whole("most", most)].tolist()
    found = [limits.outlook(place) for place in shown]
    tally = Counter(limits.concluded.tolist())
    concluded = {one: tally[place] for place, one in enumerate(CONCLUSIONS) if tally[place]}
    return Start(made, counts, experts, promise, confidence, shift, cost, tuple(found), concluded)


@dataclass(frozen=True, eq=False)
class _Limits:
    """What each option can gain and lose in each context, arrays (contexts, arms), in reward units."""

    counts: Counts
    assumed: Assumed
    agent: Agent
    gain: Floats
    loss: Floats
    value: Floats  # what the experts earned less the cost, and limits on it, (contexts,)
    least: Floats
    most: Floats
    free: Floats  # what the promise allows to lose in a decision, (contexts,)
    playable: Booleans

    @classmethod
    def of(
        cls, counts: Counts, experts: Experts, made: Agent, promise: Promise | None, given: Mapping[str, float]
    ) -> _Limits:
        """Compute the limits, with the shares of the error that the agent gives to them."""
        error, shift, cost = 1.0 - given["confidence"], given["shift"], given["cost"]
        width = counts.high - counts.low
        names = [arm for arm in made.arms if arm is not EXPERT]
        assumed = Assumed.of(counts, experts, confidence=1.0 - OF_BOUNDS * error, shift=shift, arms=names)
        lower, upper = (counts.low + width * side for side in assumed.limits)
        least, most = value(counts, confidence=1.0 - OF_VALUE * error, joint=False)
        least, most = np.maximum(least - shift * width, counts.low), np.minimum(most + shift * width, counts.high)
        rows, total, squares = assumed.cells.rows, assumed.cells.total, assumed.cells.squares
        others = [part.sum(axis=1, keepdims=True) - part for part in (rows, total, squares)]
        failures = others[0] - others[1], others[0] - 2.0 * others[1] + others[2]
        size, nats = rows.sum(axis=1, keepdims=True), as_nats(OF_GUARD * error / (2 * len(names)))
        gain, loss = (
            width * (upper_limit(size, np.maximum(part, 0.0), np.maximum(square, 0.0), nats) + 2.0 * shift)
            for part, square in (failures, (others[1], others[2]))
        )
        errors, lost, _, gap, *_ = assumed.table[:, :, None] * width
        gain = np.minimum(gain, np.minimum(lost, errors * gap / width) + 2.0 * shift * width)
        loss = np.minimum(loss, gap + 2.0 * shift * width)
        gain = np.minimum(gain, upper - least[:, None]) + cost
        loss = np.minimum(loss, most[:, None] - lower) - cost
        out = np.array([[arm in never for arm in names] for never in map(made.forbidden, counts.contexts)])
        earned = counts.value
        free = allowed(promise, np.where(earned == earned, earned, counts.low), counts)
        return cls(counts, assumed, made, gain, loss, earned - cost, least - cost, most - cost, free, ~out)

    @cached_property
    def concluded(self) -> Integers:
        """The place of each context's conclusion."""
        sure = (self.playable & (self.loss <= 0.0)).any(axis=1)
        hopeless = ~(self.playable & (self.gain > self.free[:, None])).any(axis=1)
        found: Integers = np.where(sure, 0, np.where(hopeless, 2, 1))
        return found

    def outlook(self, place: int) -> Outlook:
        """What to expect in one context."""
        counts, names, made = self.counts, self.assumed.arms, self.agent
        context, playable, conclusion = counts.contexts[place], self.playable[place], int(self.concluded[place])
        gain, loss = self.gain[place], self.loss[place]
        order = np.where(playable, -loss if conclusion == 0 else gain - loss, -np.inf)
        best = names[int(order.argmax())] if playable.any() else None
        first, wanted = made.arms[int(made.probabilities(context).argmax())], _wanted(made, context)
        rows = self.assumed.cells.rows[place]
        odds = self._odds(place)
        reason: Literal["guard", "policy", "support"] = "policy"
        if first is EXPERT:
            reason = "support" if not playable.any() else "policy" if wanted is EXPERT else "guard"
        return Outlook(
            context=context,
            rows=int(rows.sum()),
            value=float(self.value[place]),
            limits=(float(self.least[place]), float(self.most[place])),
            first=first,
            reason=reason,
            behind=int(rows.sum() if first is EXPERT else rows[names.index(first)]),
            wanted=wanted,
            best=best,
            gain=dict(zip(names, gain.tolist(), strict=True)),
            loss=dict(zip(names, loss.tolist(), strict=True)),
            unsupported=tuple(arm for arm, own in zip(names, playable, strict=True) if not own),
            conclusion=CONCLUSIONS[conclusion],
            because=self._because(place, best, odds),
            odds=odds,
        )

    def _because(self, place: int, best: Arm | None, odds: tuple[Arm, float] | None) -> str:
        conclusion, words = int(self.concluded[place]), Words.of(self.counts)
        told = (self.assumed.table == np.array(WEAKEST)[:, None])[:5].all()
        condition = "" if told else ", if what you assume is true"
        if best is None:
            return f"no option has {FEWEST} rows and {LEAST_SHARE:.0%} of the choices; include some by name to try them"
        if conclusion == 0:
            return f"{quoted(best)} is certain to earn at least as much as your experts{condition}"
        if conclusion == 1 and odds is None:
            return "the log does not tell whether an option does better, not even with its averages at face value"
        if conclusion == 1 and odds is not None:
            change = f"unrecorded facts changed the odds of a choice by at most a factor {odds[1]:.3g}"
            return f"{quoted(odds[0])} does better if {change}; otherwise the log does not tell"
        if self.gain[place][self.playable[place]].max() <= 0.0:
            return f"no option can earn more than your experts{condition}"
        limit = f"{words.sum(1e3 * self.free[place])} {words.unit} in 1,000 decisions"
        return f"no option can gain more than the {limit} that the promise allows to lose{condition}"

    def _odds(self, place: int) -> tuple[Arm, float] | None:
        """Up to which odds an option that can be played is certain to earn no less than the experts."""
        own = self.assumed.at(np.array([place]))
        level = (self.most[place] - self.counts.low) / (self.counts.high - self.counts.low)

        def lower(values: Floats) -> Floats:
            tried = own.at(np.zeros(1, dtype=np.int64), own.moved(np.full(1, 4), values))
            found: Floats = np.where(self.playable[place] & ~tried.impossible[:, None], tried.limits[0], -np.inf)
            return found

        start, end = np.zeros(1), np.ones(1)
        if (lower(end) < level).all() or (lower(start) >= level).any():
            return None
        found = nearest(lambda v: (lower(v) >= level).any(axis=1), start, end)
        return own.arms[int(lower(found)[0].argmax())], float(1.0 / found[0])


def _wanted(made: Agent, context: Context) -> Arm:
    """What the agent's policy would play first without a guard."""
    if not isinstance(made.policy, Guarded):
        return made.arms[int(made.probabilities(context).argmax())]
    free = Agent(made.policy.base, made.knowledge(context), seed=made.seed)
    free.forbid(made.forbidden(context))
    return free.arms[int(free.probabilities().argmax())]
