"""The index of UCB and GLUE, held."""

from __future__ import annotations

from math import sqrt

import numpy as np

from meanbounds.kernels.block import Block
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.hold import FEW, MARGIN, SURE, arm_streams, hold, scale_of, two_best
from meanbounds.kernels.rewards import draw, law_of
from meanbounds.kernels.stream import policy_key, reward_key
from meanbounds.kernels.tables import Floats, mean_of, pick, plan_of, state_of
from meanbounds.kernels.textbook import regret

__all__ = ["play_gaussian"]


@compiled
def play_gaussian(plan_table: Floats, _parameters: Floats, block: Block) -> None:
    """`textbook.play` for the index of UCB and GLUE."""
    states, rewards, log_f, stops = block.states, block.rewards, block.log_f, block.stops
    seed, first_run, first_round = block.seed, block.first_run, block.first_round
    gaps, curves = block.gaps, block.curves
    plan = plan_of(plan_table)
    arms, low, span, cap, proxy = plan.arm, plan.low, plan.span, plan.cap, plan.proxy
    kind, law = rewards.kind, rewards.parameters
    streams = np.empty(cap.size, dtype=np.uint64)
    size = cap.size
    margin = MARGIN * scale_of(plan)
    mean, width, score = np.empty(size), np.empty(size), np.empty(size)
    for run in range(states.shape[0]):
        table = states[run]
        state = state_of(table)
        plays, total = state.plays, state.total
        key = policy_key(seed, first_run + run)
        arm_streams(streams, plan, reward_key(seed, first_run + run))
        for k in range(size):
            mean[k], width[k] = np.inf, 0.0
            if plays[int(arms[k])] > 0.0:
                mean[k], width[k] = mean_of(plan, state, k), sqrt(2.0 * proxy[k] / plays[int(arms[k])])
        leader, other, previous = 0, size - 1, -1
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                root = sqrt(log_f[t - first_round])
                for k in range(size):
                    value = mean[k] + root * width[k]
                    score[k] = value if value < cap[k] else cap[k]
                apart = np.inf
                if size > 1:
                    leader, other = two_best(score, leader, other)
                    apart = score[leader] - score[other] if score[leader] > score[other] else 0.0
                if apart <= margin:
                    leader = pick(score, score[leader], key, t - 1)
                    other = leader - 1 if leader > 0 else size - 1
                arm = int(arms[leader])
                if (leader == previous or size <= FEW) and plays[arm] > 0.0 and apart > 4.0 * margin:
                    level = score[leader] - 0.5 * apart if size > 1 else -np.inf
                    wake = np.inf
                    for k in range(size):
                        if k != leader and cap[k] > level and width[k] > 0.0:
                            wake = min(wake, (level - mean[k]) / width[k])
                    unit_level = (level + margin - low[leader]) / span[leader]
                    unit_proxy = proxy[leader] / (span[leader] * span[leader])
                    bend = 0.5 / unit_proxy if unit_proxy > 0.0 else np.inf
                    t, plays[arm], total[arm], _ = hold(
                        law_of(kind, law, arm),
                        rewards,
                        streams[leader],
                        arm,
                        (plays[arm], total[arm], 0.0),
                        t,
                        stops[c],
                        log_f,
                        first_round,
                        wake * wake,
                        np.inf,
                        unit_level,
                        (unit_level, np.inf, 0.0, 0.0, bend),
                        log_f[t - first_round] * SURE,
                    )
                else:
                    total[arm] += draw(rewards, arm, streams[leader], int(plays[arm]))
                    plays[arm] += 1.0
                    t += 1
                previous = leader
                mean[leader] = low[leader] + span[leader] * (total[arm] / plays[arm])
                width[leader] = sqrt(2.0 * proxy[leader] / plays[arm])
            curves[run, c] = regret(gaps, table)
