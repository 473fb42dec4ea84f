"""The optimistic Gittins index over whole runs: few indices are solved, and an arm that leads is held.

Each candidate has an anchor: a level near its index at which its law is known and follows its rewards, see `anchor`.
From there an index costs as much as a few dozen multiplications. As a function of f(t) it is concave, so a tangent
bounds the index of an arm that is not played. All arms whose lines lie below the best index are left alone. The leader
is played until its index falls below a level between it and the lines of the others, or until a line may reach the
level; each reward costs one comparison there. Indices that are closer than their errors allow to tell, ties above all,
are solved and compared as the textbook does.
"""

from __future__ import annotations

from math import exp

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.gittins import (
    LAW_SIZE,
    PRECISION,
    expectation,
    fill_law,
    index_of_law,
    largest_by_mean,
    law_under_hat,
    mass_of_law,
    tail_of_law,
)
from meanbounds.kernels.arms.logged import add_log, with_log
from meanbounds.kernels.arms.quantile import FRACTION_TO
from meanbounds.kernels.arms.tables import Plan, Seen, State, keep_seen, plan_of, seen_of, state_of
from meanbounds.kernels.arms.textbook import GITTINS, LOGGED, regret
from meanbounds.kernels.arms.textbook import play as play_textbook
from meanbounds.kernels.arms.thompson import (
    FARTHER,
    HAT_SHAPE,
    in_raw_units,
    offered_floor,
    posterior_hat,
    takes_shared_floor,
)
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.anchor import (
    ANCHOR_SIZE,
    DRIFT,
    LEVEL,
    LOWER,
    MASS,
    MOST_TERMS,
    UPPER,
    A,
    B,
    drop,
    drop_quickly,
    follow,
    followed,
    keep_followed,
    move,
    near_index,
    spread,
    surely_reaches,
)
from meanbounds.kernels.fast.search import scale_of
from meanbounds.kernels.fast.stretch import add
from meanbounds.kernels.random.rewards import UNIFORM, Rewards, draw, draw_simple, law_of
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key, uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["play_gittins", "play_logged_gittins"]

_MARGIN = 1e-8  # between indices, in units of the range of rewards; within it the textbook's precision decides
_LIMIT = 4e-9  # how far an index from an anchor may be off, in units of the range
_ROUGHLY = 1e-6  # precision of an index at which an anchor is put
_LARGEST = 50.0  # log f up to which the textbook's own search surely ends before it runs out of steps
_AGED = 1.5  # growth of f after which a line is drawn anew: an old one is steeper than it need be, and ends holds early
_NEAR = 0.6  # how far below the leader's index its level is put at most, in standard deviations

_INDEX, _INTERCEPT, _SLOPE, _AT, _BASE, _SCALE, _STALE = range(7)
_LINE_SIZE = 7
# Rows of `lines`, a column for each candidate. In raw units: the index in the round with f(t) = `_AT`, and a line above
# the indices of all later rounds. Then where 0 and how long 1 is in raw units, in the units of the candidate's law, and
# 1 where the anchor does not stand for what was seen.

_KNOWN = (1, 2, 3, 4, 6)  # rows of a plan that an index depends on: range and bounds
_SEEN = (0, 1, 2, 5, 6)  # rows of a state that it depends on with two moments; with one: plays and ones, 0 and 3


