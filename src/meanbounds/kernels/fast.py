"""The decisions of `meanbounds.kernels.textbook`, faster: index policies, KL policies and indexed divergence.

Two ideas, both exact.

**Hold.** After a full look at all arms, put a level between the best and the second-best index. As long as the leader
stays above it and every other arm below, the leader is played again, and only the leader has to be looked at. Another
arm's index moves only because log f(t) grows, so the log f at which it reaches the level is known: the wake-up.

**Tangents.** As a function of log f an arm's KL index is concave, so any tangent bounds it from above; as a function of
the leader its cost in indexed divergence is convex, so any tangent bounds it from below. One multiplication and one
addition bound every arm without an equation being solved or a logarithm taken, and only the first is checked.

Each shortcut decides only where the indices are apart by more than `_MARGIN` of the range of rewards, thousands of
times their rounding error; everything closer, ties above all, is solved and compared as the textbook does.
"""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.divergence import kl, kl_ceiling
from meanbounds.kernels.imed import imed_cost
from meanbounds.kernels.kl import kl_index
from meanbounds.kernels.moments import floor_of
from meanbounds.kernels.rewards import UNIFORM, Law, Rewards, draw, draw_simple, law_of
from meanbounds.kernels.stream import child, policy_key, reward_key, rounding_key
from meanbounds.kernels.tables import Floats, Integers, Plan, State, argmax, mean_of, pick, plan_of, state_of
from meanbounds.kernels.textbook import observe, regret
from meanbounds.kernels.thompson import HAT_SHAPE, posterior_draw, posterior_hat

__all__ = ["play_gaussian", "play_imed", "play_kl", "play_thompson"]

_MARGIN = 1e-8  # of the range of rewards
_SURE = 1.0 - 1e-8  # of a budget; moves an index by less than half of the margin
_COST_MARGIN = 1e-6  # between costs of indexed divergence
_FEW = 16  # arms: always hold; with more, only a leader that has just been played


@compiled
def _scale(plan: Plan) -> float:
    """Size of the numbers that indices are made of."""
    scale = 0.0
    for k in range(plan.arm.size):
        scale = max(scale, abs(plan.low[k]) + plan.span[k])
    return scale


@compiled
def _hold(
    law: Law,
    rewards: Rewards,
    key: np.uint64,
    arm: int,
    seen: tuple[float, float, float],
    t: int,
    stop: int,
    log_f: Floats,
    first_round: int,
    wake: float,
    most_plays: float,
    level: float,
    curve: tuple[float, float, float, float, float],
    budget: float,
) -> tuple[int, float, float, float]:
    """Play `arm` from round t on while it surely leads; return the first round not played, and what was seen by then.

    `seen` is the arm's plays, total and squares: numbers rather than arrays, each look into which costs 5 ns.

    That it leads in round t is for the caller to know. Later it leads while its mean is at least `level`, or its
    divergence from the level, ``plays * d(mean, level)``, is below `budget`, where d is at most ``flat + slope * e +
    bend * e**2`` for means within `reach` of `centre`, e the distance from it. It stops at the wake-up, ``log f >=
    wake``, and at `most_plays`.
    """
    centre, reach, flat, slope, bend = curve
    plays, total, squares = seen
    pull, simple = int(plays), law[0] <= UNIFORM
    while True:
        reward = draw_simple(law, key, pull) if simple else draw(rewards, arm, key, pull)
        total += reward
        squares += reward * reward
        plays += 1.0
        pull += 1
        t += 1
        if t > stop or log_f[t - first_round] >= wake or plays >= most_plays:
            break
        if total < level * plays:
            e = total - centre * plays
            if abs(e) > reach * plays or (flat * plays + slope * e) * plays + bend * e * e >= budget * plays:
                break
    return t, plays, total, squares


@compiled
def _arm_streams(streams: NDArray[np.uint64], plan: Plan, key: np.uint64) -> None:
    """Fill in the reward stream of each candidate."""
    for k in range(streams.size):
        streams[k] = child(key, int(plan.arm[k]))


@compiled
def _two_best(score: Floats, first: int, other: int) -> tuple[int, int]:
    """Places of the largest score and of the largest elsewhere; two different guesses save most of the work."""
    if score[other] > score[first]:
        first, other = other, first
    best, second = score[first], score[other]
    for k in range(score.size):
        value = score[k]
        if value > second and k != first:
            if value > best:
                first, other, best, second = k, first, value, best
            else:
                other, second = k, value
    return first, other


