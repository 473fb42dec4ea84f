"""What a log cannot say about a policy, in words that name contexts and arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meanbounds.logs.evaluating.events import Events
from meanbounds.logs.evaluating.targets import Target
from meanbounds.support.types import Floats

__all__ = ["about_log", "about_target"]

_LISTED = 4  # pairs of context and arm that a sentence names
_FEW = 30.0  # rows' worth below which it is said
_LIGHT = 0.8  # average weight below which it is said
_DRAWN = 1.0 - 1e-12


def about_log(events: Events, used: int, counted: bool, excluded: int, least: float | None) -> list[str]:
    """What is to be known about a whole log: pending and dropped rows, and an agent that draws nothing."""
    found = []
    if events.pending:
        waiting = f"{events.pending:,} of {len(events):,} rows have no reward yet. "
        if counted:
            found.append(waiting + "They count with the lowest reward in lower limits and the highest in upper limits.")
        else:
            found.append(
                waiting + "They are left out, which is right if the time that a reward takes has nothing to do with "
                'its size; otherwise give pending="bounds".'
            )
    for kind, number in events.dropped.items():
        found.append(f"{number:,} rows were dropped: {kind}.")
    if excluded:
        found.append(
            f"{excluded:,} rows have no probability: they say something about who decided them, and about nobody else."
        )
    if not used:
        found.append("No row has a probability, so nothing is said about arms and other policies.")
        return found
    known = events.probability[~np.isnan(events.probability)]
    certain = float((known >= _DRAWN).mean())
    if certain == 1.0:
        found.append(
            "Every probability is 1: the agent drew nothing by lot, so this log evaluates the agent itself. Of any "
            "other policy it says something only where that plays the same arm. To evaluate others later, let the "
            "agent draw: floor=0.05, when it is made, gives each arm at least 5%, and ThompsonSampling draws by itself."
        )
    elif certain >= 0.5:
        found.append(
            f"{certain:.0%} of the rows have the probability 1: nothing else could be tried there. A floor such as "
            "floor=0.05 would let later logs say more about other policies."
        )
    if least is None and certain < 1.0:
        found.append(
            "No least probability was given, so limits allow for arms that could not be played. If the program gave "
            "each arm at least some probability in each row, such as the floor of an agent that excludes no arm, say "
            "so with least=: the limits on arms and other policies are then narrower, often by far."
        )
    return found


def about_target(
    events: Events, target: Target, cases: Floats, weight: Floats, playable: bool
) -> tuple[float, list[str]]:
    """The share of a policy's decisions that the log never has, and what cannot be said, in words.

    `cases` are the rows of each context, `weight` the weight of each row. If all arms of the log were `playable` in all
    rows, those that a context never has are missing by chance alone.
    """
    rows = float(cases.sum())
    share = cases[target.entry_context] * target.chance / rows
    missing = (target.pair < 0) & (share > 0.0)
    if playable:
        missing &= target.arm >= len(events.arms)
    silent = cases * (1.0 - target.mass) / rows
    unseen = float(share[missing].sum() + silent.sum())
    found = []
    if missing.any():
        found.append(_never(events, target, share, missing))
    if silent.any():
        names = _some([repr(events.contexts[place]) for place in np.argsort(-silent)[: np.count_nonzero(silent)]])
        found.append(f"it does not say what it plays in {float(silent.sum()):.1%} of the rows: context {names}.")
    if unseen > 0.0:
        found.append(
            "That part counts as the lowest reward in the lower limit and the highest in the upper one; the value is "
            "given as a range."
        )
    worth = effective(weight)
    if worth < _FEW and unseen < 1.0:
        heaviest = float(weight.max())
        found.append(
            f"the rows that speak of it are worth about {worth:.1f} rows of its own: the log rarely did what it does "
            f"(the largest weight is {heaviest:,.0f}). Do not build on its value."
        )
    elif weight.mean() < _LIGHT * (1.0 - unseen):
        found.append(
            f"its weights average {weight.mean():.2f}, and would be about {1.0 - unseen:.2f} if the log could have "
            "played at any time what it plays: arms were given up, or became very rare. Trust the limits, not the "
            "value."
        )
    return unseen, found


def effective(weight: Floats) -> float:
    """How many rows of a policy's own would say as much as these weighted ones.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.evaluating.words import effective
    >>> effective(np.array([2.0, 0.0, 2.0, 0.0])), effective(np.zeros(3))
    (2.0, 0.0)
    """
    squares = float(weight @ weight)
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


def _never(events: Events, target: Target, share: Floats, missing: Any) -> str:
    """Which pairs of context and arm the log never has, the most frequent ones first."""
    places = np.flatnonzero(missing)
    places = places[np.argsort(-share[places], kind="stable")]
    context = target.entry_context
    if len(events.contexts) == 1:
        pairs = [f"arm {target.arms[target.arm[place]]!r}" for place in places]
    else:
        pairs = [f"{target.arms[target.arm[i]]!r} in context {events.contexts[context[i]]!r}" for i in places[:_LISTED]]
        pairs += [""] * (places.size - len(pairs))
    return f"{float(share[places].sum()):.1%} of its decisions are ones that the log never has: {_some(pairs)}."


def _some(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")