@compiled
def _index_anew(
    anchors: Floats,
    k: int,
    parameters: tuple[float, float],
    bounds: tuple[float, float],
    f: float,
    guess: float,
    series: Floats,
) -> tuple[float, float]:
    """Index and slope of a law; the anchor is put near the index. If the index cannot be had from there, it is solved.

    Then the last entry of the anchor, a bound on errors, becomes infinite.
    """
    lower, upper = bounds
    if lower < guess < upper and parameters[0] + parameters[1] < FRACTION_TO:
        drop_quickly(anchors, k, parameters, bounds, guess)
        index, doubt, slope = near_index(anchors, k, f, series)
        if doubt <= _LIMIT:
            return index, slope
    law = np.empty(LAW_SIZE)
    fill_law(law, parameters[0], parameters[1], lower, upper)
    if not mass_of_law(law) > 0.0:
        anchors[k, MASS], anchors[k, DRIFT] = 0.0, np.inf
        return expectation(law), 0.0
    solved = guess if lower < guess < upper else index_of_law(law, f, _ROUGHLY)
    for _ in range(2):
        if lower < solved < upper:
            drop(anchors, k, law, solved)
            index, doubt, slope = near_index(anchors, k, f, series)
            if doubt <= _LIMIT:
                return index, slope
        solved = index_of_law(law, f, _ROUGHLY)
    anchors[k, DRIFT] = np.inf
    chance, gain = tail_of_law(law, solved)
    return solved, 1.001 * gain / (f * chance + 1.0)


@compiled
def _draw_line(lines: Floats, k: int, f: float, value: float, slope: float) -> None:
    """Write an index and the line above it, in raw units."""
    lines[_INDEX, k], lines[_INTERCEPT, k], lines[_SLOPE, k], lines[_AT, k] = value, value - slope * f, slope, f


@compiled
def _renew(
    plan_table: Floats,
    parameters: Floats,
    table: Floats,
    k: int,
    f: float,
    shared: float,
    guess: float,
    anchors: Floats,
    lines: Floats,
    series: Floats,
) -> None:
    """Compute a candidate's law, anchor, index and line anew; `guess` is about where the index is in raw units."""
    plan, state, hat = plan_of(plan_table), state_of(table), np.empty(HAT_SHAPE)
    low, span, high = plan.low[k], plan.span[k], plan.high[k]
    floor = posterior_hat(hat, plan, parameters, state, k, shared)
    base, scale = low + span * floor[0], span * floor[1]
    near = (guess - base) / scale if scale > 0.0 else -1.0
    pair, bounds = (hat[3, 3] + 1.0, hat[3, 4] + 1.0), (hat[3, 0], hat[3, 1])
    index, slope = _index_anew(anchors, k, pair, bounds, f, near, series)
    lines[_BASE, k], lines[_SCALE, k], lines[_STALE, k] = base, scale, 0.0
    value = in_raw_units(index, floor, (low, span, high), (plan.lower[k], plan.cap[k]))
    _draw_line(lines, k, f, value, scale * slope)


@compiled
def _refresh(
    plan_table: Floats,
    parameters: Floats,
    table: Floats,
    k: int,
    f: float,
    shared: float,
    anchors: Floats,
    lines: Floats,
    series: Floats,
) -> None:
    """Bring a candidate's index and line up to date, from its anchor if that is possible."""
    guess = lines[_INDEX, k]
    if lines[_STALE, k] == 0.0:
        index, doubt, slope = near_index(anchors, k, f, series)
        guess, scale = lines[_BASE, k] + lines[_SCALE, k] * index, lines[_SCALE, k]
        if doubt <= _LIMIT:
            _draw_line(lines, k, f, guess, scale * slope)
            return
    _renew(plan_table, parameters, table, k, f, shared, guess, anchors, lines, series)


@compiled
def _alike(plan_table: Floats, parameters: Floats, table: Floats, k: int, other: int) -> bool:
    """Whether two candidates have the same index, bit by bit, since what is known and was seen of them is the same."""
    arm, other_arm, same = int(plan_table[0, k]), int(plan_table[0, other]), True
    for row in _KNOWN:
        same = same and plan_table[row, k] == plan_table[row, other]
    if parameters[2] == 1.0:
        return bool(same and table[0, arm] == table[0, other_arm] and table[3, arm] == table[3, other_arm])
    for row in _SEEN:
        same = same and table[row, arm] == table[row, other_arm]
    return same


@compiled
def _first(lines: Floats, f: float) -> int:
    """The candidate whose line is highest."""
    place, best = 0, -np.inf
    for k in range(lines.shape[1]):
        value = lines[_INTERCEPT, k] + lines[_SLOPE, k] * f
        if value > best:
            place, best = k, value
    return place


