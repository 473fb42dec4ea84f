"""The values of policies from a log with probabilities, with limits that hold although the log is adaptive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any, Literal

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.kernels.logs.wealth import predict
from meanbounds.logs.confidence import DEFAULT_CONFIDENCE, check_confidence
from meanbounds.logs.errors import LogError
from meanbounds.logs.evaluating.events import Events
from meanbounds.logs.evaluating.limits import Bets, Rewards, limit
from meanbounds.logs.evaluating.reading import read_events
from meanbounds.logs.evaluating.result import Evaluation, PolicyValue
from meanbounds.logs.evaluating.targets import Pairs, Target, fixed_arm, read_targets
from meanbounds.logs.evaluating.words import about_log, about_target, effective
from meanbounds.support.checks import as_flag, as_float, as_list, as_mapping, check_choice, shown
from meanbounds.support.types import Booleans, Floats

__all__ = ["evaluate"]

_HEAVIEST = 1e12  # weights above count as this much: less is on the safe side of every limit
_STRENGTH = 2.0  # rows that the mean of an arm over all contexts counts as in a prediction
_OWN, _OTHER = 0.25, 1.0  # variances that stakes are best for: of rewards themselves, and of weighted ones
_WHO = "agent"


def evaluate(
    events: Any,
    policies: Mapping[str, Any] | None = None,
    *,
    arms: Sequence[Arm] | None = None,
    against: str | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    simultaneous: bool = True,
    anytime: bool = False,
    least: float | None = None,
    predictions: Mapping[Any, Mapping[Any, float]] | None = None,
    pending: Literal["exclude", "bounds"] = "exclude",
) -> Evaluation:
    """Evaluate the agent that wrote a log, each of its arms, and any other policy, with confidence limits.

    The value of a policy is its mean reward over the rows of the log: for who wrote it, the mean of what each decision
    was expected to bring; for another policy, what it would have brought in the same contexts. The limits hold although
    the probabilities of a row depend on all rows before it, and although values drift. They need neither independent
    rows, nor a least probability, nor that the log could play all that the policy plays: what it could not try counts
    as the lowest reward in the lower limit and as the highest in the upper one.

    Parameters
    ----------
    events
        The log, from `read_events`, `read_dsjson` or `read_open_bandit`; or anything that `read_events` reads, with the
        columns context, arm, reward and probability.
    policies
        Policies by name, each of them an arm, a mapping from contexts to arms or to probabilities of arms, a function
        of the context that returns either, or an agent, which is taken as it is now.
    arms
        Arms to evaluate as policies that always play them: by default all of the log, ``[]`` for none.
    against
        Name of the policy that all others are compared with; by default who wrote the log.
    confidence
        Probability with which the limits hold.
    simultaneous
        Whether the confidence is for all values and differences at once. False: for each of them alone, as long as you
        do not pick one by its result.
    anytime
        Whether the limits hold at all numbers of rows at once, so that you may look as often as you like and stop when
        you like. They are then somewhat wider.
    least
        If you know that each row could play every arm of the policies with at least this probability, such as the
        ``floor`` of the agent, say so: the limits then use the doubly robust estimates too, and are narrower where
        rewards can be predicted. It must be known from the program, not from the log. A floor is for arms that can be
        best: where bounds exclude an arm that a policy plays, it has no chance, and nothing must be given here.
    predictions
        Rewards that are expected, by context and arm, for the doubly robust estimates; from earlier data, never from
        this log. By default the means of earlier rows of this log.
    pending
        What to do about rows without a reward: ``"exclude"`` leaves them out, ``"bounds"`` counts them with the lowest
        reward in lower limits and with the highest in upper ones.

    Returns
    -------
    Evaluation
        ``print(found.summary())`` shows it; ``found["agent"]`` is one value.

    Notes
    -----
    docs/evaluate.md derives the limits. Self-normalised estimates are left out: their limits would not be valid.

    Examples
    --------
    >>> import numpy as np
    >>> import meanbounds as mb
    >>> rng = np.random.default_rng(1)
    >>> old = rng.random(4_000) < 0.5
    >>> chance = np.where(old, 0.8, 0.5)  # of tPA
    >>> treated = rng.random(4_000) < chance
    >>> well = rng.random(4_000) < np.where(treated, 0.6, np.where(old, 0.7, 0.3))
    >>> events = mb.logs.Events(
    ...     context=np.where(old, "old", "young"),
    ...     arm=np.where(treated, "tPA", "watch"),
    ...     reward=well,
    ...     probability=np.where(treated, chance, 1 - chance),
    ... )
    >>> found = mb.logs.evaluate(events, {"by age": {"old": "watch", "young": "tPA"}}, least=0.2)
    >>> by_age = found["by age"]
    >>> bool(by_age.lower <= 0.65 <= by_age.upper), bool(by_age.difference_lower > 0.0)
    (True, True)
    """
    log_ = events if isinstance(events, Events) else read_events(events)
    settings = _Settings(
        check_confidence(confidence, infinite=False) or 0.0,
        as_flag("simultaneous", simultaneous),
        as_flag("anytime", anytime),
        _least(least),
        None if predictions is None else as_mapping("predictions", predictions, error=LogError),
    )
    check_choice("pending", pending, ("exclude", "bounds"))
    return _Evaluator(log_, settings, pending == "bounds").all(policies, arms, against)


def _least(given: Any) -> float | None:
    if given is None:
        return None
    found = as_float("least", given, error=LogError)
    if isinstance(given, bool) or not 0.0 < found <= 1.0:
        raise LogError(f"least is a probability above 0, such as the floor of the agent; got {shown(given)}")
    return found


@dataclass(frozen=True)
class _Settings:
    confidence: float
    simultaneous: bool
    anytime: bool
    least: float | None
    predictions: Mapping[Any, Any] | None


@dataclass(frozen=True, eq=False)
class _Line:
    """One line of the table: who decided some rows, or a policy with the weight of each row."""

    name: str
    rows: Booleans | None = None
    target: Target | None = None


@dataclass(frozen=True, eq=False)
class _Weighted:
    """A policy on the rows that have a probability.

    `weight` is the policy's probability over that of the log, `chance_in` the share of each row's context of which the
    policy says what it plays; `played` and `planned` are the predictions of what was played and of what it plays.
    """

    target: Target
    weight: Floats
    mass: Floats
    played: Floats
    planned: Floats
    least_value: float  # below which no doubly robust value lies, given the least probability


class _Evaluator:
    """All that a log says, at one confidence."""

    def __init__(self, events: Events, settings: _Settings, counted: bool) -> None:
        self.events, self.settings, self.counted = events, settings, counted
        waiting = np.isnan(events.reward)
        self.used: Booleans = np.ones(len(events), dtype=bool) if counted else ~waiting
        if not self.used.any():
            raise LogError('no row has a reward yet; wait for one, or give pending="bounds"')
        unit = (events.reward - events.low) / (events.high - events.low)
        self.low, self.high = (np.where(waiting, end, np.clip(unit, 0.0, 1.0)) for end in (0.0, 1.0))
        self.known = self.used & ~np.isnan(events.probability)
        self.pairs = Pairs.of(events)
        self.own = np.flatnonzero(self.known)
        self.rewards = self._rewards(self.known)
        self.chance = events.probability[self.own]
        self.cases = np.bincount(events.context[self.own], minlength=len(events.contexts)).astype(np.float64)
        self.width = events.high - events.low
        smallest = float(self.chance.min()) if self.own.size else 1.0
        if settings.least is not None and smallest < settings.least * (1.0 - 1e-9):
            raise LogError(
                f"least={settings.least:g} is not true of this log: a row has the probability {smallest:g}. Give a "
                "least that the program guarantees, or leave it out"
            )

    def _rewards(self, rows: Booleans) -> Rewards:
        low = self.low[rows]
        return Rewards(low, self.high[rows] if self.counted else low)

    # --------------------------------------------------------------------------------------------------- the table

    def all(self, policies: Any, arms: Any, against: str | None) -> Evaluation:
        """Every line, and the words about the whole log."""
        lines = self._lines(policies, arms)
        base = self._base(lines, against)
        intervals = len(lines) + (len(lines) - 1 if base is not None else 0)
        goal = log(2.0 * (intervals if self.settings.simultaneous else 1) / (1.0 - self.settings.confidence))
        weighted = {
            line.name: self._weighted(line.target) for line in lines if line.target is not None and line is base
        }
        values = []
        for line in lines:
            own = weighted.get(line.name) or (None if line.target is None else self._weighted(line.target))
            value = self._own(line, goal) if own is None else self._other(own, goal)
            if base is not None and line is not base:
                value = replace(value, **self._difference(line, own, base, weighted.get(base.name), goal))
            values.append(value)
        excluded = int((self.used & ~self.known).sum())
        notes = about_log(
            self.events, self.own.size, self.counted, excluded if self.own.size else 0, self.settings.least
        )
        settings, events = self.settings, self.events
        against_name = "" if base is None or len(lines) == 1 else base.name
        return Evaluation(
            tuple(values),
            len(events),
            events.pending,
            events.low,
            events.high,
            settings.confidence,
            settings.simultaneous,
            settings.anytime,
            against_name,
            tuple(notes),
        )

    def _lines(self, policies: Any, arms: Any) -> list[_Line]:
        lines = self._who()
        if self.own.size:
            lines += [_Line(one.name, target=one) for one in self._fixed(arms)]
            lines += [_Line(one.name, target=one) for one in read_targets(self.events, self.pairs, policies)]
        elif policies is not None:
            raise LogError(
                "no row that can be used has a probability, so other policies cannot be evaluated; give probability=, "
                "the column of the probability with which each arm was chosen"
            )
        names = [line.name for line in lines]
        for name in names:
            if names.count(name) > 1:
                raise LogError(f"two policies are called {name!r}; give yours another name")
        return lines

    def _who(self) -> list[_Line]:
        """Who decided: the agent, or each decider; those with probabilities come first."""
        deciders = self.events.deciders
        if not deciders:
            return [_Line(_WHO, rows=self.used if not self.own.size else self.known)]
        rows = {name: self.used & (self.events.decider == place) for place, name in enumerate(deciders)}
        drawing = [name for name in deciders if (rows[name] & self.known).any()]
        others = [_Line(str(name), rows=rows[name]) for name in deciders if name not in drawing and rows[name].any()]
        if len(drawing) == 1:
            return [_Line(str(drawing[0]), rows=self.known), *others]
        more = [_Line(str(name), rows=rows[name]) for name in drawing]
        everyone = [_Line(_WHO, rows=self.known)] if drawing else []
        return [*everyone, *more, *others]

    def _fixed(self, arms: Any) -> list[Target]:
        known = {arm: place for place, arm in enumerate(self.events.arms)}
        if arms is None:
            listed = list(self.events.arms)
        else:
            try:
                listed = as_list("arms", arms)
            except TypeError as error:
                raise LogError(str(error)) from None
        for arm in listed:
            if isinstance(arm, bool) or not isinstance(arm, str | int) or arm not in known:
                shown_arms = ", ".join(map(repr, self.events.arms[:20]))
                raise LogError(f"the log has no arm {shown(arm)}; its arms are {shown_arms}")
        return [fixed_arm(self.events, self.pairs, known[arm]) for arm in listed]

    def _base(self, lines: Sequence[_Line], against: str | None) -> _Line | None:
        if against is None:
            return lines[0]
        for line in lines:
            if isinstance(against, str) and line.name == against:
                return line
        raise LogError(f"against={shown(against)} is no policy; there are {', '.join(repr(x.name) for x in lines)}")

    # -------------------------------------------------------------------------------------------------- single values

    def _own(self, line: _Line, goal: float) -> PolicyValue:
        """The value of who decided some rows: the mean of what they were expected to bring."""
        assert line.rows is not None
        lower, upper = self._own_limits(line, goal)
        rewards = self._rewards(line.rows)
        rows = rewards.low.size
        low, width = self.events.low, self.width
        mean = float(np.nanmean(np.where(np.isnan(self.events.reward[line.rows]), np.nan, rewards.low)))
        return PolicyValue(
            line.name, rows, low + width * mean, None, 0.0, low + width * lower, low + width * upper, float(rows), 1.0
        )

    def _own_limits(self, line: _Line, goal: float) -> tuple[float, float]:
        assert line.rows is not None
        rewards = self._rewards(line.rows)
        lower = self._limit([Bets(rewards.low, 0.0, _OWN)], 1.0, goal)
        return lower, 1.0 - self._limit([Bets(1.0 - rewards.high, 0.0, _OWN)], 1.0, goal)

    def _weighted(self, target: Target) -> _Weighted:
        chance = target.of_pairs(self.pairs.keys.size)[self.pairs.row[self.own]]
        weight = np.minimum(chance / self.chance, _HEAVIEST)
        mass = target.mass[self.events.context[self.own]]
        played, planned = self._predicted(target)
        least = self.settings.least
        largest = float(target.chance.max()) if target.chance.size else 0.0
        least_value = 0.0 if least is None else largest * (1.0 / least - 1.0)
        return _Weighted(target, weight, mass, played, planned, least_value)

    def _predicted(self, target: Target) -> tuple[Floats, Floats]:
        events, own = self.events, self.own
        if self.settings.predictions is not None:
            return self._given(target)
        known = (~np.isnan(events.reward[own])).astype(np.int64)
        rows = (self.pairs.row[own], events.arm[own], events.context[own], self.rewards.low, known)
        return predict(*rows, target.starts, target.arm, target.pair, target.chance, _STRENGTH)

    def _given(self, target: Target) -> tuple[Floats, Floats]:
        """Predictions that the user gave, in units of the range."""
        events = self.events
        table = np.empty((len(events.contexts), len(target.arms)))
        for z, name in enumerate(events.contexts):
            own = as_mapping(f"predictions of context {name!r}", (self.settings.predictions or {}).get(name))
            for k, arm in enumerate(target.arms):
                if arm not in own:
                    raise LogError(f"predictions lack arm {arm!r} in context {name!r}")
                table[z, k] = as_float(f"the prediction of {arm!r} in context {name!r}", own[arm], error=LogError)
        unit = np.clip((table - events.low) / self.width, 0.0, 1.0)
        entry = target.entry_context
        planned = np.zeros(len(events.contexts))
        np.add.at(planned, entry, target.chance * unit[entry, target.arm])
        context = events.context[self.own]
        return unit[context, events.arm[self.own]], planned[context]

    def _other(self, own: _Weighted, goal: float) -> PolicyValue:
        """The value of a policy by weights."""
        weight, rewards = own.weight, self.rewards
        seen = weight > 0.0
        few, zeros = Rewards(rewards.low[seen], rewards.high[seen]), int(weight.size - seen.sum())
        slope = weight[seen]
        lower = [Bets(slope * few.low, 0.0, _OTHER, zeros)]
        upper = [Bets(slope * (1.0 - few.high), 0.0, _OTHER, zeros)]
        if self.settings.least is not None:
            shift = own.least_value
            fixed = own.planned - weight * own.played
            lower.append(Bets(shift + fixed + rewards.least(weight), shift, _OTHER))
            upper.append(Bets(shift + own.mass - fixed + rewards.least(-weight), shift, _OTHER))
        ends = self._limit(lower, 1.0, goal), 1.0 - self._limit(upper, 1.0, goal)
        unseen, notes = about_target(self.events, own.target, self.cases, weight, self.settings.least is not None)
        ipw, dr = self._estimates(own)
        low, width = self.events.low, self.width
        return PolicyValue(
            own.target.name,
            int(weight.size),
            low + width * ipw,
            low + width * dr if unseen == 0.0 else None,
            unseen,
            low + width * ends[0],
            low + width * ends[1],
            effective(weight),
            float(weight.mean()),
            notes=tuple(notes),
        )

    def _estimates(self, own: _Weighted) -> tuple[float, float]:
        """By inverse propensities and doubly robust, from the rows whose reward is known."""
        come = ~np.isnan(self.events.reward[self.own])
        if not come.any():
            return 0.0, 0.0
        reward, weight = self.rewards.low[come], own.weight[come]
        ipw = float((weight * reward).mean())
        return ipw, float((own.planned[come] + weight * (reward - own.played[come])).mean())

    # --------------------------------------------------------------------------------------------------- differences

    def _difference(
        self, line: _Line, own: _Weighted | None, base: _Line, other: _Weighted | None, goal: float
    ) -> dict[str, Any]:
        """The value of a line minus that of the base, with limits."""
        if own is not None and (other is not None or base.rows is self.known):
            lower, upper = self._against_policy(own, other) if other is not None else self._against_log(own)
            ends = self._limit(lower, 2.0, goal) - 1.0, 1.0 - self._limit(upper, 2.0, goal)
            come = ~np.isnan(self.events.reward[self.own])
            two = float(self.rewards.low[come].mean()) if other is None else self._best(other)
            gap = self._best(own) - two
        elif own is None and other is not None and line.rows is self.known:
            turned = self._difference(base, other, line, None, goal)
            names = ("difference", "difference_lower", "difference_upper")
            return dict(zip(names, (-turned[names[0]], -turned[names[2]], -turned[names[1]]), strict=True))
        else:
            return self._apart(line, own, base, other, goal)
        width = self.width
        return {
            "difference": width * gap,
            "difference_lower": width * ends[0],
            "difference_upper": width * ends[1],
        }

    def _best(self, own: _Weighted) -> float:
        """The estimate that is quoted, in units of the range."""
        ipw, dr = self._estimates(own)
        playable = self.settings.least is not None
        unseen, _ = about_target(self.events, own.target, self.cases, own.weight, playable)
        return dr if unseen == 0.0 else ipw

    def _against_log(self, own: _Weighted) -> tuple[list[Bets], list[Bets]]:
        """A policy against who wrote the log: both on the same rows."""
        weight, rewards = own.weight, self.rewards
        lower = [Bets(1.0 + rewards.least(weight - 1.0), 0.0, _OTHER)]
        upper = [Bets(weight + rewards.least(1.0 - weight), 0.0, _OTHER)]
        if self.settings.least is not None:
            shift, fixed = own.least_value, own.planned - weight * own.played
            lower.append(Bets(shift + 1.0 + fixed + rewards.least(weight - 1.0), shift, _OTHER))
            upper.append(Bets(shift + own.mass - fixed + rewards.least(1.0 - weight), shift, _OTHER))
        return lower, upper

    def _against_policy(self, own: _Weighted, other: _Weighted) -> tuple[list[Bets], list[Bets]]:
        """Two policies that are both weighted, on the same rows."""
        rewards, context = self.rewards, self.events.context[self.own]
        gap = own.weight - other.weight
        more, less = (one.excess(two)[context] for one, two in ((own.target, other.target), (other.target, own.target)))
        lower = [Bets(np.maximum(-gap, 0.0) + other.mass - less + rewards.least(gap), 0.0, _OTHER)]
        upper = [Bets(np.maximum(gap, 0.0) + own.mass - more + rewards.least(-gap), 0.0, _OTHER)]
        if self.settings.least is not None:
            shift = 1.0 + 1.0 / self.settings.least
            fixed = own.planned - other.planned - gap * own.played
            lower.append(Bets(shift + other.mass + fixed + rewards.least(gap), shift, _OTHER))
            upper.append(Bets(shift + own.mass - fixed + rewards.least(-gap), shift, _OTHER))
        return lower, upper

    def _apart(
        self, line: _Line, own: _Weighted | None, base: _Line, other: _Weighted | None, goal: float
    ) -> dict[str, Any]:
        """Two values from different rows: each has half of the failure probability."""
        half = goal + log(2.0)
        one = self._own(line, half) if own is None else self._other(own, half)
        two = self._own(base, half) if other is None else self._other(other, half)
        return {
            "difference": one.value - two.value,
            "difference_lower": one.lower - two.upper,
            "difference_upper": one.upper - two.lower,
        }

    def _limit(self, bets: Sequence[Bets], most: float, goal: float) -> float:
        return limit(bets, most, goal, self.settings.anytime)
