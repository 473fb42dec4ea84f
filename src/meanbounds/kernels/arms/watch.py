"""An update that looks whether it makes the rewards of its arm contradict a bound.

The rows of the watch are below those of `meanbounds.kernels.arms.tables.State`, in the same table, so that an update
takes no further array.
"""

from __future__ import annotations

from meanbounds.kernels.arms.evidence import log_e, may_reach
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.tally import PENDING, UPDATES
from meanbounds.support.types import Floats, Integers

__all__ = ["LOWER", "SEEN", "UPPER", "keep_news", "news_of"]

_TOTAL, _SHORTFALL = 1, 5  # rows of the statistics
_LOWER = 7  # 1 less the lower bound, in units of the range: an upper bound on the shortfall
_UPPER = 8  # the upper bound
_LEVEL = 9  # what the logarithm of an e-process has to reach
SEEN = 10  # after how many updates the lower bound was seen to be contradicted, 0 if it was not; then the upper bound

LOWER, UPPER = 1, 2  # news, which may be added


@compiled
def _reaches(wins: float, lacks: float, bound: float, level: float) -> bool:
    return may_reach(wins, lacks, bound, level) and log_e(wins, lacks, bound, 1.0 - bound) >= level


@compiled
def news_of(table: Floats, tally: Integers, arm: int, reward: float, shortfall: float, history: bool) -> int:
    """Which bounds of an arm a reward would make contradicted for the first time: `LOWER`, `UPPER`, both or 0.

    Rewards that are still to come count for the bound: as 0 against the upper bound, as 1 against the lower one.
    """
    wins, lacks, level = table[_TOTAL, arm] + reward, table[_SHORTFALL, arm] + shortfall, table[_LEVEL, arm]
    waiting = tally[PENDING + arm]
    if waiting > 0 and not history:
        waiting -= 1  # this reward answers one
    news = 0
    if table[SEEN, arm] == 0.0 and _reaches(lacks, wins + waiting, table[_LOWER, arm], level):
        news += LOWER
    if table[SEEN + 1, arm] == 0.0 and _reaches(wins, lacks + waiting, table[_UPPER, arm], level):
        news += UPPER
    return news


@compiled
def keep_news(table: Floats, tally: Integers, arm: int, news: int) -> None:
    """Write down after how many updates a bound was contradicted first."""
    if news & LOWER:
        table[SEEN, arm] = tally[UPDATES]
    if news & UPPER:
        table[SEEN + 1, arm] = tally[UPDATES]