@compiled
def _look(
    plan_table: Floats,
    parameters: Floats,
    table: Floats,
    f: float,
    shared: float,
    margin: float,
    anchors: Floats,
    lines: Floats,
    series: Floats,
) -> tuple[int, float, float]:
    """The leader, what no other index exceeds, and the steepest of all lines.

    Indices of all that are near the leader are up to date.
    """
    leader = _first(lines, f)
    if lines[_AT, leader] != f:
        _refresh(plan_table, parameters, table, leader, f, shared, anchors, lines, series)
    best, start, last = lines[_INDEX, leader], leader, leader
    second, steepest = -np.inf, 0.0
    for k in range(lines.shape[1]):
        value, slope = lines[_INTERCEPT, k] + lines[_SLOPE, k] * f, lines[_SLOPE, k]
        if (value >= best - margin or f > _AGED * lines[_AT, k]) and k != start:
            if lines[_AT, k] != f:
                if _alike(plan_table, parameters, table, k, last):
                    anchors[k] = anchors[last]
                    for row in range(lines.shape[0]):
                        lines[row, k] = lines[row, last]
                else:
                    _refresh(plan_table, parameters, table, k, f, shared, anchors, lines, series)
            last, value, slope = k, lines[_INDEX, k], lines[_SLOPE, k]
            if value > best:
                leader, best, value = k, value, best
        if k != start:
            second = max(second, value)
        steepest = max(steepest, slope)
    return leader, second, steepest


@compiled
def _decide(
    plan_table: Floats,
    parameters: Floats,
    table: Floats,
    t: int,
    log_f: float,
    shared: float,
    margin: float,
    leader: int,
    key: np.uint64,
    lines: Floats,
) -> int:
    """Choose as the textbook does among the candidates within a margin of the leader, which are up to date."""
    plan, state, hat, law = plan_of(plan_table), state_of(table), np.empty(HAT_SHAPE), np.empty(LAW_SIZE)
    size, best, now = plan.arm.size, lines[_INDEX, leader], lines[_AT, leader]
    scores, means, all_alike = np.full(size, -np.inf), np.zeros(size), True
    for k in range(size):
        if lines[_AT, k] == now and lines[_INDEX, k] >= best - margin:
            scores[k] = 0.0
            all_alike = all_alike and _alike(plan_table, parameters, table, k, leader)
    if not all_alike:
        for k in range(size):
            if scores[k] == 0.0:
                floor = posterior_hat(hat, plan, parameters, state, k, shared)
                law_under_hat(law, hat)
                ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
                scores[k] = in_raw_units(index_of_law(law, exp(log_f), PRECISION), floor, ends, bounds)
                means[k] = in_raw_units(expectation(law), floor, ends, bounds)
    return largest_by_mean(scores, means, key, t - 1)


@compiled
def _put_level(k: int, second: float, anchors: Floats, lines: Floats, series: Floats) -> float:
    """Put the leader's anchor between its index and the others, and return the level in raw units."""
    base, scale, index = lines[_BASE, k], lines[_SCALE, k], lines[_INDEX, k]
    here, gap = base + scale * anchors[k, LEVEL], index - second
    if not second + 0.25 * gap <= here <= second + 0.75 * gap:
        lower = anchors[k, LOWER]
        level = (max(second + 0.5 * gap, index - scale * _NEAR * spread(anchors, k)) - base) / scale
        level = max(level, lower + 0.05 * ((index - base) / scale - lower))
        if not move(anchors, k, level, series):
            law = np.empty(LAW_SIZE)
            fill_law(law, anchors[k, A], anchors[k, B], lower, anchors[k, UPPER])
            drop(anchors, k, law, level)
        here = base + scale * level
    return float(here)


