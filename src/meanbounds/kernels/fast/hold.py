"""The loop that all held policies share: look at all candidates, then play one for as long as it surely leads.

Each candidate has a line, ``intercept + slope * x``. Clipped at the cap it is the index of UCB (x = sqrt(log f)) or
lies above that of KL-UCB (x = log f). For indexed minimum empirical divergence it lies below the cost (x = the leader),
and the score is minus the cost. `gaussian`, `kl` and `imed` supply the lines and stretches of each policy.

The policy's code chooses among them, since a compiled function that takes functions is never found in the cache on
disk. The code is a constant of each compiled function, so the machine code of one policy holds nothing of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from typing import NamedTuple, cast

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.settle import level_of
from meanbounds.kernels.arms.tables import (
    break_ties,
    clipped_mean,
    ends_of,
    keep_seen,
    mean_seen,
    pick,
    plan_of,
    seen_of,
    state_of,
)
from meanbounds.kernels.arms.textbook import GAUSSIAN, IMED, KL, regret
from meanbounds.kernels.compiling import compiled, inlined
from meanbounds.kernels.fast.gaussian import gaussian_line, gaussian_stretch
from meanbounds.kernels.fast.imed import imed_line, imed_stretch
from meanbounds.kernels.fast.kl import kl_line, kl_stretch, solve_near_ties, surely_reaches
from meanbounds.kernels.fast.search import COST_MARGIN, FEW, MARGIN, scale_of, two_best
from meanbounds.kernels.fast.settle import may_settle, settled_place, settled_stretch
from meanbounds.kernels.fast.stretch import Calendar, add, hold, no_stretch
from meanbounds.kernels.random.rewards import Rewards, draw, law_of
from meanbounds.kernels.random.stream import child, policy_key, reward_key
from meanbounds.support.types import Floats, Integers

__all__ = ["play_gaussian", "play_imed", "play_kl"]

_PATIENCE = 50  # looks in a round, besides one for each arm, after which every index is solved; a few are enough


class _Run(NamedTuple):
    """The numbers of a run."""

    source: np.uint64  # stream of its rewards
    key: np.uint64  # stream of the policy's own randomness
    first_round: int


def _run_for(code: int) -> Callable[..., None]:
    """The loop that plays one run of policies with this code.

    Arrays are arguments of their own: taking them out of the block in there made 100 arms a tenth slower.
    """

    @compiled
    def play_run(
        plan_table: Floats,
        parameters: Floats,
        table: Floats,
        rewards: Rewards,
        run: _Run,
        log_f: Floats,
        stops: Integers,
        gaps: Floats,
        curve: Floats,
    ) -> None:
        source, key, first_round = run
        plan, state = plan_of(plan_table), state_of(table)
        arms, low, span, cap, proxy = plan.arm, plan.low, plan.span, plan.cap, plan.proxy
        plays, total = state.plays, state.total
        kind, law = rewards.kind, rewards.parameters
        moments = parameters[0] if code == IMED else 0.0
        size, best_lower, margin = arms.size, plan.lower.max(), MARGIN * scale_of(plan)
        near_enough = COST_MARGIN if code == IMED else 4.0 * margin
        streams = np.empty(size, np.uint64)
        intercept, slope, score = np.empty(size), np.empty(size), np.empty(size)
        clipped = np.full(size, -np.inf)  # means, clipped at the caps
        solved = np.full(size, -1, np.int64)  # the round for which the score is exact
        for k in range(size):
            a = int(arms[k])
            seen = seen_of(state, a)
            streams[k] = child(source, a)
            if code == GAUSSIAN:
                intercept[k], slope[k] = gaussian_line(seen, ends_of(plan, k), proxy[k])
            elif code == KL:
                intercept[k], slope[k] = kl_line(seen, low[k], span[k], log_f[0], (np.inf, 0.0), 4)
            elif plays[a] > 0.0:
                intercept[k], slope[k] = log(plays[a]), 0.0
                clipped[k] = min(cap[k], mean_seen(seen, ends_of(plan, k)))
            else:
                intercept[k], slope[k] = -np.inf, 0.0
        chosen, other, previous = 0, size - 1, -1
        leading, goals = -1, np.empty(size)
        able = may_settle(cap, goals)
        settling = code == IMED and parameters.size > 1 and parameters[1] == 1.0
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                budget = log_f[t - first_round]
                if code == IMED:
                    x = max(best_lower, clipped.max())
                    if settling:
                        leading = settled_place(plan, state, moments, budget, able, goals, clipped, x, key, t - 1)
                    for k in range(size if leading < 0 else 0):
                        score[k] = -(intercept[k] + slope[k] * x) if cap[k] >= x else -np.inf
                else:
                    x = sqrt(budget) if code == GAUSSIAN else budget
                    for k in range(size):
                        value = intercept[k] + x * slope[k]
                        score[k] = value if value < cap[k] else cap[k]
                # Choose: draw lines near the best closer, until one candidate is ahead or all that are near are exact.
                ahead, exact, level, looks = size == 1, False, -np.inf, 0
                if code == IMED and leading >= 0:
                    ahead, chosen, other = True, leading, leading - 1 if leading > 0 else size - 1
                while not (ahead or exact):
                    looks += 1
                    chosen, other = two_best(score, chosen, other)
                    near = score[chosen] - near_enough if looks <= size + _PATIENCE else -np.inf
                    apart, level = score[other] < near, 0.5 * (score[chosen] + score[other])
                    if code == GAUSSIAN:
                        ahead, exact = apart, not apart
                    elif code == KL:
                        a, q = int(arms[chosen]), (level + margin - low[chosen]) / span[chosen]
                        ahead = apart and surely_reaches(plays[a], total[a], q, budget)
                        exact = not apart and solve_near_ties(plan, state, score, near, budget)
                        for k in range(0 if ahead or exact else size):
                            if intercept[k] + slope[k] * budget >= near:
                                a, line = int(arms[k]), (intercept[k], slope[k])
                                seen = seen_of(state, a)
                                intercept[k], slope[k] = kl_line(seen, low[k], span[k], budget, line, 1)
                            value = intercept[k] + slope[k] * budget
                            score[k] = value if value < cap[k] else cap[k]
                    else:
                        ahead = apart and solved[chosen] == t
                        exact = not ahead
                        for k in range(0 if ahead else size):
                            if score[k] >= near and solved[k] != t and cap[k] >= x:
                                a, solved[k], exact = int(arms[k]), t, False
                                if plays[a] > 0.0:
                                    seen = seen_of(state, a)
                                    cost, intercept[k], slope[k] = imed_line(seen, ends_of(plan, k), x, moments)
                                    score[k] = -cost
                stands, second = ahead, -np.inf
                if exact:  # the scores of KL-UCB have changed since the two best were found
                    best = score.max() if code == KL else score[chosen]
                    if code == KL or (code == GAUSSIAN and score[other] == best):
                        second = break_ties(plan, state, score, best)
                    chosen = pick(score, best, key, t - 1)
                    other = chosen - 1 if chosen > 0 else size - 1
                    # Several arms are at their common cap: the one of the largest mean is played while it stays so.
                    stands = second > -np.inf and cap[chosen] == best and clipped_mean(plan, state, chosen) > second
                    level = best - margin
                # Say how long the choice stands.
                arm = int(arms[chosen])
                seen = seen_of(state, arm)
                stretch = no_stretch()
                if code == IMED:
                    ends = ends_of(plan, chosen)
                    if chosen == previous and plays[arm] > 0.0 and mean_seen(seen, ends) >= x:
                        cost = log(plays[arm])
                        stretch = imed_stretch(
                            chosen, ends, x, best_lower, cost, margin, intercept, slope, clipped, cap
                        )
                    if leading >= 0 and chosen == previous and not plays[arm] + 1.0 < stretch.most_plays:
                        rest = -np.inf
                        for k in range(size):
                            if k != chosen:
                                rest = max(rest, plan.lower[k], clipped[k])
                        allowed = level_of(cap[chosen], goals[chosen]) * budget
                        stretch = settled_stretch(seen, ends, goals[chosen], rest, moments, allowed)
                elif stands and (chosen == previous or size <= FEW) and plays[arm] > 0.0:
                    wake = np.inf
                    for k in range(size):
                        if k != chosen and cap[k] > level and slope[k] > 0.0 and score[k] > -np.inf:
                            wake = min(wake, (level - intercept[k]) / slope[k])
                    unit_level = (level + (margin if ahead else 2.0 * margin) - low[chosen]) / span[chosen]
                    floor = -np.inf if ahead else (second + margin - low[chosen]) / span[chosen]
                    if code == GAUSSIAN:
                        stretch = gaussian_stretch(wake, unit_level, span[chosen], proxy[chosen], budget, floor)
                    else:
                        stretch = kl_stretch(wake, unit_level, total[arm] / plays[arm], budget, floor)
                # Play it, once or for so long.
                if plays[arm] + 1.0 < stretch.most_plays:
                    calendar = Calendar(stops[c], log_f, first_round)
                    t, seen = hold(stretch, calendar, t, rewards, law_of(kind, law, arm), streams[chosen], arm, seen)
                else:
                    t, seen = t + 1, add(seen, draw(rewards, arm, streams[chosen], int(plays[arm])))
                keep_seen(state, arm, seen, code == IMED)
                previous = chosen
                # Draw the line of what was played anew.
                if code == GAUSSIAN:
                    intercept[chosen], slope[chosen] = gaussian_line(seen, ends_of(plan, chosen), proxy[chosen])
                elif code == KL:
                    line = intercept[chosen], slope[chosen]
                    intercept[chosen], slope[chosen] = kl_line(seen, low[chosen], span[chosen], budget, line, 2)
                else:
                    clipped[chosen] = min(cap[chosen], mean_seen(seen, ends_of(plan, chosen)))
                    intercept[chosen], slope[chosen] = log(plays[arm]), 0.0
                    x = max(x, clipped[chosen])
                    if cap[chosen] >= x:
                        _, intercept[chosen], slope[chosen] = imed_line(seen, ends_of(plan, chosen), x, moments)
            curve[c] = regret(gaps, table)

    return cast(Callable[..., None], play_run)


_play_gaussian, _play_kl, _play_imed = (_run_for(code) for code in (GAUSSIAN, KL, IMED))


@inlined
def _play_held(code: int, plan_table: Floats, parameters: Floats, block: Block) -> None:
    rewards, log_f, stops, gaps = block.rewards, block.log_f, block.stops, block.gaps
    for run in range(block.states.shape[0]):
        number, table, curve = block.first_run + run, block.states[run], block.curves[run]
        keys = _Run(reward_key(block.seed, number), policy_key(block.seed, number), block.first_round)
        if code == GAUSSIAN:
            _play_gaussian(plan_table, parameters, table, rewards, keys, log_f, stops, gaps, curve)
        elif code == KL:
            _play_kl(plan_table, parameters, table, rewards, keys, log_f, stops, gaps, curve)
        else:
            _play_imed(plan_table, parameters, table, rewards, keys, log_f, stops, gaps, curve)


@compiled
def play_gaussian(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for the index of UCB and GLUE."""
    _play_held(GAUSSIAN, plan_table, parameters, block)


@compiled
def play_kl(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for the index of KL-UCB."""
    _play_held(KL, plan_table, parameters, block)


@compiled
def play_imed(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for indexed minimum empirical divergence."""
    _play_held(IMED, plan_table, parameters, block)
