"""Thompson sampling by inversion over whole runs: who draws most, mostly without any draw.

Each candidate's random number is compared with its tail at one level, the floor; often one candidate exceeds it and is
played. If several do, they are compared at the levels above, until one is left or all are in the same gap. There,
tangents and chords of their tails bound the draws, and draws are made only where these bounds overlap. Which floor is
taken only decides how fast a round is.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.inversion import CLOSE, choose_inverted, number_of, write_draws
from meanbounds.kernels.arms.settle import level_of
from meanbounds.kernels.arms.tables import Ends, Plan, Seen, State, argmax, clipped_mean, mean_seen, plan_of, state_of
from meanbounds.kernels.arms.textbook import regret
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.search import SURE, scale_of
from meanbounds.kernels.fast.settle import may_settle, settled_place
from meanbounds.kernels.fast.tails import (
    LAW_SIZE,
    TAIL_SIZE,
    chance_above,
    draw_between,
    fill_law,
    levels_for,
    relevel,
    renew,
)
from meanbounds.kernels.random.rewards import UNIFORM, draw, draw_simple, law_of
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key, uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["play_inverted"]

_APART = 1e-9  # draws whose bounds are farther apart, in units of the range, are surely different
_LEAST_WIDTH = 1e-5  # of the levels, in units of the numbers that means are made of
_SOON, _LATE = 8, 400  # rounds between two looks for a better floor


@compiled
def _largest_in_gap(
    tails: Floats, laws: Floats, places: Integers, count: int, j: int, arms: Floats, stream: np.uint64
) -> int:
    """Who draws most of candidates that are all between levels j - 1 and j; -1 if bounds on the draws do not say it."""
    place, least, most, rest = -1, -np.inf, -np.inf, -np.inf  # bounds on its draw; and the most of the others
    for n in range(count):
        k = places[n]
        low, high = draw_between(tails, laws, k, j, number_of(stream, arms[k]))
        if low > least:
            rest = max(rest, most)
            place, least, most = k, low, high
        else:
            rest = max(rest, high)
    return place if rest + _APART < least else -1


@compiled
def _climb(
    tails: Floats, laws: Floats, places: Integers, count: int, j: int, arms: Floats, stream: np.uint64
) -> tuple[int, int]:
    """Who draws most of candidates above level j. If it is -1: how many of them, which come first, have to be drawn.

    Where this is 0, a random number is too near to a tail.
    """
    unit = 1.0 / (tails.shape[1] - 3)
    while count > 1:
        j += 1
        above = 0
        for n in range(count):
            k = places[n]
            excess = chance_above(tails, laws, k, j, j * unit) - number_of(stream, arms[k])
            if abs(excess) <= CLOSE:
                return -1, 0
            if excess > 0.0:
                places[n], places[above] = places[above], k
                above += 1
        if above == 0:
            return _largest_in_gap(tails, laws, places, count, j, arms, stream), count
        count = above
    return int(places[0]), 1


@compiled
def _descend(
    tails: Floats, laws: Floats, places: Integers, j: int, arms: Floats, stream: np.uint64
) -> tuple[int, int]:
    """`_climb` from a level below j that some candidate exceeds, as no candidate exceeds level j."""
    unit, step = 1.0 / (tails.shape[1] - 3), 1
    while j > 0:
        j, step, count = max(0, j - step), 2 * step, 0
        for k in range(arms.size):
            excess = chance_above(tails, laws, k, j, j * unit) - number_of(stream, arms[k])
            if abs(excess) <= CLOSE:
                return -1, 0
            if excess > 0.0:
                places[count] = k
                count += 1
        if count > 0:
            return _climb(tails, laws, places, count, j, arms, stream)
    return -1, 0


@compiled
def _exceeding(cut: Floats, arms: Floats, stream: np.uint64, places: Integers) -> tuple[int, bool]:
    """Write the candidates that exceed a floor; return how many, and whether that is sure."""
    count, sure = 0, True
    for k in range(arms.size):
        u = uniform(stream, int(arms[k]))
        if u > cut[k]:
            places[count] = k
            count += 1
            sure = sure and u > cut[k] + 2.0 * CLOSE
    return count, sure


@compiled
def _fill_cuts(tails: Floats, laws: Floats, floor: int, cut: Floats) -> None:
    """Write above which random number each candidate's draw may exceed a floor."""
    for k in range(cut.size):
        cut[k] = 1.0 - chance_above(tails, laws, k, floor, floor / (tails.shape[1] - 3)) - CLOSE


@compiled
def _draw_some(
    plan: Plan, parameters: Floats, state: State, places: Integers, count: int, number: int, key: np.uint64
) -> int:
    """Who draws most of the first `count` places, by draws; of all candidates if it is 0."""
    if count == 0:
        return choose_inverted(plan, parameters, state, number, key)
    scores = np.full(plan.arm.size, -np.inf)
    for n in range(count):
        scores[places[n]] = 0.0
    write_draws(plan, parameters, state, child(key, number), int(places[0]), False, scores)
    return argmax(scores, key, number)


@compiled
def _surely_unsettled(seen: Seen, ends: Ends, cap: float, goal: float, log_f: float) -> bool:
    """Whether Pinsker's inequality says that a leader does not settle."""
    low, _, span = ends
    below = seen[0] * ((goal - low) / span) - seen[1]
    return below > 0.0 and 2.0 * SURE * below * below > level_of(cap, goal) * log_f * seen[0]