@compiled
def _play_once(state: State, rewards: Rewards, arm: int, keys: tuple[np.uint64, np.uint64], t: int) -> None:
    """Play an arm in round t."""
    stream, rounding = keys
    seen = seen_of(state, arm)
    reward = draw(rewards, arm, stream, int(seen[0]))
    keep_seen(state, arm, add(seen, reward), True)
    state.ones[arm] += uniform(rounding, t - 1) < reward


@compiled
def _hold(
    state: State,
    rewards: Rewards,
    arm: int,
    keys: tuple[np.uint64, np.uint64],
    t: int,
    stop: int,
    fs: Floats,
    first_round: int,
    wake: float,
    anchors: Floats,
    k: int,
    whole: bool,
) -> tuple[int, bool]:
    """Play an arm in round t, and again until f reaches `wake` or the arm's index may be below its level.

    Returns the next round, and whether the anchor stands for what was seen: not if rewards should be `whole`, that is 0
    or 1, and the last one was not.
    """
    stream, rounding = keys
    kind = rewards.kind
    law = law_of(kind, rewards.parameters, arm) if kind <= UNIFORM else (kind, 0.0, 0.0, 0.0)
    seen, ones, numbers = seen_of(state, arm), state.ones[arm], followed(anchors, k)
    level = anchors[k, LEVEL]
    places = anchors[k, LOWER], anchors[k, UPPER], level
    while True:
        pull = int(seen[0])
        reward = draw_simple(law, stream, pull) if kind <= UNIFORM else draw(rewards, arm, stream, pull)
        won = reward >= 1.0 or (reward > 0.0 and uniform(rounding, t - 1) < reward)
        ones += won
        seen, numbers = add(seen, reward), follow(numbers, places, won)
        t += 1
        follows = not (whole and 0.0 < reward < 1.0)
        if t > stop or not follows:
            break
        f = fs[t - first_round]
        if not (f < wake and surely_reaches(numbers, level, f)):
            break
    keep_seen(state, arm, seen, True)
    state.ones[arm] = ones
    keep_followed(anchors, k, numbers)
    return t, follows


@compiled
def _is_graded(state: State, arm: int) -> bool:
    """Whether rewards were not all 0 or 1, with a 0 among them: then two moments count them as one does."""
    lack = state.shortfall[arm]
    return bool(state.total[arm] != state.squares[arm] or lack != state.shortfall_squares[arm] or not lack > 0.0)


@compiled
def _least_expectation(seen: Seen, prior: tuple[float, float], upper: float) -> float:
    """A bound below the expectation of a mean with two moments, whatever its lower bound; minus infinity if none.

    Without bounds the expectation is ``(a + total + b floor) / n``, n the sum of prior parameters and plays, and the
    chance of more than s above it is at most ``exp(-2 (n + 1) s^2)`` (Marchal and Arbel, 2017).
    """
    n = prior[0] + prior[1] + seen[0]
    least, room = (prior[0] + seen[1]) / n, upper - (prior[0] + prior[1] + seen[1]) / n
    if upper >= 1.0:
        return least
    chance = exp(-2.0 * (n + 1.0) * room * room) if room > 0.0 else 1.0
    return least - chance / (1.0 - chance) if chance < 0.5 else -np.inf


@compiled
def _least_room(plan: Plan, parameters: Floats, state: State, k: int, shared: float) -> float:
    """At which room of candidate k its floor surely changes no other law; infinity if the shared floor does."""
    lowest = np.inf
    for j in range(plan.arm.size):
        if j != k and takes_shared_floor(parameters, state, int(plan.arm[j])):
            lowest = min(lowest, plan.low[j])
    if lowest == np.inf:
        return 0.0
    return (plan.high[k] - lowest) / plan.span[k] / FARTHER if shared <= lowest else np.inf


