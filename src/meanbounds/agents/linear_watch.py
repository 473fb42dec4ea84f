"""The watch that an agent on arms with features keeps over its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log
from typing import Any

import numpy as np

from meanbounds.agents.watch import carried, found, told_seen
from meanbounds.bounds import MeanBounds
from meanbounds.evidence.contradictions import Contradiction, level_of
from meanbounds.evidence.processes import check_error, unit_sums
from meanbounds.kernels.linear import watch as kernel
from meanbounds.linear.behind import arms_behind
from meanbounds.policies.oful import LinearPlan
from meanbounds.support.entries import Entries
from meanbounds.support.types import Floats, Integers

__all__ = ["HALF", "LinearWatch", "contradicted", "new_watch", "read_watch", "told_watch", "watch_of"]

HALF = 0.5
"""The share of the error that the bounds of single arms have; the other half is for all of them together."""

LinearWatch = tuple[Floats, Floats]
"""The watch over each arm, and over all bounds together; see `meanbounds.kernels.linear.watch`."""


def new_watch(bounds: MeanBounds, plan: LinearPlan, error: float) -> LinearWatch:
    """The watch of an agent that has seen nothing.

    Parameters
    ----------
    bounds
        The bounds as given.
    plan
        The plan made from these, whose bounds follow from all of them together.
    error
        The probability of a false alarm.

    Examples
    --------
    >>> import meanbounds as mb
    >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.0], [0.9, 1.0]))
    >>> watch, joint = new_watch(arms.bounds, mb.ROFUL().plan(arms), 0.01)
    >>> watch[5].round(3), joint.round(3)  # the bound 0.8 of the second arm follows from the first one
    (array([0.9, 0.8]), array([0.   , 5.298, 0.   ]))
    """
    uses = plan.rule.prune  # a policy that ignores bounds has none that follow
    tight = (plan.pool.lower, plan.pool.upper) if uses else (bounds.lower, bounds.upper)
    rows = [bounds.low, bounds.high, bounds.lower, bounds.upper, *tight]
    level = np.full(len(bounds), level_of(bounds, HALF * error))
    watch = np.vstack([*rows, level, np.zeros((kernel.ROWS - len(rows) - 1, len(bounds)))])
    return watch, np.array([0.0, -log(HALF * error), 0.0])


def watch_of(old: LinearWatch, before: MeanBounds, after: MeanBounds, plan: LinearPlan, error: float) -> LinearWatch:
    """The watch after bounds were replaced, or an arm was added as the last one.

    What was seen of single bounds that stay is kept. What all bounds together have lost by bets is kept if the old
    bounds are all still there: if more is known now, what refutes the old bounds refutes the new ones.
    """
    (watch, joint), size = new_watch(after, plan, error), len(before)
    watch[kernel.SEEN : kernel.SEEN + 2] = carried(before, after, old[0][kernel.SEEN : kernel.SEEN + 2])
    if np.array_equal(before.lower, after.lower[:size]) and np.array_equal(before.upper, after.upper[:size]):
        watch[kernel.GAINS :, :size] = old[0][kernel.GAINS :]
        joint[[kernel.LOG_E, kernel.ALARM]] = old[1][[kernel.LOG_E, kernel.ALARM]]
    return watch, joint


def contradicted(
    bounds: MeanBounds,
    plan: LinearPlan,
    results: Floats,
    pending: Integers,
    watch: LinearWatch,
    errors: tuple[float, float],
) -> list[Contradiction]:
    """The bounds that rewards contradict: by those of their own arm, then by all rewards together.

    Parameters
    ----------
    bounds, plan
        The bounds as given, and the plan made from them.
    results
        How many rewards each arm has had, and their sum.
    pending
        For each arm, how many rewards are still to come.
    watch
        What was seen so far.
    errors
        The probability of a false alarm that was asked for, and that of the watch.
    """
    error, watched = check_error(errors[0]), errors[1]
    own, joint = watch
    plays, total = results
    total = np.clip(total, plays * bounds.low, plays * bounds.high)
    means = np.divide(total, plays, out=np.full(plays.shape, np.nan), where=plays > 0)
    sums, seen = unit_sums(plays, total, bounds.low, bounds.high), own[kernel.SEEN : kernel.SEEN + 2]
    single = found(bounds, sums, (plays.astype(np.int64), means), pending, seen, (HALF * error, HALF * watched))
    level, log_e, alarm = -log(HALF * error), float(joint[kernel.LOG_E]), int(joint[kernel.ALARM])
    if not (log_e >= level or (alarm and error >= watched)):
        return single
    named = {(one.arm, one.side) for one in single}
    return single + [
        one
        for one in _together(bounds, plan, plays, means, own[kernel.GAINS :], min(level, log_e))
        if (one.arm, one.side) not in named
        for one in [replace(one, log_e=log_e, updates=alarm or None)]
    ]


def _together(
    bounds: MeanBounds, plan: LinearPlan, plays: Floats, means: Floats, gains: Floats, level: float
) -> list[Contradiction]:
    """The bounds that most was won against, until their gains alone reach the level."""
    made, won = list[Contradiction](), 0.0
    for place in np.argsort(-gains, axis=None):
        side, k = divmod(int(place), len(bounds))
        if gains[side, k] <= 0.0 or (made and won >= level):
            break
        won += float(gains[side, k])
        behind = arms_behind(plan.feasible, k, upper=bool(side)) if plan.rule.prune else ()
        tight = (plan.pool.lower, plan.pool.upper)[side] if behind else (bounds.lower, bounds.upper)[side]
        made.append(
            Contradiction(
                arm=bounds.arms[k],
                side="upper" if side else "lower",
                bound=float(tight[k]),
                plays=int(plays[k]),
                mean=float(means[k]),
                log_e=0.0,
                follows_from=behind,
            )
        )
    return made


def told_watch(watch: LinearWatch) -> dict[str, Any]:
    """What was seen, as entries of a saved agent; nothing if nothing was seen or bet."""
    own, joint = watch
    bets = {
        "log_e": float(joint[kernel.LOG_E]),
        "alarm": int(joint[kernel.ALARM]),
        "gains": own[kernel.GAINS :].tolist(),
    }
    return told_seen(own[kernel.SEEN : kernel.SEEN + 2]) | ({"bets": bets} if own[kernel.GAINS :].any() else {})


def read_watch(saved: Entries, data: Mapping[str, Any], fresh: LinearWatch, seen: Floats, updates: int) -> LinearWatch:
    """Check what a saved agent has seen and bet; agents of older versions have done neither."""
    own, joint = fresh
    own[kernel.SEEN : kernel.SEEN + 2] = seen
    if "bets" not in data:
        return own, joint
    bets = Entries(data["bets"], "bets")
    gains, log_e = bets.numbers("gains", (2, own.shape[1])), bets.numbers("log_e", ())
    if not abs(float(log_e) - gains.sum()) <= 1e-6 * (1.0 + np.abs(gains).sum()):
        raise saved.fail(f"log_e {float(log_e)} is not what the gains of all bets add up to, {gains.sum()}")
    own[kernel.GAINS :] = gains
    joint[[kernel.LOG_E, kernel.ALARM]] = float(log_e), bets.whole("alarm", high=updates)
    return own, joint
