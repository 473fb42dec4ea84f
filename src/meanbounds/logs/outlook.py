"""What to expect of an agent in each context of a log: gains, losses, the first decision, a conclusion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from meanbounds.agents import Agent
from meanbounds.bounds import EXPERT, Arm
from meanbounds.logs.assumed import FIELDS, WEAKEST, Assumed
from meanbounds.logs.claims import nearest
from meanbounds.logs.confidence import as_nats, upper_limit
from meanbounds.logs.counts import Context, Counts, plain
from meanbounds.logs.experts import Experts
from meanbounds.logs.log_agent import FEWEST, LEAST_SHARE, OF_BOUNDS, OF_GUARD, OF_VALUE
from meanbounds.logs.log_bounds import value
from meanbounds.logs.words import Words, allowed, assumptions, quantity, quoted
from meanbounds.policies import Guarded, Promise
from meanbounds.support.types import Floats, Integers

__all__ = ["CONCLUSIONS", "Conclusion", "Limits", "Option", "Outlook"]

Conclusion = Literal["take over", "take over under a guard", "keep your experts", "the log does not tell"]
"""What to do in a context; the last where no guard would make it safe to find out."""

CONCLUSIONS: tuple[Conclusion, ...] = get_args(Conclusion)


class Option(NamedTuple):
    """An option in a context, in reward units: its rows and plain average, its bounds, and whether it is played.

    `gain` and `loss` are the most that it can bring more or less than the experts in a decision; a negative loss is a
    certain gain. `share` is that of the experts' choices, with those whose outcome is missing.
    """

    arm: Arm
    rows: int
    average: float
    lower: float
    upper: float
    gain: float
    loss: float
    played: bool
    share: float


@dataclass(frozen=True, eq=False)
class Outlook:
    """What to expect in one context.

    Attributes
    ----------
    context, rows, options
        Its name, its rows in the log, and all options.
    value, limits
        What the experts earned on average less the cost of asking them, and limits on that.
    likely
        The same drawn towards the average of all contexts, which weighs as much as 30 rows: of many averages the
        highest is too high, and the lowest too low.
    first, behind, reason
        What would be played first, `EXPERT` if the experts are asked; how many rows stand behind it; and why:
        ``"policy"`` for what the policy wants, ``"guard"`` if it wants `wanted`, which the promise does not allow yet,
        ``"support"`` if no option has enough rows.
    best
        The option to switch to: the one with the highest middle of what it can gain and lose, or the one that is
        certain to lose least; None if none can be played.
    odds
        For the option that gets there first, the factor up to which unrecorded facts may have changed the odds of a
        choice while it is still certain to earn no less than the experts, all else as assumed; None if there is none.
    conclusion, because
        What to do, and why.
    """

    context: Context
    rows: int
    options: tuple[Option, ...]
    value: float
    limits: tuple[float, float]
    likely: float
    first: Arm
    behind: int
    reason: Literal["guard", "policy", "support"]
    wanted: Arm
    best: Option | None
    odds: tuple[Arm, float] | None
    conclusion: Conclusion
    because: str

    @property
    def unsupported(self) -> list[Arm]:
        """The options that are not played: they have too few rows, or are forbidden."""
        return [own.arm for own in self.options if not own.played]

    @property
    def mostly(self) -> Option:
        """The option that the experts choose most often."""
        return max(self.options, key=lambda own: own.share)

    @property
    def differs(self) -> bool:
        """Whether the agent's policy prefers another option than the experts."""
        return self.wanted not in (EXPERT, self.mostly.arm)

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
        gain, loss = (0.0, 0.0) if self.best is None else (1e3 * self.best.gain, 1e3 * self.best.loss)
        if loss <= 0.0:
            return f"gain {words.sum(-loss)} to {words.sum(gain)} {words.unit}"
        if gain <= 0.0:
            return f"lose {words.sum(-gain)} to {words.sum(loss)} {words.unit}"
        return f"gain at most {words.sum(gain)}, lose at most {words.sum(loss)} {words.unit}"

    def to_dict(self) -> dict[str, Any]:
        """The outlook, as JSON can hold it."""
        found: dict[str, Any] = {**vars(self), "best": self.best and self.best.arm}
        found |= {"options": [own._asdict() for own in self.options]}
        return dict(plain(found))