@compiled
def _hold_by_mean(
    state: State,
    rewards: Rewards,
    arm: int,
    keys: tuple[np.uint64, np.uint64],
    t: int,
    stop: int,
    fs: Floats,
    first_round: int,
    wake: float,
    prior: tuple[float, float],
    upper: float,
    level: float,
    room: float,
) -> int:
    """Play an arm in round t, and again until f reaches `wake` or the mean's expectation may be below a level.

    Also until its floor may change the law of another arm: see `_least_room`. All in units of the range.
    """
    stream, rounding = keys
    seen, ones = seen_of(state, arm), state.ones[arm]
    while True:
        reward = draw(rewards, arm, stream, int(seen[0]))
        ones += uniform(rounding, t - 1) < reward
        seen = add(seen, reward)
        t += 1
        if t > stop or not (fs[t - first_round] < wake and seen[4] >= room * seen[3]):
            break
        if not _least_expectation(seen, prior, upper) >= level:
            break
    keep_seen(state, arm, seen, True)
    state.ones[arm] = ones
    return t


@compiled
def _play_graded(
    plan_table: Floats,
    parameters: Floats,
    table: Floats,
    rewards: Rewards,
    k: int,
    keys: tuple[np.uint64, np.uint64],
    t: int,
    stop: int,
    fs: Floats,
    first_round: int,
    second: float,
    steepest: float,
    margin: float,
    shared: float,
) -> int:
    """Play the leader for as long as the expectation of its mean is above the lines of the others, or once."""
    plan, state, arm = plan_of(plan_table), state_of(table), int(plan_table[0, k])
    low, span, prior = plan.low[k], plan.span[k], (parameters[0], parameters[1])
    upper = (plan.cap[k] - low) / span
    above = low + span * _least_expectation(seen_of(state, arm), prior, upper) - second
    wake, level, room = -np.inf, 0.0, 0.0
    if above > 4.0 * margin:
        room = _least_room(plan, parameters, state, k, shared)
        level = (second + 0.5 * above - low) / span
        if room < np.inf:
            wake = fs[t - first_round] + (0.5 * above - margin) / steepest if steepest > 0.0 else np.inf
    return _hold_by_mean(state, rewards, arm, keys, t, stop, fs, first_round, wake, prior, upper, level, room)


@compiled
def _share(
    plan_table: Floats, parameters: Floats, table: Floats, k: int, shared: float, offered: Floats, lines: Floats
) -> float:
    """The floor of candidates whose rewards do not say one, after candidate k was played; mark those that it moves."""
    plan, state = plan_of(plan_table), state_of(table)
    offered[k] = offered_floor(plan, state, k)
    now = offered.max()
    if now != shared:
        for j in range(offered.size):
            if takes_shared_floor(parameters, state, int(plan.arm[j])) and max(now, shared) > plan.low[j]:
                lines[_INTERCEPT, j], lines[_AT, j], lines[_STALE, j] = np.inf, 0.0, 1.0
    return float(now)


