"""Bounds that rest on one assumption: one account of the evidence against it, fed by every reward of every context.

The assumption says that all of its bounds hold. With e_j the e-process against bound j (`meanbounds.kernels.arms.
evidence`), and q the share of the bounds that are wrong if it fails,

    E = sum over q of w_q * product over j of (1 - q + q e_j)

is an e-process against it: products of e-processes on different rewards are e-processes, and so are averages. One
wrong bound among thousands is found with a small q, a mistake that is everywhere with a large one. E is taken over all
bounds, and over those of each arm by itself, in all contexts: an assumption often fails in the same way everywhere. The
average of both halves counts.

A ledger holds the sums of log(1 - q + q e_j), so that a reward costs two e-processes before it and two after it. Its
first row is for all bounds, each further one for an arm; a column for each q, then log E of the row, and at the end of
the first row log E of them all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import exp, expm1, log, log1p, sqrt

import numpy as np

from meanbounds.kernels.arms.agent import add
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.doubt import choose_doubted
from meanbounds.kernels.arms.evidence import log_e
from meanbounds.kernels.arms.tables import copy_table, state_of
from meanbounds.kernels.arms.textbook import observe, regret, split
from meanbounds.kernels.arms.watch import keep_news, news_of
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key
from meanbounds.support.types import Floats, Integers

__all__ = [
    "NO_GROUP",
    "SHARES",
    "close",
    "enter",
    "new_ledger",
    "play_for",
    "update",
    "update_with_news",
    "weigh",
]

SHARES = 0.5 ** np.arange(20.0)
"""The shares q of wrong bounds that are tried."""

_LOG_WEIGHTS = -np.log(np.arange(1.0, 21.0) * np.arange(2.0, 22.0)) - log(20.0 / 21.0)
_CONTROLS = 0.2  # share of contexts that are controls, over the root of the probability that the assumption fails
_MOST = 300.0  # of the logarithm of one e-process, either way: a single bound can say no more
_TOTAL, _SHORTFALL, _LOWER, _UPPER = 1, 5, 7, 8  # rows of the statistics and of the watch

NO_GROUP = -1
"""The group of an arm whose bounds do not rest on the assumption."""


def new_ledger(groups: int) -> Floats:
    """The ledger of an assumption about so many arms, before the first reward."""
    return np.zeros((1 + groups, SHARES.size + 2))


@compiled
def _logs_of(watched: Floats, arm: int) -> tuple[float, float]:
    """Logs of the e-processes against both bounds of an arm; a bound at the end of the range says nothing."""
    wins, lacks, against_lower, against_upper = watched[_TOTAL, arm], watched[_SHORTFALL, arm], 0.0, 0.0
    lower, upper = watched[_LOWER, arm], watched[_UPPER, arm]
    if lower < 1.0:
        against_lower = min(_MOST, max(-_MOST, log_e(lacks, wins, lower, 1.0 - lower)))
    if upper < 1.0:
        against_upper = min(_MOST, max(-_MOST, log_e(wins, lacks, upper, 1.0 - upper)))
    return against_lower, against_upper


@compiled
def _term(share: float, value: float) -> float:
    """``log(1 - q + q e)`` for the logarithm of e."""
    if share == 1.0:
        return value
    if value > 0.0:
        return value + log(share + (1.0 - share) * exp(-value))
    return log1p(share * expm1(value))


@compiled
def _mixed(row: Floats) -> float:
    """Log of E for the sums of one row."""
    top, total = -np.inf, 0.0
    for i in range(SHARES.size):
        top = max(top, row[i] + _LOG_WEIGHTS[i])
    for i in range(SHARES.size):
        total += exp(row[i] + _LOG_WEIGHTS[i] - top)
    return top + log(total)


@compiled
def close(ledger: Floats) -> None:
    """Write log E of each row and of them all, from the sums."""
    for group in range(ledger.shape[0]):
        ledger[group, SHARES.size] = _mixed(ledger[group])
    _balance(ledger)


@compiled
def _balance(ledger: Floats) -> None:
    column, groups = SHARES.size, ledger.shape[0] - 1
    top, total = ledger[:, column].max(), 0.0
    for group in range(1, groups + 1):
        total += exp(ledger[group, column] - top)
    ledger[0, column + 1] = top + log(0.5 * exp(ledger[0, column] - top) + 0.5 * total / groups)


@compiled
def _move(ledger: Floats, group: int, before: tuple[float, float], after: tuple[float, float]) -> None:
    """Replace what the two bounds of an arm said by what they say now."""
    for i in range(SHARES.size):
        share = SHARES[i]
        change = _term(share, after[0]) - _term(share, before[0])
        change += _term(share, after[1]) - _term(share, before[1])
        ledger[0, i] += change
        ledger[1 + group, i] += change


@compiled
def _record(ledger: Floats, group: int, before: tuple[float, float], after: tuple[float, float]) -> None:
    """The same, with log E brought up to date; nothing for an arm without a group."""
    if group != NO_GROUP:
        _move(ledger, group, before, after)
        for row in (0, 1 + group):
            ledger[row, SHARES.size] = _mixed(ledger[row])
        _balance(ledger)


@compiled
def enter(ledger: Floats, watched: Floats, groups: Integers, leaves: bool) -> None:
    """Add what the rewards of an agent say, or, if it leaves, take it back."""
    for arm in range(groups.size):
        if groups[arm] != NO_GROUP:
            own, nothing = _logs_of(watched, arm), (0.0, 0.0)
            if leaves:
                _move(ledger, groups[arm], own, nothing)
            else:
                _move(ledger, groups[arm], nothing, own)
    close(ledger)


@compiled
def _tell(
    watched: Floats,
    tally: Integers,
    ledger: Floats,
    group: int,
    arm: int,
    reward: float,
    shortfall: float,
    history: bool,
) -> None:
    before = _logs_of(watched, arm)
    add(watched, tally, arm, reward, shortfall, history)
    _record(ledger, group, before, _logs_of(watched, arm))


@compiled
def update(
    watched: Floats,
    tally: Integers,
    ledger: Floats,
    group: int,
    arm: int,
    reward: float,
    shortfall: float,
    history: bool,
) -> int:
    """`meanbounds.kernels.arms.agent.update` that enters the reward into the ledger as well."""
    news = news_of(watched, tally, arm, reward, shortfall, history)
    if news == 0:
        _tell(watched, tally, ledger, group, arm, reward, shortfall, history)
    return news


@compiled
def update_with_news(
    watched: Floats,
    tally: Integers,
    ledger: Floats,
    group: int,
    arm: int,
    reward: float,
    shortfall: float,
    history: bool,
    news: int,
) -> None:
    """The same for a reward of which there was news, which are kept."""
    _tell(watched, tally, ledger, group, arm, reward, shortfall, history)
    keep_news(watched, tally, arm, news)


@compiled
def _doubt_left(log_n: float, against: float, place: float) -> float:
    """Log N once the evidence against the assumption counts; see `weigh`."""
    if log_n == np.inf or log_n == 0.0:
        return log_n
    log_odds = (log(expm1(log_n)) if log_n < 700.0 else log_n) - max(0.0, against)
    fails = 1.0 / (1.0 + exp(log_odds)) if log_odds < 700.0 else 0.0
    if place > 1.0 - _CONTROLS * sqrt(fails):
        return 0.0
    if against <= 0.0:
        return log_n
    return min(log_n, log_odds + log1p(exp(-log_odds)) if log_odds > 0.0 else log1p(exp(log_odds)))


@compiled
def weigh(plan_table: Floats, log_n: Floats, against: float, place: float) -> None:
    """Write log N of each arm into a doubted plan: that of its own trust, less what speaks against the assumption.

    `log_n` has an entry for each arm, kept in the plan or not. `against` is log E. The odds that the assumption holds
    are N - 1 over E. Below 1, E changes nothing. Contexts whose `place`, from 0 to 1, is near 1 are controls, which
    play without the bounds: a share that is in proportion to the root of the probability that the assumption fails.
    """
    last = plan_table.shape[0] - 1
    for k in range(plan_table.shape[1]):
        plan_table[last, k] = _doubt_left(log_n[int(plan_table[0, k])], against, place)


@functools.cache
def play_for(given: int) -> Callable[[Floats, Floats, Floats, Block], None]:
    """The loop that plays a block of runs in which the bounds of all arms stand or fall together.

    `limits` has a column for each arm: 1 less its lower bound and its upper bound, in units of the range; log N of its
    own trust; and its group. Runs start without rewards.
    """
    code, logged, _ = split(given)

    @compiled
    def play(plan_table: Floats, limits: Floats, parameters: Floats, block: Block) -> None:
        states, log_f, stops, arms = block.states, block.log_f, block.stops, block.gaps.size
        groups = limits[3].astype(np.int64)
        for run in range(states.shape[0]):
            plan, ledger = plan_table.copy(), np.zeros((2 + groups.max(), SHARES.size + 2))
            watched = np.zeros((_UPPER + 1, arms))
            copy_table(limits[:2], watched[_LOWER:])
            enter(ledger, watched, groups, False)
            table = watched[:_LOWER]
            plays = state_of(table).plays
            streams = reward_key(block.seed, block.first_run + run)
            key = policy_key(block.seed, block.first_run + run)
            rounding = rounding_key(block.seed, block.first_run + run)
            t = block.first_round
            for c in range(stops.size):
                while t <= stops[c]:
                    weigh(plan, limits[2], ledger[0, SHARES.size + 1], 0.0)
                    budget = log_f[t - block.first_round]
                    arm = choose_doubted(code, logged, plan, parameters, table, budget, t - 1, key)
                    reward = draw(block.rewards, arm, child(streams, arm), int(plays[arm]))
                    before = _logs_of(watched, arm)
                    observe(table, arm, reward, 1.0 - reward, t - 1, rounding)
                    _record(ledger, groups[arm], before, _logs_of(watched, arm))
                    t += 1
                block.curves[run, c] = regret(block.gaps, table)
            states[run] = table

    return play