@compiled
def play_gaussian(
    plan_table: Floats,
    states: Floats,
    rewards: Rewards,
    seed: np.uint64,
    first_run: int,
    log_f: Floats,
    first_round: int,
    stops: Integers,
    gaps: Floats,
    curves: Floats,
) -> None:
    """`textbook.play` for the index of UCB and GLUE."""
    plan = plan_of(plan_table)
    arms, low, span, cap, proxy = plan.arm, plan.low, plan.span, plan.cap, plan.proxy
    kind, parameters = rewards.kind, rewards.parameters
    streams = np.empty(cap.size, dtype=np.uint64)
    size = cap.size
    margin = _MARGIN * _scale(plan)
    mean, width, score = np.empty(size), np.empty(size), np.empty(size)
    for run in range(states.shape[0]):
        state = state_of(states[run])
        plays, total = state.plays, state.total
        key = policy_key(seed, first_run + run)
        _arm_streams(streams, plan, reward_key(seed, first_run + run))
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
                    leader, other = _two_best(score, leader, other)
                    apart = score[leader] - score[other] if score[leader] > score[other] else 0.0
                if apart <= margin:
                    leader = pick(score, score[leader], key, t - 1)
                    other = leader - 1 if leader > 0 else size - 1
                arm = int(arms[leader])
                if (leader == previous or size <= _FEW) and plays[arm] > 0.0 and apart > 4.0 * margin:
                    level = score[leader] - 0.5 * apart if size > 1 else -np.inf
                    wake = np.inf
                    for k in range(size):
                        if k != leader and cap[k] > level and width[k] > 0.0:
                            wake = min(wake, (level - mean[k]) / width[k])
                    unit_level = (level + margin - low[leader]) / span[leader]
                    unit_proxy = proxy[leader] / (span[leader] * span[leader])
                    bend = 0.5 / unit_proxy if unit_proxy > 0.0 else np.inf
                    t, plays[arm], total[arm], _ = _hold(
                        law_of(kind, parameters, arm),
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
                        log_f[t - first_round] * _SURE,
                    )
                else:
                    total[arm] += draw(rewards, arm, streams[leader], int(plays[arm]))
                    plays[arm] += 1.0
                    t += 1
                previous = leader
                mean[leader] = low[leader] + span[leader] * (total[arm] / plays[arm])
                width[leader] = sqrt(2.0 * proxy[leader] / plays[arm])
            curves[run, c] = regret(gaps, states[run])


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
        spent = plays * kl(p, q)
        rise = q * (1.0 - q) / (plays * (q - p))
        intercept, slope = low + span * (q - spent * rise), span * rise
        q += (log_f - spent) * rise
    return intercept, slope


@compiled
def _surely_reaches(plays: float, total: float, q: float, log_f: float) -> bool:
    """Whether an arm's KL index, clipped at something above q, is at least q (in units of its range)."""
    return plays == 0.0 or total >= q * plays or plays * kl(total / plays, q) <= log_f * _SURE


@compiled
def _kl_curve(p: float, q: float) -> tuple[float, float, float, float, float]:
    """Parabola above ``kl(., q)`` near p, as `_hold` takes it: the second derivative is largest at an end."""
    if not (0.0 < p < 1.0 and 0.0 < q < 1.0):
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
            q = (plan.cap[k] - plan.low[k]) / plan.span[k] + _MARGIN
            if score[k] < plan.cap[k] or not _surely_reaches(state.plays[arm], state.total[arm], q, log_f):
                score[k] = kl_index(plan, state, k, log_f)
            best = max(best, score[k])
    return best > beyond


@compiled
def play_kl(
    plan_table: Floats,
    states: Floats,
    rewards: Rewards,
    seed: np.uint64,
    first_run: int,
    log_f: Floats,
    first_round: int,
    stops: Integers,
    gaps: Floats,
    curves: Floats,
) -> None:
    """`textbook.play` for the index of KL-UCB."""
    plan = plan_of(plan_table)
    arms, low, span, cap = plan.arm, plan.low, plan.span, plan.cap
    kind, parameters = rewards.kind, rewards.parameters
    streams = np.empty(cap.size, dtype=np.uint64)
    size = cap.size
    margin = _MARGIN * _scale(plan)
    intercept, slope, score = np.empty(size), np.empty(size), np.empty(size)
    for run in range(states.shape[0]):
        state = state_of(states[run])
        plays, total = state.plays, state.total
        key = policy_key(seed, first_run + run)
        _arm_streams(streams, plan, reward_key(seed, first_run + run))
        for k in range(size):
            a = int(arms[k])
            line = _tangent(plays[a], total[a], low[k], span[k], log_f[0], (np.inf, 0.0), 4)
            intercept[k], slope[k] = line
        leader, other, previous = 0, size - 1, -1
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                budget = log_f[t - first_round]
                sure, level = False, -np.inf
                while True:
                    for k in range(size):
                        value = intercept[k] + slope[k] * budget
                        score[k] = value if value < cap[k] else cap[k]
                    if size == 1:
                        sure = True
                        break
                    leader, other = _two_best(score, leader, other)
                    near = score[leader] - 4.0 * margin
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
                if sure and (leader == previous or size <= _FEW) and plays[arm] > 0.0:
                    wake = np.inf
                    for k in range(size):
                        if k != leader and cap[k] > level and slope[k] > 0.0:
                            wake = min(wake, (level - intercept[k]) / slope[k])
                    unit_level = (level + margin - low[leader]) / span[leader]
                    t, plays[arm], total[arm], _ = _hold(
                        law_of(kind, parameters, arm),
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
                        budget * _SURE,
                    )
                else:
                    total[arm] += draw(rewards, arm, streams[leader], int(plays[arm]))
                    plays[arm] += 1.0
                    t += 1
                previous = leader
                line = intercept[leader], slope[leader]
                line = _tangent(plays[arm], total[arm], low[leader], span[leader], budget, line, 2)
                intercept[leader], slope[leader] = line
            curves[run, c] = regret(gaps, states[run])