@compiled
def _play_run(
    plan_table: Floats,
    parameters: Floats,
    table: Floats,
    known: Floats,
    rewards: Rewards,
    keys: tuple[np.uint64, np.uint64, np.uint64],
    first_round: int,
    log_f: Floats,
    fs: Floats,
    stops: Integers,
    gaps: Floats,
    curve: Floats,
    anchors: Floats,
    lines: Floats,
    logged: bool,
) -> None:
    """Play one run; `anchors` and `lines` are those of arms that were not played.

    `table` has rewards alone. Decisions are made from `known`: the same table, or one in which the plays of a log or of
    a prior come on top.
    """
    plan, state, series = plan_of(plan_table), state_of(table), np.empty(MOST_TERMS)
    source, key, rounding = keys
    arms, span, size, margin = plan.arm, plan.span, plan.arm.size, _MARGIN * scale_of(plan)
    two_moments, offered, shared = parameters[2] == 2.0, np.full(plan.arm.size, -np.inf), -np.inf
    for k in range(size):
        if two_moments:
            offered[k] = offered_floor(plan, state, k)
            shared = max(shared, offered[k])
        if state.plays[int(arms[k])] > 0.0:
            lines[_STALE, k] = 1.0
    if shared > -np.inf:
        lines[_STALE] = 1.0
    t, last = first_round, stops[stops.size - 1]
    for c in range(stops.size):
        while t <= stops[c]:
            f, wake = fs[t - first_round], -np.inf
            k, second, steepest = _look(plan_table, parameters, known, f, shared, margin, anchors, lines, series)
            index = lines[_INDEX, k]
            second = max(second, index - span[k])
            if not index > second + margin:
                budget = log_f[t - first_round]
                k = _decide(plan_table, parameters, known, t, budget, shared, margin, k, key, lines)
            arm = int(arms[k])
            follows = anchors[k, DRIFT] < 1.0 and not (two_moments and _is_graded(state, arm))
            if follows and index > second + 4.0 * margin:
                level = _put_level(k, second, anchors, lines, series)
                wake = f + (level - margin - second) / steepest if steepest > 0.0 else np.inf
            streams = child(source, arm), rounding
            if follows:
                t, follows = _hold(
                    state, rewards, arm, streams, t, stops[c], fs, first_round, wake, anchors, k, two_moments
                )
            elif two_moments and index > second + 4.0 * margin:
                t = _play_graded(
                    plan_table,
                    parameters,
                    table,
                    rewards,
                    k,
                    streams,
                    t,
                    stops[c],
                    fs,
                    first_round,
                    second,
                    steepest,
                    margin,
                    shared,
                )
            else:
                _play_once(state, rewards, arm, streams, t)
                t += 1
            if not follows:
                lines[_STALE, k] = 1.0
                if two_moments:
                    shared = _share(plan_table, parameters, table, k, shared, offered, lines)
            if logged:
                add_log(plan_table, table, known, k)
            if t <= last:
                _refresh(plan_table, parameters, known, k, fs[t - first_round], shared, anchors, lines, series)
        curve[c] = regret(gaps, table)


@compiled
def _play(plan_table: Floats, parameters: Floats, block: Block, logged: bool) -> None:
    """Play all runs; the plays of a log or of a prior are in the last rows of the plan, if there are any."""
    log_f = block.log_f
    size = plan_of(plan_table).arm.size
    fs, series, nothing = np.empty(log_f.size), np.empty(MOST_TERMS), np.zeros_like(block.states[0])
    for i in range(log_f.size):
        fs[i] = exp(log_f[i])
    anchors, lines = np.zeros((size, ANCHOR_SIZE)), np.zeros((_LINE_SIZE, size))
    start = with_log(plan_table, nothing) if logged else nothing
    for k in range(size):
        _renew(plan_table, parameters, start, k, fs[0], -np.inf, -np.inf, anchors, lines, series)
    lines[_INTERCEPT], lines[_AT] = np.inf, 0.0
    for run in range(block.states.shape[0]):
        number, table = block.first_run + run, block.states[run]
        keys = reward_key(block.seed, number), policy_key(block.seed, number), rounding_key(block.seed, number)
        _play_run(
            plan_table,
            parameters,
            table,
            with_log(plan_table, table) if logged else table,
            block.rewards,
            keys,
            block.first_round,
            log_f,
            fs,
            block.stops,
            block.gaps,
            block.curves[run],
            anchors.copy(),
            lines.copy(),
            logged,
        )


def _too_large(log_f: Floats) -> bool:
    return log_f.size == 0 or bool(log_f[-1] > _LARGEST)


def play_gittins(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for the optimistic Gittins index."""
    if _too_large(block.log_f):
        play_textbook(GITTINS, plan_table, parameters, block)
    else:
        _play(plan_table, parameters, block, False)


def play_logged_gittins(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """The same with plays from a log or a prior.

    By the textbook where a posterior may have a parameter below 1, so that its density is not log-concave, and with two
    moments, where prior and rewards have no units in common that an anchor could follow.
    """
    weak = parameters[0] + plan_table[-2:].min() < 1.0
    if weak or parameters[2] == 2.0 or _too_large(block.log_f):
        play_textbook(GITTINS + LOGGED, plan_table, parameters, block)
    else:
        _play(plan_table, parameters, block, True)
