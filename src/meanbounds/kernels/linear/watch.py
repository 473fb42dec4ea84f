"""An update of an agent on arms with features that looks whether its reward contradicts bounds.

Two things are watched: the rewards of each arm against its own bounds, whether means are linear or not, and the bets of
`meanbounds.kernels.linear.doubt` against all bounds together.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.evidence import log_e, may_reach
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.design import Design, observe
from meanbounds.kernels.linear.doubt import NO_SIDE, bet, foresee
from meanbounds.kernels.linear.pool import Rule
from meanbounds.kernels.tally import PENDING, UPDATES, count_update
from meanbounds.support.types import Floats, Integers

__all__ = [
    "ALARM",
    "GAINS",
    "LOG_E",
    "ROWS",
    "SEEN",
    "TOGETHER",
    "update",
    "update_doubted",
]

_LOW, _HIGH = 0, 1  # rows of the watch: the range
_OWN = 2  # bounds as given, lower and upper; each side is two rows here and below
_TIGHT = 4  # bounds that follow from all of them together
_LEVEL = 6  # what the logarithm of an arm's own e-process has to reach
SEEN = 7  # after how many updates a bound was contradicted by the rewards of its arm, 0 if it was not
GAINS = 9  # logarithms of what was won by betting against the arm's bounds
ROWS = 11

LOG_E = 0  # of all bets: places in `joint`
_LIMIT = 1  # what it has to reach
ALARM = 2  # after how many updates it did, 0 if it did not

_LOWER, _UPPER, TOGETHER = 1, 2, 4  # news, which may be added
_ROUNDING = 1e-15  # of what was added up, for each addition


@compiled
def _reaches(wins: float, lacks: float, bound: float, level: float) -> bool:
    return may_reach(wins, lacks, bound, level) and log_e(wins, lacks, bound, 1.0 - bound) >= level


@compiled
def _above_rounding(larger: float, smaller: float, additions: float) -> float:
    """The difference, 0 where it is no more than what so many additions may have rounded away."""
    rest = larger - smaller
    return rest if rest > _ROUNDING * additions * (abs(larger) + abs(smaller)) else 0.0


@compiled
def _own_news(watch: Floats, results: Floats, tally: Integers, arm: int, reward: float, history: bool) -> int:
    """Which bounds of its arm a reward would make contradicted for the first time; see `arms.watch.news_of`."""
    low, high, level = watch[_LOW, arm], watch[_HIGH, arm], watch[_LEVEL, arm]
    plays, total, span = results[0, arm] + 1.0, results[1, arm] + reward, high - low
    wins = _above_rounding(total, plays * low, plays) / span
    lacks = _above_rounding(plays * high, total, plays) / span
    waiting = tally[PENDING + arm]
    if waiting > 0 and not history:
        waiting -= 1  # this reward answers one
    news = 0
    if watch[SEEN, arm] == 0.0 and watch[_OWN, arm] > low:
        news += _LOWER * _reaches(lacks, wins + waiting, (high - watch[_OWN, arm]) / span, level)
    if watch[SEEN + 1, arm] == 0.0 and watch[_OWN + 1, arm] < high:
        news += _UPPER * _reaches(wins, lacks + waiting, (watch[_OWN + 1, arm] - low) / span, level)
    return news


@compiled
def _placed(
    forecaster: Design, rule: Rule, watch: Floats, results: Floats, arm: int, x: Floats, reward: float, offset: float
) -> tuple[int, float]:
    """The bet that this reward decides: against which side of its arm, and what it wins."""
    value, error = foresee(forecaster, rule, x)
    low, high, plays = watch[_LOW, arm], watch[_HIGH, arm], results[0, arm]
    return bet(reward, low, high, watch[_TIGHT, arm], watch[_TIGHT + 1, arm], offset + value, error, plays)


@compiled
def _note(
    watch: Floats,
    joint: Floats,
    results: Floats,
    tally: Integers,
    arm: int,
    reward: float,
    slot: int,
    history: bool,
    placed: tuple[int, float],
    news: int,
) -> None:
    """Write down a reward, the bet that it decided, and what is contradicted from now on."""
    count_update(tally, slot, history)
    if arm < 0:
        return
    results[0, arm] += 1.0
    results[1, arm] += reward
    side, gain = placed
    if side != NO_SIDE:
        watch[GAINS + side, arm] += gain
        joint[LOG_E] += gain
    for place, flag in ((0, _LOWER), (1, _UPPER)):
        if news & flag:
            watch[SEEN + place, arm] = tally[UPDATES]
    if news & TOGETHER:
        joint[ALARM] = tally[UPDATES]


@compiled
def _joint_news(joint: Floats, gain: float) -> int:
    return TOGETHER if joint[ALARM] == 0.0 and joint[LOG_E] + gain >= joint[_LIMIT] else 0


@compiled
def update(
    design: Design,
    rule: Rule,
    arm: int,
    x: Floats,
    reward: float,
    offset: float,
    proxy: float,
    results: Floats,
    watch: Floats,
    joint: Floats,
    tally: Integers,
    slot: int,
    history: bool,
    warned: bool,
) -> int:
    """Add a reward; unless it is history, it answers a pending pull at this slot of the tally.

    `arm` is -1 for one that is not in the pool; `results` adds up how many rewards each arm of the pool has had, and
    these rewards. If the reward contradicts bounds for the first time and nobody was `warned`, all stays as it was and
    the result says which; otherwise it is 0.
    """
    placed, news = (NO_SIDE, 0.0), 0
    if arm >= 0:
        placed = _placed(design, rule, watch, results, arm, x, reward, offset)
        news = _own_news(watch, results, tally, arm, reward, history) + _joint_news(joint, placed[1])
        if news and not warned:
            return news
    observe(design, rule, arm, x, reward - offset, proxy, np.empty(x.size))
    _note(watch, joint, results, tally, arm, reward, slot, history, placed, news)
    return 0


@compiled
def update_doubted(
    design: Design,
    rule: Rule,
    wide: Design,
    wide_rule: Rule,
    arm: int,
    x: Floats,
    reward: float,
    offset: float,
    proxy: float,
    wide_proxy: float,
    results: Floats,
    watch: Floats,
    joint: Floats,
    tally: Integers,
    slot: int,
    history: bool,
    warned: bool,
) -> int:
    """The same for bounds that may be wrong: a second regression does without them, and makes the forecasts."""
    placed, news = (NO_SIDE, 0.0), 0
    if arm >= 0:
        placed = _placed(wide, wide_rule, watch, results, arm, x, reward, offset)
        news = _own_news(watch, results, tally, arm, reward, history) + _joint_news(joint, placed[1])
        if news and not warned:
            return news
    observe(design, rule, arm, x, reward - offset, proxy, np.empty(x.size))
    observe(wide, wide_rule, arm, x, reward - offset, wide_proxy, np.empty(x.size))
    _note(watch, joint, results, tally, arm, reward, slot, history, placed, news)
    return 0
