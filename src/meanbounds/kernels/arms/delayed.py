"""Rewards that come late or never: rounds in which some pulls are still unanswered."""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import floor, log
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.doubt import choose_doubted
from meanbounds.kernels.arms.tables import copy_table, state_of
from meanbounds.kernels.arms.textbook import choose_by, observe, regret, split
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.copying import copy_into
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, delay_key, policy_key, reward_key, rounding_key, uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["LOST", "Delays", "Unanswered", "as_if_answered", "draw_delay", "middle_of", "play", "unanswered_for"]

LOST = -1  # the delay of a reward that never comes
_NOBODY = -1  # ends a list in the ring


class Delays(NamedTuple):
    """How many rounds late rewards are."""

    fixed: int  # the delay of every reward, unless log_late is below 0
    log_late: float  # log of the chance that a reward which has not come yet stays out another round; 0: fixed
    longest: int  # no delay is longer: the ring has one place more
    lost: float  # share of rewards that never come


class Unanswered(NamedTuple):
    """The pulls of one run whose reward is still out: a ring of lists, one for each round in which rewards are due.

    The pull of round t is kept at place t modulo the length of the ring, the list for round t starts at that place of
    `first`. Lists are in the order of the pulls.
    """

    waiting: Floats  # unanswered pulls of each arm, lost ones included
    arm: Integers
    reward: Floats
    following: Integers  # place of the next pull that is due in the same round
    first: Integers
    last: Integers


def unanswered_for(arms: int, longest: int) -> Unanswered:
    """Room for the unanswered pulls of a run, none of them made yet."""
    nobody = np.full((3, longest + 1), _NOBODY, dtype=np.int64)
    arm, reward = np.zeros(longest + 1, dtype=np.int64), np.zeros(longest + 1)
    return Unanswered(np.zeros(arms), arm, reward, nobody[0], nobody[1], nobody[2])


def middle_of(lower: Floats, upper: Floats, low: Floats, high: Floats) -> Floats:
    """Middle of each arm's bounds, in units of the arm's range."""
    return (0.5 * (lower + upper) - low) / (high - low)


@compiled
def as_if_answered(state_table: Floats, waiting: Floats, middle: Floats, out: Floats) -> None:
    """Write the state as it would be if unanswered pulls had returned the arm's mean so far.

    `waiting` counts the unanswered pulls of each arm. An arm without any reward gets `middle` (see `middle_of`) for its
    mean; of the others at most as many pulls count as rewards have come, or else a few bad rewards and many lost ones
    would make an arm look surely bad. Sums of squares and of rounded rewards grow at their own mean.
    """
    copy_table(state_table, out)
    seen, supposed = state_of(state_table), state_of(out)
    for arm in range(waiting.size):
        plays, more = seen.plays[arm], waiting[arm]
        if plays > 0.0:
            more = min(more, plays)
            supposed.total[arm] += more * (seen.total[arm] / plays)
            supposed.squares[arm] += more * (seen.squares[arm] / plays)
            supposed.ones[arm] += more * (seen.ones[arm] / plays)
            supposed.shortfall[arm] += more * (seen.shortfall[arm] / plays)
            supposed.shortfall_squares[arm] += more * (seen.shortfall_squares[arm] / plays)
        else:
            supposed.total[arm] += more * middle[arm]
            supposed.squares[arm] += more * middle[arm]
            supposed.ones[arm] += more * middle[arm]
            supposed.shortfall[arm] += more * (1.0 - middle[arm])
            supposed.shortfall_squares[arm] += more * (1.0 - middle[arm])
        supposed.plays[arm] += more


@compiled
def draw_delay(delays: Delays, key: np.uint64, number: int) -> int:
    """How many rounds late the reward of the round with this number (from 0) is, or `LOST`; `key` is the run's."""
    if uniform(key, 2 * number + 1) < delays.lost:
        return LOST
    if delays.log_late == 0.0:
        return delays.fixed
    return int(min(float(delays.longest), floor(log(1.0 - uniform(key, 2 * number)) / delays.log_late)))