@compiled
def _lead(clipped: Floats) -> tuple[int, float, bool]:
    """Place of the largest clipped mean, this mean, and whether others have it too."""
    place, best, tied = 0, clipped[0], False
    for k in range(1, clipped.size):
        if clipped[k] > best:
            place, best, tied = k, clipped[k], False
        elif clipped[k] == best:
            tied = True
    return place, best, tied


@compiled
def play_inverted(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for Thompson sampling by inversion."""
    states, rewards, stops = block.states, block.rewards, block.stops
    seed, first_run, first_round = block.seed, block.first_run, block.first_round
    gaps, curves, log_f = block.gaps, block.curves, block.log_f
    plan = plan_of(plan_table)
    arms, low, span, lower, cap, high = plan.arm, plan.low, plan.span, plan.lower, plan.cap, plan.high
    size, kind, law = arms.size, rewards.kind, rewards.parameters
    start, end = lower.max(), cap.max()
    fine = end - start > _LEAST_WIDTH * scale_of(plan)  # else levels would differ by rounding errors
    levels = levels_for(size)
    unit = 1.0 / levels
    tails, laws = np.empty((size, levels + 3, TAIL_SIZE)), np.empty((size, LAW_SIZE))
    cut, second_cut, clipped, goals = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    places, streams = np.empty(size, np.int64), np.empty(size, np.uint64)
    settling = parameters.size > 3 and parameters[3] == 1.0
    able = may_settle(cap, goals)
    settling = settling and able.size > 0
    usual = max(1, int(levels * (1.0 - 1.5 / max(2, size))))  # the floor of a first round
    for run in range(states.shape[0]):
        table = states[run]
        state = state_of(table)
        plays, total, squares, ones = state.plays, state.total, state.squares, state.ones
        shortfall, shortfall_squares = state.shortfall, state.shortfall_squares
        source, key = reward_key(seed, first_run + run), policy_key(seed, first_run + run)
        rounding = rounding_key(seed, first_run + run)
        for k in range(size):
            fill_law(tails, laws, plan, parameters, state, k, (start, end))
            clipped[k] = clipped_mean(plan, state, k)
            streams[k] = child(source, int(arms[k]))
        leader, best, tied = _lead(clipped)
        floor, second, due, t = usual, -1, first_round, first_round
        for c in range(stops.size):
            while t <= stops[c]:
                chosen, number = -1, t - 1
                if settling:
                    seen = (plays[int(arms[leader])], total[int(arms[leader])], 0.0, 0.0, 0.0)
                    ends = (low[leader], high[leader], span[leader])
                    budget = log_f[t - first_round]
                    if tied or not (
                        cap[leader] < goals[leader]
                        or _surely_unsettled(seen, ends, cap[leader], goals[leader], budget)
                    ):
                        chosen = settled_place(
                            plan, state, parameters[2], budget, able, goals, clipped, best, key, number
                        )
                if chosen < 0 and not fine:
                    chosen = choose_inverted(plan, parameters, state, number, key)
                if chosen < 0:
                    if t >= due:
                        floor, second = relevel(tails, laws, floor)
                        usual = floor if t == first_round else usual
                        _fill_cuts(tails, laws, floor, cut)
                        if second >= 0:
                            _fill_cuts(tails, laws, second, second_cut)
                        due = t + max(_SOON, min(t // 16, _LATE))
                    stream = child(key, number)
                    count, sure = _exceeding(cut, arms, stream, places)
                    from_floor = floor
                    if count == 0 and second >= 0:
                        count, sure = _exceeding(second_cut, arms, stream, places)
                        from_floor = second
                    if not sure:
                        chosen, count = -1, 0
                    elif count == 1:
                        chosen = places[0]
                    elif count > 1:
                        chosen, count = _climb(tails, laws, places, count, from_floor, arms, stream)
                    else:
                        chosen, count = _descend(tails, laws, places, from_floor, arms, stream)
                    if chosen < 0:
                        chosen = _draw_some(plan, parameters, state, places, count, number, key)
                arm = int(arms[chosen])
                if kind <= UNIFORM:
                    reward = draw_simple(law_of(kind, law, arm), streams[chosen], int(plays[arm]))
                else:
                    reward = draw(rewards, arm, streams[chosen], int(plays[arm]))
                lack = 1.0 - reward
                plays[arm] += 1.0
                total[arm] += reward
                squares[arm] += reward * reward
                shortfall[arm] += lack
                shortfall_squares[arm] += lack * lack
                if uniform(rounding, number) < reward:
                    ones[arm] += 1.0
                if settling:
                    seen = (plays[arm], total[arm], 0.0, shortfall[arm], 0.0)
                    mean = mean_seen(seen, (low[chosen], high[chosen], span[chosen]))
                    value = min(cap[chosen], max(lower[chosen], mean))
                    clipped[chosen] = value
                    if chosen == leader and value < best:
                        leader, best, tied = _lead(clipped)
                    elif value > best:
                        leader, best, tied = chosen, value, False
                    elif value == best and chosen != leader:
                        tied = True
                if fine:
                    renew(tails, laws, chosen, parameters[0] + ones[arm], parameters[1] + (plays[arm] - ones[arm]))
                    if t + 1 < due:
                        cut[chosen] = 1.0 - chance_above(tails, laws, chosen, floor, floor * unit) - CLOSE
                        if second >= 0:
                            second_cut[chosen] = (
                                1.0 - chance_above(tails, laws, chosen, second, second * unit) - CLOSE
                            )
                t += 1
            curves[run, c] = regret(gaps, table)
