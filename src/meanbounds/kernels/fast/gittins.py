"""The optimistic Gittins index over whole runs: few indices are solved, and an arm that leads is held.

Three facts make this exact; see `meanbounds.kernels.arms.gittins`. The index of an arm that is not played grows with
f(t), and the f at which it reaches a given level is known without solving for anything. So a level that lies between an
index and that of the leader bounds the index from above for a while, and arms below their levels are left alone. The
index of the leader grows with f(t) and with each 1, and falls with each 0. So if it stays above a level L after so
many more zeros and no ones, the leader is played until that many zeros have come. Each 1 that comes in between pays for
(1 - L) / L zeros more: docs/gittins.md has the proof.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.divergence import kl, kl_upper
from meanbounds.kernels.arms.gittins import (
    LAW_SIZE,
    PRECISION,
    expectation,
    fill_law,
    index_of_law,
    largest_by_mean,
    law_under_hat,
    level_reached_at,
)
from meanbounds.kernels.arms.tables import Plan, State, keep_seen, plan_of, seen_of, state_of
from meanbounds.kernels.arms.textbook import GITTINS, play_for, regret
from meanbounds.kernels.arms.thompson import HAT_SHAPE, in_raw_units, posterior_hat
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.search import SURE, scale_of
from meanbounds.kernels.fast.stretch import add
from meanbounds.kernels.random.rewards import Rewards, draw
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key, uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["play_gittins"]

_SHARE = 0.5  # of the way from an index to that of the leader: where its level is put
_DOUBT = 1e-6  # relative margin of f
_MARGIN = 1e-6  # between indices, in units of the range of rewards; within it the textbook's precision decides
_MOST_ZEROS = 1e9
_play_textbook = play_for(GITTINS)
_ROUGHLY = 1e-4  # precision of indices that are not compared with others within a margin


@compiled
def _solve(plan: Plan, laws: Floats, k: int, f: float, precision: float) -> float:
    """The index of a candidate; with the textbook's precision it is the textbook's, bit by bit."""
    ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
    return in_raw_units(index_of_law(laws[k], f, precision), (0.0, 1.0), ends, bounds)


@compiled
def _keep_index(plan: Plan, laws: Floats, k: int, f: float, memory: Floats) -> None:
    """Solve the index of a candidate, and keep also by how much it exceeds the expectation: that changes slowly."""
    memory[0, k] = _solve(plan, laws, k, f, _ROUGHLY)
    memory[3, k] = (memory[0, k] - plan.low[k]) / plan.span[k] - expectation(laws[k])


@compiled
def _put_level(plan: Plan, laws: Floats, k: int, index: float, leader: float, memory: Floats, log_f: float) -> bool:
    """Put a level between a candidate's index, which need not be precise, and the leader's; say whether it holds now.

    Rows of `memory`: bounds below and above each index, and the log f up to which the one above holds. The one below
    holds until the candidate is played. The last row is that of `_keep_index`.
    """
    level = index + _SHARE * (leader - index)
    f = level_reached_at(laws[k], (level - plan.low[k]) / plan.span[k])
    until = log(f) - _DOUBT if f > 0.0 else -np.inf
    holds = log_f < until
    if holds:
        memory[1, k], memory[2, k] = level, until
    return holds


@compiled
def _look(
    plan: Plan, laws: Floats, t: int, log_f: float, margin: float, memory: Floats, solved: Integers
) -> tuple[int, bool]:
    """Find the leader, and whether it leads by more than a margin: then all others are below their levels.

    Few indices are solved, and `solved` says for which round: it is enough to know that one is above the levels of the
    others.
    """
    below, above, until = memory[0], memory[1], memory[2]
    size, f, leader, k = below.size, exp(log_f), 0, 0
    for other in range(1, size):
        if below[other] > below[leader]:
            leader = other
    while k < size:
        if k == leader or (log_f < until[k] and above[k] < below[leader] - margin):
            k += 1
            continue
        if solved[k] != t:
            index = plan.low[k] + plan.span[k] * (expectation(laws[k]) + memory[3, k])
            if index < below[leader] - margin and _put_level(plan, laws, k, index, below[leader], memory, log_f):
                k += 1
                continue
            _keep_index(plan, laws, k, f, memory)
            solved[k] = t
        if below[k] > below[leader]:
            leader, k = k, 0  # the others have to be below this one
        elif below[k] < below[leader] - 4.0 * margin and _put_level(
            plan, laws, k, below[k], below[leader], memory, log_f
        ):
            k += 1
        elif solved[leader] != t:
            _keep_index(plan, laws, leader, f, memory)
            solved[leader] = t
        else:
            return leader, False
    if below[leader] == -np.inf:
        _keep_index(plan, laws, leader, f, memory)
        solved[leader] = t
    return leader, True


@compiled
def _zeros(law: Floats, index: float, level: float, f: float, trial: Floats) -> tuple[float, float]:
    """How many zeros leave the index of a law above a level, or somewhat fewer, and how many more each 1 pays for.

    All in units of the range; the leader's `index` need not be precise. A 1 pays for zeros if the index stays above the
    level even where means that are farther from the level than the lower bound is, in divergence, are excluded.
    """
    a, b, lower, upper = law[0], law[1], law[2], law[3]
    if level <= lower:
        return _MOST_ZEROS, 0.0
    nearer = min(upper, kl_upper(level, SURE * kl(level, lower)))
    zeros = np.floor(min(_MOST_ZEROS, 0.8 * (a + b) * (index - level) / level))
    while zeros > 0.0:
        fill_law(trial, a, b + zeros, lower, nearer)
        if level_reached_at(trial, level) <= (1.0 - _DOUBT) * f:
            return zeros, (1.0 - level) / level
        if nearer < upper:
            fill_law(trial, a, b + zeros, lower, upper)
            if level_reached_at(trial, level) <= (1.0 - _DOUBT) * f:
                return zeros, 0.0
        zeros = np.floor(0.5 * zeros)
    return 0.0, 0.0


@compiled
def _decide(plan: Plan, laws: Floats, t: int, f: float, key: np.uint64) -> int:
    """Solve all indices and choose as the textbook does."""
    size = plan.arm.size
    scores, means = np.empty(size), np.empty(size)
    for k in range(size):
        ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
        scores[k] = _solve(plan, laws, k, f, PRECISION)
        means[k] = in_raw_units(expectation(laws[k]), (0.0, 1.0), ends, bounds)
    return largest_by_mean(scores, means, key, t - 1)


@compiled
def _hold(
    state: State,
    rewards: Rewards,
    arm: int,
    keys: tuple[np.uint64, np.uint64],
    t: int,
    stop: int,
    log_f: Floats,
    first_round: int,
    wake: float,
    zeros: float,
    more: float,
) -> int:
    """Play an arm in round t, and again until log f reaches `wake` or more zeros have come than `_zeros` allows."""
    stream, rounding = keys
    seen, ones = seen_of(state, arm), state.ones[arm]
    while True:
        reward = draw(rewards, arm, stream, int(seen[0]))
        if uniform(rounding, t - 1) < reward:
            ones += 1.0
            zeros += more
        else:
            zeros -= 1.0
        seen = add(seen, reward)
        t += 1
        if t > stop or zeros < 0.0 or not log_f[t - first_round] < wake:
            break
    keep_seen(state, arm, seen, True)
    state.ones[arm] = ones
    return t


@compiled
def _play_run(
    plan_table: Floats,
    parameters: Floats,
    table: Floats,
    rewards: Rewards,
    keys: tuple[np.uint64, np.uint64, np.uint64],
    first_round: int,
    log_f: Floats,
    stops: Integers,
    gaps: Floats,
    curve: Floats,
) -> None:
    plan, state = plan_of(plan_table), state_of(table)
    source, key, rounding = keys
    size, margin = plan.arm.size, _MARGIN * scale_of(plan)
    hat, trial, laws = np.empty(HAT_SHAPE), np.empty(LAW_SIZE), np.empty((size, LAW_SIZE))
    memory, solved = np.full((4, size), -np.inf), np.full(size, -1, np.int64)
    memory[3] = np.inf
    for k in range(size):
        posterior_hat(hat, plan, parameters, state, k, -np.inf)
        law_under_hat(laws[k], hat)
    t = first_round
    for c in range(stops.size):
        while t <= stops[c]:
            budget = log_f[t - first_round]
            f, zeros, more, wake = exp(budget), 0.0, 0.0, -np.inf
            chosen, ahead = _look(plan, laws, t, budget, margin, memory, solved)
            if ahead:
                level, wake = -np.inf, np.inf
                for k in range(size):
                    if k != chosen:
                        level, wake = max(level, memory[1, k]), min(wake, memory[2, k])
                low, span = plan.low[chosen], plan.span[chosen]
                unit_index, unit_level = (memory[0, chosen] - low) / span, (level + margin - low) / span
                zeros, more = _zeros(laws[chosen], unit_index, unit_level, f, trial)
            else:
                chosen = _decide(plan, laws, t, f, key)
            arm = int(plan.arm[chosen])
            streams = child(source, arm), rounding
            t = _hold(state, rewards, arm, streams, t, stops[c], log_f, first_round, wake, zeros, more)
            posterior_hat(hat, plan, parameters, state, chosen, -np.inf)
            law_under_hat(laws[chosen], hat)
            memory[0, chosen], memory[2, chosen] = -np.inf, -np.inf
        curve[c] = regret(gaps, table)


@compiled
def play_gittins(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for the optimistic Gittins index; with two moments of the rewards it is the textbook's loop."""
    if parameters[2] == 2.0:
        _play_textbook(plan_table, parameters, block)
        return
    for run in range(block.states.shape[0]):
        number = block.first_run + run
        keys = reward_key(block.seed, number), policy_key(block.seed, number), rounding_key(block.seed, number)
        _play_run(
            plan_table,
            parameters,
            block.states[run],
            block.rewards,
            keys,
            block.first_round,
            block.log_f,
            block.stops,
            block.gaps,
            block.curves[run],
        )
