"""Indexed minimum empirical divergence, bounded by tangents and held."""

from __future__ import annotations

from math import exp, log

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.imed import imed_cost
from meanbounds.kernels.arms.moments import floor_of
from meanbounds.kernels.arms.tables import Plan, mean_of, pick, plan_of, state_of
from meanbounds.kernels.arms.textbook import regret
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.hold import MARGIN, arm_streams, hold, scale_of, two_best
from meanbounds.kernels.random.rewards import draw, law_of
from meanbounds.kernels.random.stream import policy_key, reward_key
from meanbounds.support.types import Floats

__all__ = ["play_imed"]

_COST_MARGIN = 1e-6  # between costs


@compiled
def _imed_line(
    plays: float, total: float, squares: float, low: float, span: float, leader: float, moments: float
) -> tuple[float, float, float]:
    """Cost of an arm that can reach the leader, and the line (intercept, slope) that touches it there from below.

    The cost is convex in the leader, so no tangent exceeds it anywhere.
    """
    goal = (leader - low) / span
    cost = imed_cost(plays, total, squares, goal, moments)
    if goal <= total / plays or goal >= 1.0:
        return cost, log(plays), 0.0
    floor = floor_of(plays, total, squares) if moments == 2.0 else 0.0
    slope = plays * (goal - total / plays) / ((goal - floor) * (1.0 - goal) * span)
    return cost, cost - slope * leader, slope


@compiled
def _imed_hold(
    plan: Plan,
    lines: tuple[Floats, Floats],
    clipped: Floats,
    leader: float,
    k: int,
    cost: float,
    margin: float,
) -> tuple[float, float]:
    """Level that candidate k has to stay above to be played again, and the plays at which another's turn comes.

    Holds where k is the only leader: the costs of the others grow with the leader, so at a level below it they are
    bounds from below, and k, whose cost is log plays, is played while that is less. The level gives away about half of
    the distance between the costs. Without a hold the plays are 0.
    """
    intercept, slope = lines
    cap = plan.cap
    drop = 0.5 * (leader - plan.lower.max())
    for j in range(cap.size):
        if j != k:
            drop = min(drop, 0.5 * (leader - clipped[j]))
            if cap[j] >= leader and slope[j] > 0.0:
                drop = min(drop, 0.5 * (intercept[j] + slope[j] * leader - cost) / slope[j])
    if not drop > 2.0 * margin:
        return 0.0, 0.0
    level, least = leader - drop, np.inf
    for j in range(cap.size):
        if j != k and cap[j] >= level - margin:
            least = min(least, intercept[j] + slope[j] * (level - margin))
    most = exp(least - _COST_MARGIN) if least < 700.0 else np.inf
    return (level + margin - plan.low[k]) / plan.span[k], most


@compiled
def play_imed(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for indexed minimum empirical divergence."""
    states, rewards, log_f, stops = block.states, block.rewards, block.log_f, block.stops
    seed, first_run, first_round = block.seed, block.first_run, block.first_round
    gaps, curves = block.gaps, block.curves
    plan = plan_of(plan_table)
    arms, low, span, cap = plan.arm, plan.low, plan.span, plan.cap
    kind, law, moments = rewards.kind, rewards.parameters, parameters[0]
    size = arms.size
    margin = MARGIN * scale_of(plan)
    best_lower = plan.lower.max()
    streams = np.empty(size, dtype=np.uint64)
    intercept, slope, clipped, score = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    solved = np.empty(size, dtype=np.int64)  # the round for which the score is the cost itself
    for run in range(states.shape[0]):
        table = states[run]
        state = state_of(table)
        plays, total, squares = state.plays, state.total, state.squares
        key = policy_key(seed, first_run + run)
        arm_streams(streams, plan, reward_key(seed, first_run + run))
        for k in range(size):
            a = int(arms[k])
            intercept[k], slope[k], clipped[k], solved[k] = -np.inf, 0.0, -np.inf, -1
            if plays[a] > 0.0:
                intercept[k] = log(plays[a])
                clipped[k] = min(cap[k], mean_of(plan, state, k))
        chosen, other, previous = 0, size - 1, -1
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                leader = max(best_lower, clipped.max())
                for k in range(size):
                    score[k] = -(intercept[k] + slope[k] * leader) if cap[k] >= leader else -np.inf
                while size > 1:
                    chosen, other = two_best(score, chosen, other)
                    near = score[chosen] - _COST_MARGIN
                    if solved[chosen] == t and score[other] < near:
                        break
                    settled = True
                    for k in range(size):
                        a = int(arms[k])
                        if score[k] >= near and solved[k] != t and cap[k] >= leader:
                            solved[k], settled = t, False
                            if plays[a] > 0.0:
                                line = _imed_line(plays[a], total[a], squares[a], low[k], span[k], leader, moments)
                                score[k], intercept[k], slope[k] = -line[0], line[1], line[2]
                    if settled:
                        chosen = pick(score, score[chosen], key, t - 1)
                        other = chosen - 1 if chosen > 0 else size - 1
                        break
                arm = int(arms[chosen])
                level, most = 0.0, 0.0
                if chosen == previous and plays[arm] > 0.0 and mean_of(plan, state, chosen) >= leader:
                    level, most = _imed_hold(plan, (intercept, slope), clipped, leader, chosen, log(plays[arm]), margin)
                previous = chosen
                if plays[arm] + 1.0 < most:
                    t, plays[arm], total[arm], squares[arm] = hold(
                        law_of(kind, law, arm),
                        rewards,
                        streams[chosen],
                        arm,
                        (plays[arm], total[arm], squares[arm]),
                        t,
                        stops[c],
                        log_f,
                        first_round,
                        np.inf,
                        most,
                        level,
                        (level, -1.0, 0.0, 0.0, 0.0),
                        0.0,
                    )
                else:
                    reward = draw(rewards, arm, streams[chosen], int(plays[arm]))
                    total[arm] += reward
                    squares[arm] += reward * reward
                    plays[arm] += 1.0
                    t += 1
                clipped[chosen] = min(cap[chosen], mean_of(plan, state, chosen))
                leader = max(leader, clipped[chosen])
                intercept[chosen], slope[chosen] = log(plays[arm]), 0.0
                if cap[chosen] >= leader:
                    line = _imed_line(plays[arm], total[arm], squares[arm], low[chosen], span[chosen], leader, moments)
                    intercept[chosen], slope[chosen] = line[1], line[2]
            curves[run, c] = regret(gaps, table)
