"""The three sentences that matter most, as plain text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.logs.assumptions import AnyExpert
from meanbounds.logs.explaining.basis import Basis
from meanbounds.logs.explaining.costs import FROM_NOTHING, WITH_LOG, Costs
from meanbounds.logs.explaining.ladder import Rung
from meanbounds.logs.explaining.turning import Turn
from meanbounds.logs.explaining.words import CLAUSES, Words, amount, condition, name_of, said, shortened, some, total

__all__ = ["change_of", "misleading", "sentences", "where"]

_NAME = 60  # columns of a name in a sentence
_FEW = 4  # options that a sentence lists


def sentences(basis: Basis, own: Rung, turns: Sequence[Turn], costs: Sequence[Costs]) -> tuple[str, str, str]:
    """What the log has, when the decision tips, and what starting from it saves."""
    return _has(basis, own), _tips(basis, own, turns), _saves(basis, costs)


def _has(basis: Basis, own: Rung) -> str:
    sizes = [_number(basis.counts.rows, "row")] if basis.whole else []
    sizes += [_number(len(basis.contexts), "context")] if len(basis.contexts) > 1 else []
    return f"The log has {some([*sizes, _number(len(basis.arms), 'option')])}. {misleading(basis, own)}"


def misleading(basis: Basis, own: Rung) -> str:
    """An average that the bounds rule out, or the widest open question."""
    words = Words.of(basis.arms, basis.span)
    inside = ~own.contradicted[:, None] & ~np.isnan(basis.naive)
    if not inside.any():
        return f"It contradicts what is assumed: {said(own.assumption)}."
    above = np.where(inside, np.maximum(basis.naive - own.upper, own.lower - basis.naive), -np.inf)
    place, arm = (int(part) for part in np.unravel_index(above.argmax(), above.shape))
    average, option = words.reward(float(basis.naive[place, arm])), _quoted(basis.arms[arm])
    ends = f"between {words.reward(float(own.lower[place, arm]))} and {words.reward(float(own.upper[place, arm]))}"
    if above[place, arm] > 0.0:
        return (
            f"Averages mislead: {option}{where(basis, place)} averages {average} where it was chosen, but for all "
            f"cases its mean lies {ends}, {condition(own.assumption)}."
        )
    width = np.where(inside, own.upper - own.lower, -np.inf)
    place, arm = (int(part) for part in np.unravel_index(width.argmax(), width.shape))
    average, option = words.reward(float(basis.naive[place, arm])), _quoted(basis.arms[arm])
    ends = f"anywhere between {words.reward(float(own.lower[place, arm]))} and "
    ends += words.reward(float(own.upper[place, arm]))
    return (
        f"Averages say little: {option}{where(basis, place)} averages {average} where it was chosen, and for all cases "
        f"its mean can lie {ends}, {condition(own.assumption)}."
    )


def where(basis: Basis, place: int) -> str:
    """In which context; nothing where there is one alone."""
    return f" in “{shortened(name_of(basis.contexts[place]), _NAME)}”" if len(basis.contexts) > 1 else ""


def _tips(basis: Basis, own: Rung, turns: Sequence[Turn]) -> str:
    sure = ~own.contradicted
    decided = int(((own.possible.sum(axis=1) == 1) & sure).sum())
    fewer = int(((~own.possible).any(axis=1) & sure).sum())
    contexts = len(basis.contexts)
    if contexts == 1:
        left = own.best(basis.contexts[0])
        if own.contradicted[0]:
            start = f"The log contradicts that {said(own.assumption)}"
        elif len(left) == len(basis.arms):
            start = "On that assumption every option can still be the best one"
        else:
            start = f"On that assumption only {_several(left)} can be the best option"
    elif not fewer and own.contradicted.all():
        start = f"The log contradicts in every context that {said(own.assumption)}"
    elif not fewer:
        start = "On that assumption every option can still be the best one, in every context"
    else:
        start = (
            f"On that assumption some options are out in {fewer:,} of {contexts:,} contexts, and a single one "
            f"is left in {decided:,}"
        )
    wrong = int(own.contradicted.sum())
    if wrong and contexts > 1 and not own.contradicted.all():
        start += f"; the log contradicts it in {wrong:,}"
    if not turns:
        return f"{start}, and no other value of any one judgement changes that in the contexts shown."
    near = min(turns, key=lambda turn: (turn.point.assumption == "confidence", turn.way))
    place = basis.contexts.index(near.point.context)
    return f"{start}. That tips soonest{where(basis, place)} {_moved(near)}."


def _moved(turn: Turn) -> str:
    point = turn.point
    side = "less than" if point.direction == "below" else "more than"
    return f"if {CLAUSES[point.assumption]} {side} {amount(point.assumption, point.value)}: then {change_of(turn)}"


def change_of(turn: Turn) -> str:
    """What changes beyond a tipping point."""
    point = turn.point
    said_of = []
    if point.enter:
        said_of.append(f"{_several(point.enter)} can be best too")
    if point.leave:
        said_of.append(f"{_several(point.leave)} can no longer be best")
    return " and ".join(said_of)


def _saves(basis: Basis, costs: Sequence[Costs]) -> str:
    """What the log saves if the judgement is right, and also if it may be wrong: nobody should see the first alone."""
    first, *rest = costs
    condition_of = "if that is true" if first.assumption == basis.assumption != AnyExpert() else "whoever chose"
    said_of = (
        f"The first 1,000 decisions can be expected to cost {_both(first)}, in units of the reward, {condition_of}"
    )
    for other in rest:
        said_of += f"; in worlds where it may be wrong in any way, {_both(other)}"
    return f"{said_of}."


def _both(costs: Costs) -> str:
    place = costs.decisions.index(1_000)
    with_log, nothing = (total(float(costs.mean[label][place])) for label in (WITH_LOG, FROM_NOTHING))
    saved = costs.saved(1_000)
    change = f"{saved:.0%} less" if saved >= 0.0 else f"{-saved:.0%} more"
    return f"{with_log} with this log and {nothing} without it ({change})"


def _several(arms: Sequence[Arm]) -> str:
    """Options in a sentence; of many, the first few."""
    if len(arms) <= _FEW:
        return some([_quoted(arm) for arm in arms])
    return f"{', '.join(_quoted(arm) for arm in arms[: _FEW - 1])} and {len(arms) - _FEW + 1} other options"


def _quoted(arm: Arm) -> str:
    return f"“{shortened(str(arm), _NAME)}”"


def _number(size: int, word: str) -> str:
    return f"{size:,} {word}" + "s" * (size != 1)
