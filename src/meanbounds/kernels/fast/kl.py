"""The index of KL-UCB, bounded by tangents and held."""

from __future__ import annotations

from math import log

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.divergence import kl, kl_ceiling
from meanbounds.kernels.arms.kl import kl_index
from meanbounds.kernels.arms.tables import Plan, State, argmax, plan_of, state_of
from meanbounds.kernels.arms.textbook import regret
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.hold import FEW, MARGIN, SURE, arm_streams, hold, scale_of, two_best
from meanbounds.kernels.random.rewards import draw, law_of
from meanbounds.kernels.random.stream import policy_key, reward_key
from meanbounds.support.types import Floats

__all__ = ["play_kl"]


@compiled
def _tangent(
    plays: float, total: float, low: float, span: float, log_f: float, line: tuple[float, float], steps: int
) -> tuple[float, float]:
    """Line (intercept, slope) above an arm's KL index as a function of log f, touching it near this log f.

    It starts from another such line; each step of Newton's method brings it nearer.
    """
    if plays == 0.0:
        return np.inf, 0.0
    p = total / plays
    if 0.5 * (p + 1.0) >= 1.0:
        return low + span, 0.0
    intercept, slope = line
    q = (intercept + slope * log_f - low) / span
    for _ in range(steps):
        if not (p < q < 1.0):
            q = kl_ceiling(p, log_f / plays)
            if not (p < q < 1.0):
                q = 0.5 * (p + 1.0)
        q = max(q, min(p + MARGIN, 0.5 * (p + 1.0)))  # nearer, rounding errors would exceed the margin
        spent = plays * kl(p, q)
        rise = q * (1.0 - q) / (plays * (q - p))
        intercept, slope = low + span * (q - spent * rise), span * rise
        q += (log_f - spent) * rise
    return intercept, slope


@compiled
def _surely_reaches(plays: float, total: float, q: float, log_f: float) -> bool:
    """Whether an arm's KL index, clipped at something above q, is at least q (in units of its range)."""
    return plays == 0.0 or total >= q * plays or plays * kl(total / plays, q) <= log_f * SURE


@compiled
def _kl_curve(p: float, q: float) -> tuple[float, float, float, float, float]:
    """Parabola above ``kl(., q)`` near p, as `hold` takes it: the second derivative is largest at an end."""
    if not (1e-290 < p < 1.0 and 0.0 < q < 1.0):  # below, a quarter of p may be 0 and the bend infinite
        return p, -1.0, 0.0, 0.0, 0.0
    reach = 0.25 * min(p, 1.0 - p)
    left, right = p - reach, p + reach
    bend = 0.5 / min(left * (1.0 - left), right * (1.0 - right))
    return p, reach, kl(p, q), log(p * (1.0 - q) / (q * (1.0 - p))), bend


@compiled
def _solve_near_ties(plan: Plan, state: State, score: Floats, near: float, log_f: float) -> bool:
    """Replace the bounds of all candidates from `near` up by their indices; whether one of these is the largest.

    It is not where an index turns out below the bound of another candidate, which then has to be looked at first.
    """
    best, beyond = -np.inf, -np.inf
    for k in range(score.size):
        if score[k] < near:
            beyond = max(beyond, score[k])
        else:
            arm = int(plan.arm[k])
            q = (plan.cap[k] - plan.low[k]) / plan.span[k] + MARGIN
            if score[k] < plan.cap[k] or not _surely_reaches(state.plays[arm], state.total[arm], q, log_f):
                score[k] = kl_index(plan, state, k, log_f, False)
            best = max(best, score[k])
    return best > beyond


@compiled
def play_kl(plan_table: Floats, _parameters: Floats, block: Block) -> None:
    """`textbook.play` for the index of KL-UCB."""
    states, rewards, log_f, stops = block.states, block.rewards, block.log_f, block.stops
    seed, first_run, first_round = block.seed, block.first_run, block.first_round
    gaps, curves = block.gaps, block.curves
    plan = plan_of(plan_table)
    arms, low, span, cap = plan.arm, plan.low, plan.span, plan.cap
    kind, law = rewards.kind, rewards.parameters
    streams = np.empty(cap.size, dtype=np.uint64)
    size = cap.size
    margin = MARGIN * scale_of(plan)
    intercept, slope, score = np.empty(size), np.empty(size), np.empty(size)
    for run in range(states.shape[0]):
        table = states[run]
        state = state_of(table)
        plays, total = state.plays, state.total
        key = policy_key(seed, first_run + run)
        arm_streams(streams, plan, reward_key(seed, first_run + run))
        for k in range(size):
            a = int(arms[k])
            line = _tangent(plays[a], total[a], low[k], span[k], log_f[0], (np.inf, 0.0), 4)
            intercept[k], slope[k] = line
        leader, other, previous = 0, size - 1, -1
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                budget = log_f[t - first_round]
                sure, level, attempts = False, -np.inf, 0
                while True:
                    attempts += 1
                    for k in range(size):
                        value = intercept[k] + slope[k] * budget
                        score[k] = value if value < cap[k] else cap[k]
                    if size == 1:
                        sure = True
                        break
                    leader, other = two_best(score, leader, other)
                    patient = attempts <= size + 50  # a few are enough; past all patience every index is solved
                    near = score[leader] - 4.0 * margin if patient else -np.inf
                    if score[other] < near:
                        level = 0.5 * (score[leader] + score[other])
                        a, q = int(arms[leader]), (level + margin - low[leader]) / span[leader]
                        sure = _surely_reaches(plays[a], total[a], q, budget)
                        if sure:
                            break
                    elif _solve_near_ties(plan, state, score, near, budget):
                        leader = argmax(score, key, t - 1)
                        other = leader - 1 if leader > 0 else size - 1
                        break
                    for k in range(size):
                        if intercept[k] + slope[k] * budget >= near:
                            a, line = int(arms[k]), (intercept[k], slope[k])
                            intercept[k], slope[k] = _tangent(plays[a], total[a], low[k], span[k], budget, line, 1)
                arm = int(arms[leader])
                if sure and (leader == previous or size <= FEW) and plays[arm] > 0.0:
                    wake = np.inf
                    for k in range(size):
                        if k != leader and cap[k] > level and slope[k] > 0.0:
                            wake = min(wake, (level - intercept[k]) / slope[k])
                    unit_level = (level + margin - low[leader]) / span[leader]
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
                        wake,
                        np.inf,
                        unit_level,
                        _kl_curve(total[arm] / plays[arm], unit_level),
                        budget * SURE,
                    )
                else:
                    total[arm] += draw(rewards, arm, streams[leader], int(plays[arm]))
                    plays[arm] += 1.0
                    t += 1
                previous = leader
                line = intercept[leader], slope[leader]
                line = _tangent(plays[arm], total[arm], low[leader], span[leader], budget, line, 2)
                intercept[leader], slope[leader] = line
            curves[run, c] = regret(gaps, table)