@compiled
def _send(out: Unanswered, t: int, delay: int, arm: int, reward: float) -> None:
    """Keep the reward of round t until it is due."""
    place, slot = t % out.arm.size, (t + 1 + delay) % out.arm.size
    out.arm[place], out.reward[place], out.following[place] = arm, reward, _NOBODY
    if out.first[slot] == _NOBODY:
        out.first[slot] = place
    else:
        out.following[out.last[slot]] = place
    out.last[slot] = place


@compiled
def _deliver(state: Floats, out: Unanswered, t: int, updates: int, rounding: np.uint64) -> int:
    """Observe the rewards that are due in round t, in the order of their pulls, and return the number of updates."""
    slot = t % out.arm.size
    place = out.first[slot]
    while place != _NOBODY:
        reward = out.reward[place]
        observe(state, out.arm[place], reward, 1.0 - reward, updates, rounding)
        out.waiting[out.arm[place]] -= 1.0
        updates += 1
        place = out.following[place]
    out.first[slot] = _NOBODY
    return updates


@functools.cache
def _play_for(given: int) -> Callable[[Floats, Floats, Block, Delays, Floats, Unanswered, bool, int], int]:
    code, logged, doubted = split(given)

    @compiled
    def play(
        plan_table: Floats,
        parameters: Floats,
        block: Block,
        delays: Delays,
        middle: Floats,
        out: Unanswered,
        counts: bool,
        t: int,
    ) -> int:
        state, stops = block.states[0], block.stops
        streams, key = reward_key(block.seed, block.first_run), policy_key(block.seed, block.first_run)
        rounding, lateness = rounding_key(block.seed, block.first_run), delay_key(block.seed, block.first_run)
        seen = np.empty_like(state)
        updates = int(state_of(state).plays.sum())
        for c in range(stops.size):
            while t <= stops[c]:
                updates = _deliver(state, out, t, updates, rounding)
                clock = (t if counts else updates + 1) - block.first_round
                if clock >= block.log_f.size:
                    return t
                if counts:
                    as_if_answered(state, out.waiting, middle, seen)
                else:
                    copy_table(state, seen)
                budget = block.log_f[clock]
                if doubted:
                    arm = choose_doubted(code, logged, plan_table, parameters, seen, budget, t - 1, key)
                else:
                    arm = choose_by(code, logged, plan_table, parameters, seen, budget, t - 1, key)
                copy_into(state_of(seen).memory, state_of(state).memory)  # what the kernel remembers of its own
                delay = draw_delay(delays, lateness, t - 1)
                if delay != LOST and t + 1 + delay <= stops[-1]:
                    number = int(state_of(state).plays[arm] + out.waiting[arm])
                    _send(out, t, delay, arm, draw(block.rewards, arm, child(streams, arm), number))
                out.waiting[arm] += 1.0
                t += 1
                if t > stops[c]:
                    copy_table(state, seen)
                    for k in range(out.waiting.size):
                        state_of(seen).plays[k] += out.waiting[k]  # pulls, answered or not
                    block.curves[0, c] = regret(block.gaps, seen)
        return t

    return play


def play(
    code: int,
    plan_table: Floats,
    parameters: Floats,
    block: Block,
    delays: Delays,
    middle: Floats,
    out: Unanswered,
    counts: bool,
    t: int,
) -> int:
    """Play one run from round t on; return the round at which ``block.log_f`` ends, or the one after the last.

    The block has one run, and all stops of it. The clock of the policy, which `block.log_f` is read at, is one more
    than the rewards so far, or with `counts` than the pulls so far: it may stand still, so ``block.first_round`` is
    the first clock time of the table rather than a round.
    """
    return _play_for(code)(plan_table, parameters, block, delays, middle, out, counts, t)
