"""The index of UCB and GLUE, held."""

from __future__ import annotations

from math import sqrt

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.tables import mean_of, pick, plan_of, state_of
from meanbounds.kernels.arms.textbook import regret
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.hold import FEW, MARGIN, SURE, arm_streams, hold, scale_of, two_best
from meanbounds.kernels.random.rewards import Rewards, draw, law_of
from meanbounds.kernels.random.stream import policy_key, reward_key
from meanbounds.support.types import Floats, Integers

__all__ = ["play_gaussian"]


@compiled
def _play_run(
    plan_table: Floats,
    table: Floats,
    rewards: Rewards,
    source: np.uint64,
    key: np.uint64,
    log_f: Floats,
    first_round: int,
    stops: Integers,
    gaps: Floats,
    curve: Floats,
) -> None:
    """One run; `source` is the stream of its rewards, `key` that of the policy's own randomness.

    A function of its own because arrays that come as arguments are cheaper to use than those taken out of a tuple: a
    tenth of the time for few arms.
    """
    plan, state = plan_of(plan_table), state_of(table)
    arms, low, span, cap, proxy = plan.arm, plan.low, plan.span, plan.cap, plan.proxy
    plays, total = state.plays, state.total
    kind, law = rewards.kind, rewards.parameters
    size = cap.size
    margin = MARGIN * scale_of(plan)
    mean, width, score = np.empty(size), np.empty(size), np.empty(size)
    streams = np.empty(size, dtype=np.uint64)
    arm_streams(streams, plan, source)
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
        curve[c] = regret(gaps, table)


@compiled
def play_gaussian(plan_table: Floats, _parameters: Floats, block: Block) -> None:
    """`textbook.play` for the index of UCB and GLUE."""
    for run in range(block.states.shape[0]):
        _play_run(
            plan_table,
            block.states[run],
            block.rewards,
            reward_key(block.seed, block.first_run + run),
            policy_key(block.seed, block.first_run + run),
            block.log_f,
            block.first_round,
            block.stops,
            block.gaps,
            block.curves[run],
        )
