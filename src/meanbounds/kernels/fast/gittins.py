"""The optimistic Gittins index over whole runs: few indices are solved, and an arm that leads is held.

Three facts make this exact; see `meanbounds.kernels.arms.gittins`. The index of an arm that is not played grows with
f(t), and the f at which it reaches a given level is known without solving for anything. So a level that lies between an
index and that of the leader bounds the index from above for a while, and arms below their levels are left alone. The
index of the leader grows with f(t) and with each 1, and falls with each 0. So if it stays above the level of every
other arm after so many more zeros and no ones, the leader is played until that many zeros have come.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.gittins import (
    LAW_SIZE,
    expectation,
    fill_law,
    index_of_law,
    largest_by_mean,
    law_under_hat,
    level_reached_at,
)
from meanbounds.kernels.arms.tables import Plan, State, keep_seen, plan_of, seen_of, state_of
from meanbounds.kernels.arms.textbook import GITTINS, regret
from meanbounds.kernels.arms.thompson import HAT_SHAPE, in_raw_units, posterior_hat
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.search import MARGIN, scale_of
from meanbounds.kernels.fast.stretch import add
from meanbounds.kernels.random.rewards import Rewards, draw
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key, uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["play_gittins"]

_SHARE = 0.5  # of the way from an index to that of the leader: where its level is put
_DOUBT = 1e-6  # relative margin of f
_MOST_ZEROS = 1e9


@compiled
def _solve(plan: Plan, laws: Floats, k: int, f: float) -> float:
    """The index of a candidate, as the textbook computes it."""
    ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
    return in_raw_units(index_of_law(laws[k], f), (0.0, 1.0), ends, bounds)


@compiled
def _look(plan: Plan, laws: Floats, t: int, log_f: float, margin: float, memory: Floats, solved: Integers) -> int:
    """Solve indices until the largest is known, and all within a margin of it; return its place.

    Rows of `memory`: a bound above each index, and the log f up to which it holds. Indices that are solved for round t,
    which `solved` says, are their own bounds.
    """
    ceiling, until = memory[0], memory[1]
    size, f = ceiling.size, exp(log_f)
    for k in range(size):
        if not log_f < until[k]:
            ceiling[k], solved[k] = _solve(plan, laws, k, f), t
    first, exact = 0, False
    while not exact:
        for k in range(size):
            if ceiling[k] > ceiling[first]:
                first = k
        near, exact = ceiling[first] - margin, True
        for k in range(size):
            if ceiling[k] >= near and solved[k] != t:
                ceiling[k], solved[k], exact = _solve(plan, laws, k, f), t, False
    return first


@compiled
def _put_levels(plan: Plan, laws: Floats, t: int, leader: int, memory: Floats, solved: Integers) -> tuple[float, float]:
    """Put a level between the leader and each index that was solved; return the largest level, and how long it holds.

    The levels of arms that were not solved stand.
    """
    ceiling, until = memory[0], memory[1]
    largest, wake = -np.inf, np.inf
    for k in range(ceiling.size):
        if k == leader:
            continue
        if solved[k] == t:
            ceiling[k] += _SHARE * (ceiling[leader] - ceiling[k])
            f = level_reached_at(laws[k], (ceiling[k] - plan.low[k]) / plan.span[k])
            until[k] = log(f) - _DOUBT if f > 0.0 else -np.inf
        largest, wake = max(largest, ceiling[k]), min(wake, until[k])
    return largest, wake


@compiled
def _zeros(law: Floats, index: float, level: float, f: float, trial: Floats) -> float:
    """How many zeros in a row leave the index of a law above a level, or somewhat fewer; all in units of the range."""
    a, b, lower, upper = law[0], law[1], law[2], law[3]
    if level <= lower:
        return _MOST_ZEROS
    zeros = np.floor(min(_MOST_ZEROS, 0.8 * (a + b) * (index - level) / level))
    while zeros >= 1.0:
        fill_law(trial, a, b + zeros, lower, upper)
        if level_reached_at(trial, level) <= (1.0 - _DOUBT) * f:
            return float(zeros)
        zeros = np.floor(0.5 * zeros)
    return 0.0


@compiled
def _tied(plan: Plan, laws: Floats, t: int, near: float, memory: Floats, solved: Integers, key: np.uint64) -> int:
    """Choose among indices that are solved and close to each other, as the textbook does."""
    size = solved.size
    scores, means = np.full(size, -np.inf), np.zeros(size)
    for k in range(size):
        if solved[k] == t and memory[0, k] >= near:
            ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
            scores[k], means[k] = memory[0, k], in_raw_units(expectation(laws[k]), (0.0, 1.0), ends, bounds)
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
) -> int:
    """Play an arm in round t, and again until log f reaches `wake` or more than so many zeros have come."""
    stream, rounding = keys
    seen, ones = seen_of(state, arm), state.ones[arm]
    while True:
        reward = draw(rewards, arm, stream, int(seen[0]))
        if uniform(rounding, t - 1) < reward:
            ones += 1.0
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
    size, margin = plan.arm.size, MARGIN * scale_of(plan)
    hat, trial, laws = np.empty(HAT_SHAPE), np.empty(LAW_SIZE), np.empty((size, LAW_SIZE))
    memory, solved = np.full((2, size), -np.inf), np.full(size, -1, np.int64)
    for k in range(size):
        posterior_hat(hat, plan, parameters, state, k, -np.inf)
        law_under_hat(laws[k], hat)
    t = first_round
    for c in range(stops.size):
        while t <= stops[c]:
            budget = log_f[t - first_round]
            chosen = _look(plan, laws, t, budget, margin, memory, solved)
            best, near = memory[0, chosen], memory[0, chosen] - margin
            close = 0
            for k in range(size):
                close += memory[0, k] >= near
            zeros, wake = 0.0, -np.inf
            if close > 1:
                chosen = _tied(plan, laws, t, near, memory, solved, key)
            else:
                level, wake = _put_levels(plan, laws, t, chosen, memory, solved)
                low, span = plan.low[chosen], plan.span[chosen]
                index, unit_level = (best - low) / span, (level + margin - low) / span
                zeros = _zeros(laws[chosen], index, unit_level, exp(budget), trial)
            arm = int(plan.arm[chosen])
            streams = child(source, arm), rounding
            t = _hold(state, rewards, arm, streams, t, stops[c], log_f, first_round, wake, zeros)
            posterior_hat(hat, plan, parameters, state, chosen, -np.inf)
            law_under_hat(laws[chosen], hat)
            memory[1, chosen], solved[chosen] = -np.inf, -1
        curve[c] = regret(gaps, table)


@compiled
def play_gittins(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for the optimistic Gittins index; with two moments of the rewards it is the textbook's loop."""
    if parameters[2] == 2.0:
        textbook.play(GITTINS, plan_table, parameters, block)
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