@compiled
def _imed_line(
    plays: float, total: float, squares: float, low: float, span: float, leader: float, moments: float
) -> tuple[float, float, float]:
    """Cost of an arm that can reach the leader, and the line (intercept, slope) that touches it there from below.

    The cost is convex in the leader, so no tangent exceeds it anywhere.
    """
    goal = (leader - low) / span
    cost = imed_cost(plays, total, squares, goal, moments)
    if total >= goal * plays or goal >= 1.0:
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
        if j != k and cap[j] >= leader:
            drop = min(drop, 0.5 * (leader - clipped[j]))
            if slope[j] > 0.0:
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
def play_imed(
    plan_table: Floats,
    parameters: Floats,
    states: Floats,
    rewards: Rewards,
    seed: np.uint64,
    first_run: int,
    log_f: Floats,
    first_round: int,
    stops: Integers,
    gaps: Floats,
    curves: Floats,
) -> None:
    """`textbook.play` for indexed minimum empirical divergence."""
    plan = plan_of(plan_table)
    arms, low, span, cap = plan.arm, plan.low, plan.span, plan.cap
    kind, law_parameters, moments = rewards.kind, rewards.parameters, parameters[0]
    size = arms.size
    margin = _MARGIN * _scale(plan)
    best_lower = plan.lower.max()
    streams = np.empty(size, dtype=np.uint64)
    intercept, slope, clipped, score = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    solved = np.empty(size, dtype=np.int64)  # the round for which the score is the cost itself
    for run in range(states.shape[0]):
        state = state_of(states[run])
        plays, total, squares = state.plays, state.total, state.squares
        key = policy_key(seed, first_run + run)
        _arm_streams(streams, plan, reward_key(seed, first_run + run))
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
                    chosen, other = _two_best(score, chosen, other)
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
                    t, plays[arm], total[arm], squares[arm] = _hold(
                        law_of(kind, law_parameters, arm),
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
            curves[run, c] = regret(gaps, states[run])


@compiled
def play_thompson(
    plan_table: Floats,
    parameters: Floats,
    states: Floats,
    rewards: Rewards,
    seed: np.uint64,
    first_run: int,
    first_round: int,
    stops: Integers,
    gaps: Floats,
    curves: Floats,
) -> None:
    """`textbook.play` for Thompson sampling: only the arm that was played needs a new hat."""
    plan = plan_of(plan_table)
    arms, low, span, lower, cap = plan.arm, plan.low, plan.span, plan.lower, plan.cap
    size = arms.size
    hats = np.empty((size, HAT_SHAPE[0], HAT_SHAPE[1]))
    floors, score = np.empty(size), np.empty(size)
    for run in range(states.shape[0]):
        state = state_of(states[run])
        streams, key = reward_key(seed, first_run + run), policy_key(seed, first_run + run)
        rounding = rounding_key(seed, first_run + run)
        for k in range(size):
            floors[k] = posterior_hat(hats[k], plan, parameters, state, k)
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                stream = child(key, t - 1)
                for k in range(size):
                    ends, bounds = (low[k], span[k]), (lower[k], cap[k])
                    score[k] = posterior_draw(hats[k], floors[k], ends, bounds, child(stream, int(arms[k])))
                chosen = argmax(score, key, t - 1)
                arm = int(plan.arm[chosen])
                reward = draw(rewards, arm, child(streams, arm), int(state.plays[arm]))
                observe(states[run], arm, reward, t - 1, rounding)
                floors[chosen] = posterior_hat(hats[chosen], plan, parameters, state, chosen)
                t += 1
            curves[run, c] = regret(gaps, states[run])
