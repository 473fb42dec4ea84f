"""One call of an agent on arms without features: a pull, or an update.

Each is one function in machine code that writes all it changes, so that an interrupt finds the agent whole; see
`meanbounds.kernels.tally`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from meanbounds.kernels.arms.delayed import as_if_answered
from meanbounds.kernels.arms.doubt import choose_doubted
from meanbounds.kernels.arms.tables import state_of
from meanbounds.kernels.arms.textbook import choose_by, observe, split
from meanbounds.kernels.arms.watch import keep_news, news_of
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.copying import copy_into
from meanbounds.kernels.random.stream import uniform
from meanbounds.kernels.tally import (
    FLOOR_KEY,
    PENDING,
    POLICY_KEY,
    PULLS,
    ROUNDING_KEY,
    UNANSWERED,
    UPDATES,
    count_pull,
    count_update,
)
from meanbounds.support.types import Floats, Integers

__all__ = ["Pull", "pull_for", "settings_of", "supposed", "update", "update_with_news"]

_FLOOR = 0  # places in the settings
_PARAMETERS = 1  # how many there are; they come next, and then the middle of each arm's bounds
_REST = 2


def settings_of(floor: float, parameters: Floats, middle: Floats) -> Floats:
    """The numbers that a pull needs and that stay, in one array: each array takes time to cross into machine code.

    `parameters` are the policy's. `middle` is that of each arm's bounds, see `middle_of`: it stands for the
    mean of an arm without rewards while its pulls are pending.
    """
    return np.concatenate([[floor, len(parameters)], parameters, middle])


@compiled
def supposed(state_table: Floats, tally: Integers, middle: Floats) -> Floats:
    """The statistics as if pending pulls had been answered; see `as_if_answered`."""
    waiting, out = np.empty(middle.size), np.empty_like(state_table)
    for arm in range(middle.size):
        waiting[arm] = tally[PENDING + arm]
    as_if_answered(state_table, waiting, middle, out)
    return out


Pull = Callable[[Floats, Floats, Floats, Integers, Floats, bool], int]


@functools.cache
def pull_for(given: int) -> Pull:
    """The pull of policies with this code.

    It takes `settings`, the tables of the plan and of the state, the `tally`, `log_f` and `counts`. It chooses an arm
    and counts it as pending; if log f(t) is missing, it does nothing and returns -t instead. `log_f` starts with a
    round, then come the values from this round on. With `counts` pending pulls count as answered, see
    `as_if_answered`. With a floor, each arm of the plan is drawn with this probability, and the policy decides
    otherwise.
    """
    code, logged, doubted = split(given)

    @compiled
    def pull(
        settings: Floats, plan_table: Floats, state_table: Floats, tally: Integers, log_f: Floats, counts: bool
    ) -> int:
        rest = _REST + int(settings[_PARAMETERS])
        floor, parameters, middle = settings[_FLOOR], settings[_REST:rest], settings[rest:]
        number, counts = tally[PULLS], counts and tally[UNANSWERED] > 0
        t = tally[UPDATES] + 1 + (tally[UNANSWERED] if counts else 0)
        place = 1 + t - int(log_f[0])
        if place < 1 or place >= log_f.size:
            return int(-t)
        drawn = np.inf
        if floor > 0.0:
            drawn = uniform(np.uint64(tally[FLOOR_KEY]), number) / floor
        if drawn < plan_table.shape[1]:
            arm = int(plan_table[0, int(drawn)])
        else:
            seen = supposed(state_table, tally, middle) if counts else state_table
            key = np.uint64(tally[POLICY_KEY])
            if doubted:
                arm = choose_doubted(code, logged, plan_table, parameters, seen, log_f[place], number, key)
            else:
                arm = choose_by(code, logged, plan_table, parameters, seen, log_f[place], number, key)
            if counts:
                copy_into(state_of(seen).memory, state_of(state_table).memory)  # which the copy would lose
        count_pull(tally, arm)
        return arm

    return pull


@compiled
def update(watched: Floats, tally: Integers, arm: int, reward: float, shortfall: float, history: bool) -> int:
    """Add a reward, and 1 less it, in units of the arm's range; unless it is history, it answers a pending pull.

    If this would contradict a bound for the first time, do nothing and return which one, see `news_of`; else return 0.
    """
    news = news_of(watched, tally, arm, reward, shortfall, history)
    if news == 0:
        add(watched, tally, arm, reward, shortfall, history)
    return news


@compiled
def update_with_news(
    watched: Floats, tally: Integers, arm: int, reward: float, shortfall: float, history: bool, news: int
) -> None:
    """The same for a reward of which there was news, which are kept."""
    add(watched, tally, arm, reward, shortfall, history)
    keep_news(watched, tally, arm, news)


@compiled
def add(watched: Floats, tally: Integers, arm: int, reward: float, shortfall: float, history: bool) -> None:
    observe(watched, arm, reward, shortfall, tally[UPDATES], np.uint64(tally[ROUNDING_KEY]))
    count_update(tally, arm, history)
