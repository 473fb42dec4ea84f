"""Thompson sampling by inversion over whole runs: who draws most, mostly without any draw.

Each candidate's random number is compared with its tail at one level, the floor; often one candidate exceeds it and is
played. If several do, they are compared at the levels above, until one is left or all are in the same gap. There,
tangents and chords of their tails bound the draws, and draws are made only where these bounds overlap. Which floor is
taken only decides how fast a round is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.inversion import CLOSE, choose_inverted, number_of, write_draws
from meanbounds.kernels.arms.logged import add_log, with_log
from meanbounds.kernels.arms.quantile import law_of as beta_law
from meanbounds.kernels.arms.quantile import tail
from meanbounds.kernels.arms.settle import level_of
from meanbounds.kernels.arms.tables import Plan, State, argmax, clipped_mean, mean_seen, plan_of, state_of
from meanbounds.kernels.arms.textbook import regret
from meanbounds.kernels.compiling import compiled, inlined
from meanbounds.kernels.fast.normal import largest_by_normal
from meanbounds.kernels.fast.search import FEW, scale_of
from meanbounds.kernels.fast.settle import may_settle, settled_place, surely_unsettled
from meanbounds.kernels.fast.tails import (
    ABOVE,
    AT_LOWER,
    LAW_SIZE,
    LIFE,
    LOWER,
    LOWER_POWER,
    SCALE,
    START,
    TAIL_SIZE,
    UPPER,
    UPPER_POWER,
    WIDTH,
    A,
    B,
    chance_above,
    copied,
    draw_between,
    exceeds,
    fill_law,
    forget,
    levels_for,
    near_draw,
    next_tail,
    relevel,
    renew_law,
    scale_between,
    write_back,
)
from meanbounds.kernels.random.rewards import UNIFORM, draw, draw_simple, law_of
from meanbounds.kernels.random.stream import bits, child, policy_key, reward_key, rounding_key, step_to, uniform
from meanbounds.support.types import Bytes, Floats, Integers, Keys

__all__ = ["play_inverted_for"]

_APART = 1e-9  # draws whose bounds are farther apart, in units of the range, are surely different
_LEAST_WIDTH = 1e-5  # of the levels, in units of the numbers that means are made of
_MOST_BITS = 2.0**63 - 1024.0
_FEWEST_MISSES, _MOST_MISSES = 12, 1000  # rounds with none or several above the floor, until another one is looked for


@compiled
def _largest_in_gap(
    tails: Floats, laws: Floats, places: Integers, count: int, j: int, arms: Integers, stream: np.uint64
) -> int:
    """Who draws most of candidates that are all between levels j - 1 and j; -1 if bounds on the draws do not say it."""
    unit = 1.0 / (tails.shape[1] - 1)
    place, least, most, rest = -1, -np.inf, -np.inf, -np.inf  # bounds on its draw; and the most of the others
    for n in range(count):
        k = places[n]
        for level in (j - 1, j):
            chance_above(tails, laws, k, level, level * unit)  # brings the tail up to date
        low, high = draw_between(tails, laws, k, j, number_of(stream, arms[k]))
        if low > least:
            rest = max(rest, most)
            place, least, most = k, low, high
        else:
            rest = max(rest, high)
    return place if rest + _APART < least else -1


@compiled
def _likely_level(laws: Floats, places: Integers, count: int, levels: int, arms: Integers, stream: np.uint64) -> int:
    """A level that probably is between the two largest draws."""
    first, second = -np.inf, -np.inf
    for n in range(count):
        k = places[n]
        near = near_draw(laws, k, number_of(stream, arms[k]))
        first, second = max(first, near), max(second, min(first, near))
    return int(0.5 * (first + second) * levels + 0.5)


@compiled
def _climb(
    tails: Floats, laws: Floats, places: Integers, count: int, j: int, arms: Integers, stream: np.uint64
) -> tuple[int, int]:
    """Who draws most of candidates above level j. If it is -1: how many of them, which come first, have to be drawn.

    Where this is 0, a random number is too near to a tail. With many arms the next level is mostly enough, and looking
    for a better one would cost more.
    """
    levels = tails.shape[1] - 1
    unit, top = 1.0 / levels, levels  # all are above j, none is above the top
    few = laws.shape[0] <= FEW
    probe = _likely_level(laws, places, count, levels, arms, stream) if few and count > 1 else j + 1
    while count > 1:
        if top - j <= 1:
            return _largest_in_gap(tails, laws, places, count, top, arms, stream), count
        probe = min(top - 1, max(j + 1, probe))
        above = 0
        for n in range(count):
            k = places[n]
            side = exceeds(tails, laws, k, probe, probe * unit, number_of(stream, arms[k]))
            if side < 0:
                return -1, 0
            if side > 0:
                places[n], places[above] = places[above], k
                above += 1
        if above == 0:
            top = probe
            probe = max((j + top) // 2, probe - 2)
        else:
            j, count = probe, above
            probe = min((j + top + 1) // 2, probe + 2) if few else j + 1
    return int(places[0]), 1


@compiled
def _descend(
    tails: Floats, laws: Floats, places: Integers, j: int, arms: Integers, stream: np.uint64
) -> tuple[int, int]:
    """`_climb` from a level below j that some candidate exceeds, as no candidate exceeds level j."""
    unit, step = 1.0 / (tails.shape[1] - 1), 1
    while j > 0:
        j, step, count = max(0, j - step), 2 * step, 0
        for k in range(arms.size):
            side = exceeds(tails, laws, k, j, j * unit, number_of(stream, arms[k]))
            if side < 0:
                return -1, 0
            if side > 0:
                places[count] = k
                count += 1
        if count > 0:
            return _climb(tails, laws, places, count, j, arms, stream)
    return -1, 0


@compiled
def _exceeding(limit: Integers, steps: Keys, stream: np.uint64, hits: Bytes, packed: Keys, places: Integers) -> int:
    """Write the candidates that may exceed a floor; return how many."""
    for k in range(steps.size):  # without a branch, so that several are compared at once
        hits[k] = bits(stream, steps[k]) >= limit[k]
    count = 0
    for n in range(packed.size):
        if packed[n] != 0:
            for k in range(8 * n, 8 * n + 8):
                places[count] = k
                count += hits[k]
    return count


@inlined
def _stays(limit: Integers, steps: Keys, cut: float, arm: int, stream: np.uint64) -> bool:
    """Whether the candidate that was played last surely exceeds a floor, and no other does.

    The processor guesses that it does, and goes on with its next reward before all numbers have been compared.
    """
    count = 0
    for k in range(steps.size):
        count += bits(stream, steps[k]) >= limit[k]
    return count == 1 and uniform(stream, arm) > cut + 2.0 * CLOSE


@compiled
def _is_sure(cut: Floats, places: Integers, count: int, arms: Integers, stream: np.uint64) -> bool:
    """Whether candidates that may exceed a floor surely do."""
    sure = True
    for n in range(count):
        sure = sure and uniform(stream, arms[places[n]]) > cut[places[n]] + 2.0 * CLOSE
    return sure


@compiled
def _limit_of(cut: float) -> np.int64:
    """From which `bits` on a random number may be above this one."""
    return np.int64(min(_MOST_BITS, max(0.0, cut) * 2.0**63))


@compiled
def _fill_floor(tails: Floats, laws: Floats, level: int, floor: Floats, limit: Integers) -> None:
    """Copy what a floor needs, a row each: above which random number a draw may exceed it, tail, power, and the level.

    The level is in units of each candidate's range.
    """
    share = level / (tails.shape[1] - 1)
    for k in range(laws.shape[0]):
        floor[0, k] = 1.0 - chance_above(tails, laws, k, level, share) - CLOSE
        limit[k] = _limit_of(floor[0, k])
        floor[1, k], floor[2, k] = copied(tails, laws, k, level, share)
        floor[3, k] = laws[k, START] + laws[k, WIDTH] * share


@compiled
def _keep_floor(tails: Floats, laws: Floats, level: int, floor: Floats) -> None:
    """Write back the tails of a floor, which have followed all rewards."""
    for k in range(laws.shape[0]):
        if floor[2, k] > -np.inf and laws[k, SCALE] > 0.0:
            write_back(tails, laws, k, level, floor[1, k], floor[2, k])


@inlined
def _cut_of(laws: Floats, k: int, x: float, value: float) -> float:
    """Above which random number a draw may exceed the level x, with this tail."""
    lower, upper, scale = laws[k, LOWER], laws[k, UPPER], laws[k, SCALE]
    if x <= lower:
        return -1.0
    if x >= upper:
        return 2.0
    if scale > 0.0:
        return float(1.0 - (value - laws[k, ABOVE]) * scale - CLOSE)
    return 1.0 - tail(beta_law(laws[k, A], laws[k, B], lower, upper), x)[0] - CLOSE


@inlined
def _learn(laws: Floats, k: int, won: bool) -> bool:
    """Add a success or a failure to the law of a candidate with bounds; whether its tails have to be computed anew."""
    a, b, lower, upper = laws[k, A], laws[k, B], laws[k, LOWER], laws[k, UPPER]
    at_lower, above, before = laws[k, AT_LOWER], laws[k, ABOVE], laws[k, SCALE]
    if lower > 0.0:
        at_lower, laws[k, LOWER_POWER] = next_tail(at_lower, laws[k, LOWER_POWER], a, b, lower, won)
    if upper < 1.0:
        above, laws[k, UPPER_POWER] = next_tail(above, laws[k, UPPER_POWER], a, b, upper, won)
    scale = scale_between(at_lower, above)
    laws[k, AT_LOWER], laws[k, ABOVE], laws[k, SCALE] = at_lower, above, scale
    return bool((before > 0.0) != (scale > 0.0))


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
def _lead(clipped: Floats) -> tuple[int, float, float]:
    """Place of the largest clipped mean, this mean, and the largest of the others."""
    place, best, rest = 0, clipped[0], -np.inf
    for k in range(1, clipped.size):
        if clipped[k] > best:
            place, best, rest = k, clipped[k], best
        elif clipped[k] > rest:
            rest = clipped[k]
    return place, best, rest


@functools.cache
def play_inverted_for(logged: bool) -> Callable[[Floats, Floats, Block], None]:
    """`textbook.play` for Thompson sampling by inversion, with or without plays from a log or a prior.

    These come on top of the table of a run, which has rewards alone, in a second table that decides.
    """

    @compiled
    def play(plan_table: Floats, parameters: Floats, block: Block) -> None:
        states, rewards, stops = block.states, block.rewards, block.stops
        seed, first_run, first_round = block.seed, block.first_run, block.first_round
        gaps, curves, log_f = block.gaps, block.curves, block.log_f
        plan = plan_of(plan_table)
        low, span, lower, cap, high = plan.low, plan.span, plan.lower, plan.cap, plan.high
        size, kind, law = plan.arm.size, rewards.kind, rewards.parameters
        start, end = lower.max(), cap.max()
        few = size <= FEW
        fine = end - start > _LEAST_WIDTH * scale_of(plan)  # else levels would differ by rounding errors
        levels = levels_for(size, (end - start) / span.max())
        tails, laws = np.empty((size, levels + 1, TAIL_SIZE)), np.empty((size, LAW_SIZE))
        floors = np.zeros((2, 4, size))
        # Views are made here: each one made in the loop would count its array's references.
        upper_floor, lower_floor = floors[0], floors[1]
        cut, value_at, power_at, at = upper_floor[0], upper_floor[1], upper_floor[2], upper_floor[3]
        lower_cut = lower_floor[0]
        limits, hits = np.empty((2, size), np.int64), np.zeros(size + 7 - (size - 1) % 8, np.uint8)
        limit, lower_limit = limits[0], limits[1]
        packed, steps = hits.view(np.uint64), np.empty(size, np.uint64)
        clipped, goals = np.empty(size), np.empty(size)
        places, streams = np.empty(hits.size + 1, np.int64), np.empty(size, np.uint64)
        arms, scratch = plan.arm.astype(np.int64), np.empty((4, size))
        settling = parameters.size > 3 and parameters[3] == 1.0
        able = may_settle(cap, goals)
        settling = settling and able.size > 0
        unit_goals, shares = np.empty(size), np.full(size, -np.inf)  # of log f; minus infinity for who cannot settle
        for k in range(size):
            steps[k], unit_goals[k] = step_to(arms[k]), (goals[k] - low[k]) / span[k]
        for k in able:
            shares[k] = level_of(cap[k], goals[k])
        usual = max(1, int(levels * (1.0 - 1.5 / max(2, size))))  # the floor of a first round
        for run in range(states.shape[0]):
            table = states[run]
            known = with_log(plan_table, table) if logged else table
            own, state = state_of(table), state_of(known)
            plays, total, squares, ones = own.plays, own.total, own.squares, own.ones
            shortfall, shortfall_squares = own.shortfall, own.shortfall_squares
            source, key = reward_key(seed, first_run + run), policy_key(seed, first_run + run)
            rounding = rounding_key(seed, first_run + run)
            for k in range(size):
                fill_law(tails, laws, plan, parameters, state, k, (start, end))
                clipped[k] = clipped_mean(plan, state, k)
                streams[k] = child(source, arms[k])
                power_at[k] = lower_floor[2, k] = -np.inf
            leader, best, rest = _lead(clipped)
            anew = True
            floor, second, misses, until, t, held = usual, -1, 0, first_round, first_round, 0
            for c in range(stops.size):
                while t <= stops[c]:
                    chosen, number = -1, t - 1
                    if settling:
                        budget, first = log_f[t - first_round], arms[leader]
                        allowed = shares[leader] * budget
                        if best <= rest or not (
                            allowed < 0.0
                            or surely_unsettled(state.plays[first], state.total[first], unit_goals[leader], allowed)
                        ):
                            chosen = settled_place(
                                plan, state, parameters[2], budget, able, goals, clipped, best, key, number
                            )
                    if chosen < 0 and not fine:
                        chosen = choose_inverted(plan, parameters, state, number, key)
                    if chosen < 0:
                        if misses >= min(max(_FEWEST_MISSES, 4 * size, t // 16), _MOST_MISSES) or t >= until:
                            _keep_floor(tails, laws, floor, upper_floor)
                            if t >= until:
                                until = t + int(LIFE)
                                for k in range(size):
                                    renew_law(tails, laws, k)
                            floor, second = relevel(tails, laws, floor)
                            usual, anew = floor if anew else usual, False
                            _fill_floor(tails, laws, floor, upper_floor, limit)
                            if second >= 0:
                                _fill_floor(tails, laws, second, lower_floor, lower_limit)
                            misses = 0
                        stream = child(key, number)
                        if few and _stays(limit, steps, cut[held], arms[held], stream):
                            chosen = held
                        else:
                            count = _exceeding(limit, steps, stream, hits, packed, places)
                            sure, from_floor = _is_sure(cut, places, count, arms, stream), floor
                            misses += count != 1
                            if count == 0 and second >= 0:
                                count = _exceeding(lower_limit, steps, stream, hits, packed, places)
                                sure, from_floor = _is_sure(lower_cut, places, count, arms, stream), second
                            if not sure:
                                chosen, count = -1, 0
                            elif count == 1:
                                chosen = places[0]
                            elif count > 1:
                                chosen = largest_by_normal(laws, places, count, arms, stream, scratch)
                                if chosen < 0:
                                    chosen, count = _climb(tails, laws, places, count, from_floor, arms, stream)
                            else:
                                chosen, count = _descend(tails, laws, places, from_floor, arms, stream)
                            if chosen < 0:
                                chosen = _draw_some(plan, parameters, state, places, count, number, key)
                    arm, held = arms[chosen], chosen
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
                    won = reward >= 1.0 or (reward > 0.0 and uniform(rounding, number) < reward)
                    ones[arm] += won
                    if logged:
                        add_log(plan_table, table, known, chosen)
                    if settling:
                        seen = (state.plays[arm], state.total[arm], 0.0, state.shortfall[arm], 0.0)
                        mean = mean_seen(seen, (low[chosen], high[chosen], span[chosen]))
                        value = min(cap[chosen], max(lower[chosen], mean))
                        clipped[chosen] = value
                        if chosen == leader and value <= rest:
                            leader, best, rest = _lead(clipped)
                        elif chosen == leader:
                            best = value
                        elif value > best:
                            leader, best, rest = chosen, value, best
                        else:
                            rest = max(rest, value)  # or less, if this one had it: then `_lead` finds it out
                    if fine:
                        a, b, x = laws[chosen, A], laws[chosen, B], at[chosen]
                        value, power = next_tail(value_at[chosen], power_at[chosen], a, b, x, won)
                        value_at[chosen], power_at[chosen] = value, power
                        if second >= 0:
                            lower_floor[1, chosen], lower_floor[2, chosen] = next_tail(
                                lower_floor[1, chosen], lower_floor[2, chosen], a, b, lower_floor[3, chosen], won
                            )
                        bounded = laws[chosen, LOWER] > 0.0 or laws[chosen, UPPER] < 1.0
                        if bounded and _learn(laws, chosen, won):
                            forget(tails, chosen)
                            misses = _MOST_MISSES
                            power_at[chosen] = lower_floor[2, chosen] = -np.inf
                        laws[chosen, A] = parameters[0] + state.ones[arm]
                        laws[chosen, B] = parameters[1] + (state.plays[arm] - state.ones[arm])
                        cut[chosen] = _cut_of(laws, chosen, x, value)
                        limit[chosen] = _limit_of(cut[chosen])
                        if second >= 0:
                            lower_cut[chosen] = _cut_of(laws, chosen, lower_floor[3, chosen], lower_floor[1, chosen])
                            lower_limit[chosen] = _limit_of(lower_cut[chosen])
                    t += 1
                curves[run, c] = regret(gaps, table)

    return play