class Limits:
    """What each option can gain and lose in each context, arrays (contexts, arms), in reward units.

    `value` is what the experts earned less the cost, `least` and `most` limit it, and `free` is what the promise may
    cost in a decision, (contexts,). The agent says which shares of the error these limits have.
    """

    def __init__(
        self, counts: Counts, experts: Experts, made: Agent, promise: Promise | None, given: Mapping[str, float]
    ) -> None:
        error, shift, cost = 1.0 - given["confidence"], given["shift"], given["cost"]
        width = counts.high - counts.low
        names = [arm for arm in made.arms if arm is not EXPERT]
        assumed = Assumed.of(counts, experts, confidence=1.0 - OF_BOUNDS * error, shift=shift, arms=names)
        lower, upper = (counts.low + width * side for side in assumed.limits)
        joint = isinstance(made.policy, Guarded) and made.policy.pooled
        least, most = value(counts, confidence=1.0 - OF_VALUE * error, joint=joint, shift=shift)
        nats, others = as_nats(OF_GUARD * error / (2 * len(names))), 1.0 - np.eye(len(names))
        failed, worked, more = assumed.cells.sides(nats)
        rows, total, squares = (part @ others for part in (failed.rows, failed.total, failed.squares))
        failures = rows - total, rows - 2.0 * total + squares
        successes = worked.total @ others, worked.squares @ others
        size = assumed.cells.chosen.sum(axis=1, keepdims=True)
        gain, loss = (
            width * (upper_limit(size, np.maximum(part, 0.0), np.maximum(square, 0.0), nats + more) + 2.0 * shift)
            for part, square in (failures, successes)
        )
        errors, lost, _, gap, *_ = assumed.table[:, :, None] * width
        gain = np.minimum(gain, np.minimum(lost, errors * gap / width) + 2.0 * shift * width)
        loss = np.minimum(loss, gap + 2.0 * shift * width)
        self.gain = np.minimum(gain, upper - least[:, None]) + cost
        self.loss = np.minimum(loss, most[:, None] - lower) - cost
        out = np.array([[arm in never for arm in names] for never in map(made.forbidden, counts.contexts)])
        self.counts, self.agent, self.assumed, self.lower, self.upper = counts, made, assumed, lower, upper
        self.value, self.least, self.most, self.playable = counts.value - cost, least - cost, most - cost, ~out
        self.free = allowed(promise, np.where(np.isnan(counts.value), counts.low, counts.value), counts)

    @cached_property
    def concluded(self) -> Integers:
        """The place of each context's conclusion."""
        sure = (self.playable & (self.loss <= 0.0)).any(axis=1)
        hopeless = ~(self.playable & (self.gain > self.free[:, None])).any(axis=1)
        found: Integers = np.where(sure, 0, np.where(hopeless, 2, 1 if isinstance(self.agent.policy, Guarded) else 3))
        return found

    def outlook(self, place: int) -> Outlook:
        """What to expect in one context."""
        counts, made, cells = self.counts, self.agent, self.assumed.cells
        context, conclusion = counts.contexts[place], int(self.concluded[place])
        rows, width = cells.rows[place], counts.high - counts.low
        averages = np.where(rows > 0.0, counts.low + width * cells.total[place] / np.maximum(rows, 1.0), np.nan)
        shares = cells.chosen[place] / max(1.0, cells.chosen[place].sum())
        parts = self.lower, self.upper, self.gain, self.loss, self.playable
        columns = *(part[place].tolist() for part in parts), shares.tolist()
        whole = rows.astype(int).tolist()
        options = tuple(map(Option, self.assumed.arms, whole, averages.tolist(), *columns))
        order = [own for own in options if own.played]
        best = max(order, key=lambda own: (conclusion > 0) * own.gain - own.loss, default=None)
        first, wanted = (own.arms[int(own.probabilities(context).argmax())] for own in (made, self._free))
        reason: Literal["guard", "policy", "support"] = "policy"
        if first is EXPERT:
            reason = "support" if not order else "policy" if wanted is EXPERT else "guard"
        odds = self._odds(place)
        return Outlook(
            context=context,
            rows=sum(whole),
            options=options,
            value=float(self.value[place]),
            limits=(float(self.least[place]), float(self.most[place])),
            likely=float(self._likely[place]),
            first=first,
            behind=sum(own.rows for own in options if first in (own.arm, EXPERT)),
            reason=reason,
            wanted=wanted,
            best=best,
            odds=odds,
            conclusion=CONCLUSIONS[conclusion],
            because=self._because(place, best, odds),
        )

    @cached_property
    def _likely(self) -> Floats:
        """What the experts earn in each context, drawn towards what they earn in all."""
        rows, known = self.assumed.cells.chosen.sum(axis=1), np.nan_to_num(self.value)
        return (rows * known + FEWEST * (rows @ known) / rows.sum()) / (rows + FEWEST)

    @cached_property
    def _free(self) -> Agent:
        """The agent without its guard."""
        plays = self.agent.policy
        if not isinstance(plays, Guarded):
            return self.agent
        return Agent.from_dict({**self.agent.to_dict(), "policy": plays.base.to_dict()})

    def _because(self, place: int, best: Option | None, odds: tuple[Arm, float] | None) -> str:
        conclusion, words = int(self.concluded[place]), Words.of(self.counts)
        told = (self.assumed.table == np.array(WEAKEST)[:, None])[:5].all() and not assumptions(self.counts)
        condition = "" if told else ", if what you assume is true"
        if best is None:
            return f"no option has {FEWEST} rows and {LEAST_SHARE:.0%} of the choices; include some by name to try them"
        if conclusion == 0:
            return f"{quoted(best.arm)} is certain to earn at least as much as your experts{condition}"
        if conclusion in (1, 3) and odds is None:
            return "the log does not tell whether an option does better, not even with its averages at face value"
        if conclusion in (1, 3) and odds is not None:
            change = f"unrecorded facts changed the odds of a choice by at most a factor {odds[1]:.3g}"
            return f"{quoted(odds[0])} does better if {change}; otherwise the log does not tell"
        if self.gain[place][self.playable[place]].max() <= 0.0:
            return f"no option can earn more than your experts{condition}"
        limit = f"{words.sum(1e3 * self.free[place])} {words.unit} in 1,000 decisions"
        return f"no option can gain more than the promise may cost, {limit}{condition}"

    def _odds(self, place: int) -> tuple[Arm, float] | None:
        """Up to which odds an option that can be played is certain to earn no less than the experts."""
        assumed, here = self.assumed, np.array([place])
        level = (self.most[place] - self.counts.low) / (self.counts.high - self.counts.low)

        def lower(values: Floats) -> Floats:
            tried = assumed.moved(here, np.full(1, FIELDS.index("odds")), values)
            found: Floats = np.where(self.playable[place] & ~tried.impossible[:, None], tried.limits[0], -np.inf)
            return found

        start, end = np.zeros(1), np.ones(1)
        if (lower(end) < level).all() or (lower(start) >= level).any():
            return None
        found = nearest(lambda v: (lower(v) >= level).any(axis=1), start, end)
        return assumed.arms[int(lower(found)[0].argmax())], float(1.0 / found[0])
