"""Logs by arm, taken at their word: the last rows of a plan hold each candidate's count, total and shortfall.

Totals and shortfalls are in units of the arm's range. The state itself holds only what was played since, so a log is
added anew in each round.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.index import gaussian_index
from meanbounds.kernels.arms.tables import ends_of, mean_seen, plan_of, state_of
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["LOG_ROWS", "add_log", "min_ucb_index", "min_ucb_indices", "with_log"]

LOG_ROWS = 3
"""Rows that a log adds at the end of a plan: count, total, shortfall. MIN-UCB's bias comes before them."""


@compiled
def with_log(plan_table: Floats, state_table: Floats) -> Floats:
    """The statistics as if the logged rewards had been played first; those between the ends count as 0 and 1."""
    out = state_table.copy()
    for k in range(plan_table.shape[1]):
        add_log(plan_table, state_table, out, k)
    return out


@compiled
def add_log(plan_table: Floats, state_table: Floats, out: Floats, k: int) -> None:
    """Write the same for one candidate."""
    told, seen = state_of(state_table), state_of(out)
    arm, total, shortfall = int(plan_table[0, k]), plan_table[-2, k], plan_table[-1, k]
    seen.plays[arm] = told.plays[arm] + plan_table[-3, k]
    seen.total[arm] = told.total[arm] + total
    seen.squares[arm] = told.squares[arm] + total
    seen.ones[arm] = told.ones[arm] + total
    seen.shortfall[arm] = told.shortfall[arm] + shortfall
    seen.shortfall_squares[arm] = told.shortfall_squares[arm] + shortfall


@compiled
def min_ucb_index(plan_table: Floats, state_table: Floats, k: int, log_f: float) -> float:
    """A candidate's index: the lesser of UCB's and of the same from all rewards, plus the log's bias."""
    plan, state = plan_of(plan_table), state_of(state_table)
    arm, count = int(plan.arm[k]), plan_table[-3, k]
    index = gaussian_index(plan, state, k, log_f)
    if count > 0.0:
        plays = state.plays[arm] + count
        total, shortfall = state.total[arm] + plan_table[-2, k], state.shortfall[arm] + plan_table[-1, k]
        mean = mean_seen((plays, total, total, shortfall, shortfall), ends_of(plan, k))
        width = np.sqrt(log_f) * np.sqrt(2.0 * plan.proxy[k] / plays)
        index = min(index, mean + width + plan_table[-4, k] * (count / plays))
    return float(index)


@compiled
def min_ucb_indices(plan_table: Floats, state_table: Floats, log_f: float, out: Floats) -> None:
    """Write the index of each candidate."""
    for k in range(out.size):
        out[k] = min_ucb_index(plan_table, state_table, k, log_f)
