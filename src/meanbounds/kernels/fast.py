"""The decisions of `meanbounds.kernels.textbook`, faster: index policies, KL policies and indexed divergence.

Two ideas, both exact.

**Hold.** After a full look at all arms, put a level between the best and the second-best index. As long as the leader
stays above it and every other arm below, the leader is played again, and only the leader has to be looked at. Another
arm's index moves only because log f(t) grows, so the log f at which it reaches the level is known: the wake-up.

**Tangents** (KL policies). As a function of log f an arm's index is concave, so any tangent bounds it from above: one
multiplication and one addition bound every index without an equation being solved, and only the leader is checked.

Each shortcut decides only where the indices are apart by more than `_MARGIN` of the range of rewards, thousands of times
their rounding error; everything closer, ties above all, goes to the textbook.
"""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.divergence import kl
from meanbounds.kernels.imed import choose_imed, imed_cost, imed_leader
from meanbounds.kernels.rewards import Rewards, draw
from meanbounds.kernels.stream import child, policy_key, reward_key, rounding_key
from meanbounds.kernels.tables import Floats, Integers, Plan, State, argmax, mean_of, plan_of, state_of
from meanbounds.kernels.textbook import KL, choose, observe, regret
from meanbounds.kernels.thompson import HAT_SHAPE, posterior_hat, sample_hat

__all__ = ["play_gaussian", "play_imed", "play_kl", "play_thompson"]

_MARGIN = 1e-11  # of the range of rewards
_SURE = 1.0 - 1e-9  # of a budget


@compiled
def _scale(plan: Plan) -> float:
    """Size of the numbers that indices are made of."""
    scale = 0.0
    for k in range(plan.arm.size):
        scale = max(scale, abs(plan.low[k]) + plan.span[k])
    return scale


@compiled
def _hold(
    rewards: Rewards,
    key: np.uint64,
    arm: int,
    state: State,
    t: int,
    stop: int,
    log_f: Floats,
    first_round: int,
    wake: float,
    most_plays: float,
    level: float,
    curve: tuple[float, float, float, float, float],
    budget: float,
) -> int:
    """Play `arm` from round t on while it surely leads; return the first round not played.

    That it leads in round t is for the caller to know. Later it leads while its mean is at least `level`, or its
    divergence from the level, ``plays * d(mean, level)``, is below `budget`, where d is at most ``flat + slope * e +
    bend * e**2`` for means within `reach` of `centre`, e the distance from it. It stops at the wake-up, ``log f >=
    wake``, and at `most_plays`.
    """
    centre, reach, flat, slope, bend = curve
    plays, total = state.plays[arm], state.total[arm]
    while True:
        total += draw(rewards, arm, key, int(plays))
        plays += 1.0
        t += 1
        if t > stop or log_f[t - first_round] >= wake or plays >= most_plays:
            break
        if total < level * plays:
            e = total - centre * plays
            if abs(e) > reach * plays or (flat * plays + slope * e) * plays + bend * e * e >= budget * plays:
                break
    state.plays[arm], state.total[arm] = plays, total
    return t


@compiled
def _step(rewards: Rewards, key: np.uint64, arm: int, state: State) -> None:
    """Play `arm` once."""
    state.total[arm] += draw(rewards, arm, key, int(state.plays[arm]))
    state.plays[arm] += 1.0


@compiled
def _two_best(score: Floats) -> tuple[int, float, float]:
    """Place of the largest score, its value, and the largest value elsewhere (the same in a tie)."""
    leader, best, second = 0, score[0], -np.inf
    for k in range(1, score.size):
        value = score[k]
        if value > second:
            if value > best:
                leader, best, second = k, value, best
            else:
                second = value
    return leader, best, second


@compiled
def _refresh_gaussian(plan: Plan, state: State, k: int, mean: Floats, width: Floats) -> None:
    plays = state.plays[int(plan.arm[k])]
    if plays > 0.0:
        mean[k], width[k] = mean_of(plan, state, k), sqrt(2.0 * plan.proxy[k] / plays)
    else:
        mean[k], width[k] = np.inf, 0.0


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
    size = plan.arm.size
    margin = _MARGIN * _scale(plan)
    mean, width, score = np.empty(size), np.empty(size), np.empty(size)
    for run in range(states.shape[0]):
        state = state_of(states[run])
        streams, key = reward_key(seed, first_run + run), policy_key(seed, first_run + run)
        for k in range(size):
            _refresh_gaussian(plan, state, k, mean, width)
        previous = -1
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                root = sqrt(log_f[t - first_round])
                for k in range(size):
                    value = mean[k] + root * width[k]
                    score[k] = value if value < plan.cap[k] else plan.cap[k]
                leader, best, second = _two_best(score)
                if not best - second > margin:
                    leader = argmax(score, key, t - 1)
                arm = int(plan.arm[leader])
                if leader == previous and state.plays[arm] > 0.0 and best - second > 4.0 * margin:
                    level = 0.5 * (best + second)
                    wake = np.inf
                    for k in range(size):
                        if k != leader and plan.cap[k] > level:
                            need = (level - mean[k]) / width[k] if width[k] > 0.0 else np.inf
                            wake = min(wake, need)
                    span = plan.span[leader]
                    unit_level = (level + margin - plan.low[leader]) / span
                    proxy = plan.proxy[leader] / (span * span)
                    bend = 0.5 / proxy if proxy > 0.0 else np.inf
                    t = _hold(
                        rewards,
                        child(streams, arm),
                        arm,
                        state,
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
                    _step(rewards, child(streams, arm), arm, state)
                    t += 1
                previous = leader
                _refresh_gaussian(plan, state, leader, mean, width)
            curves[run, c] = regret(gaps, states[run])


@compiled
def _refresh_tangent(
    plan: Plan, state: State, k: int, log_f: float, intercept: Floats, slope: Floats, rounds: int
) -> None:
    """Bring the line above a candidate's index nearer to it at this log f: a step of Newton's method each round."""
    arm = int(plan.arm[k])
    plays = state.plays[arm]
    if plays == 0.0:
        intercept[k], slope[k] = np.inf, 0.0
        return
    low, span, p = plan.low[k], plan.span[k], state.total[arm] / plays
    if p >= 1.0:
        intercept[k], slope[k] = low + span, 0.0
        return
    q = (intercept[k] + slope[k] * log_f - low) / span
    for _ in range(rounds):
        if not (p < q < 1.0):
            q = 0.5 * (p + 1.0)
        spent = plays * kl(p, q)
        rise = q * (1.0 - q) / (plays * (q - p))
        intercept[k], slope[k] = low + span * (q - spent * rise), span * rise
        q += (log_f - spent) * rise


@compiled
def _surely_reaches(plan: Plan, state: State, k: int, level: float, log_f: float) -> bool:
    """Whether a candidate's KL index is at least `level` (not above its cap), with room for rounding."""
    arm = int(plan.arm[k])
    plays = state.plays[arm]
    if plays == 0.0:
        return True
    p, q = state.total[arm] / plays, (level - plan.low[k]) / plan.span[k]
    return p >= q or plays * kl(p, q) <= log_f * _SURE


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
def _choose_near_tie(
    plan: Plan, plan_table: Floats, state_table: Floats, score: Floats, margin: float, log_f: float, number: int, key: np.uint64
) -> int:
    """Candidate with the largest KL index where `score` bounds the indices from above and cannot tell them apart.

    Arms that surely are at their caps have the index that `score` says; anything else is solved.
    """
    state = state_of(state_table)
    best = score.max()
    for k in range(score.size):
        if score[k] >= best - margin and not (
            score[k] == plan.cap[k] and _surely_reaches(plan, state, k, plan.cap[k] + margin, log_f)
        ):
            arm = choose(KL, plan_table, score, state_table, log_f, number, key)
            return int(np.searchsorted(plan.arm, float(arm)))
    return argmax(score, key, number)


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
    size = plan.arm.size
    margin = _MARGIN * _scale(plan)
    intercept, slope, score = np.empty(size), np.empty(size), np.empty(size)
    for run in range(states.shape[0]):
        state = state_of(states[run])
        streams, key = reward_key(seed, first_run + run), policy_key(seed, first_run + run)
        intercept[:] = np.inf
        slope[:] = 0.0
        for k in range(size):
            _refresh_tangent(plan, state, k, log_f[0], intercept, slope, 4)
        previous = -1
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                budget = log_f[t - first_round]
                sure = False
                for _ in range(size + 8):
                    for k in range(size):
                        value = intercept[k] + slope[k] * budget
                        score[k] = value if value < plan.cap[k] else plan.cap[k]
                    leader, best, second = _two_best(score)
                    if not best - second > 4.0 * margin:
                        break
                    level = 0.5 * (best + second)
                    sure = _surely_reaches(plan, state, leader, level + margin, budget)
                    if sure:
                        break
                    _refresh_tangent(plan, state, leader, budget, intercept, slope, 1)
                if not sure:
                    leader = _choose_near_tie(plan, plan_table, states[run], score, 4.0 * margin, budget, t - 1, key)
                arm = int(plan.arm[leader])
                if sure and leader == previous and state.plays[arm] > 0.0:
                    wake = np.inf
                    for k in range(size):
                        if k != leader and plan.cap[k] > level and slope[k] > 0.0:
                            wake = min(wake, (level - intercept[k]) / slope[k])
                    unit_level = (level + margin - plan.low[leader]) / plan.span[leader]
                    t = _hold(
                        rewards,
                        child(streams, arm),
                        arm,
                        state,
                        t,
                        stops[c],
                        log_f,
                        first_round,
                        wake,
                        np.inf,
                        unit_level,
                        _kl_curve(state.total[arm] / state.plays[arm], unit_level),
                        budget * _SURE,
                    )
                else:
                    _step(rewards, child(streams, arm), arm, state)
                    t += 1
                previous = leader
                _refresh_tangent(plan, state, leader, budget, intercept, slope, 2)
            curves[run, c] = regret(gaps, states[run])


@compiled
def _imed_hold(plan: Plan, state: State, leader: float, k: int) -> tuple[float, float]:
    """Level that candidate k has to stay above to be played again, and the plays at which another's turn comes.

    Holds where k is the only leader: the costs of the others grow with the leader, so at a level below it they are
    bounds from below, and k, whose cost is log plays, is played while that is less. No hold: no plays.
    """
    arm = int(plan.arm[k])
    if state.plays[arm] == 0.0 or mean_of(plan, state, k) < leader:
        return 0.0, 0.0
    rival = plan.lower.max()
    for j in range(plan.arm.size):
        if j != k and state.plays[int(plan.arm[j])] > 0.0:
            rival = max(rival, min(plan.cap[j], mean_of(plan, state, j)))
    margin = _MARGIN * _scale(plan)
    level = 0.5 * (leader + rival)
    if not leader - rival > 4.0 * margin:
        return 0.0, 0.0
    least = np.inf
    for j in range(plan.arm.size):
        if j != k and plan.cap[j] >= level - margin:
            least = min(least, imed_cost(plan, state, j, min(level, plan.cap[j])))
    most = exp(least) * _SURE if least < 700.0 else np.inf
    return (level + margin - plan.low[k]) / plan.span[k], most


@compiled
def play_imed(
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
    """`textbook.play` for indexed minimum empirical divergence."""
    plan = plan_of(plan_table)
    for run in range(states.shape[0]):
        state = state_of(states[run])
        streams, key = reward_key(seed, first_run + run), policy_key(seed, first_run + run)
        previous = -1
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                chosen = choose_imed(plan, state, t - 1, key)
                arm = int(plan.arm[chosen])
                level, most = 0.0, 0.0
                if chosen == previous:
                    level, most = _imed_hold(plan, state, imed_leader(plan, state), chosen)
                previous = chosen
                if state.plays[arm] + 1.0 < most:
                    t = _hold(
                        rewards,
                        child(streams, arm),
                        arm,
                        state,
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
                    _step(rewards, child(streams, arm), arm, state)
                    t += 1
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
    size = plan.arm.size
    hats = np.empty((size, HAT_SHAPE[0], HAT_SHAPE[1]))
    score = np.empty(size)
    for run in range(states.shape[0]):
        state = state_of(states[run])
        streams, key = reward_key(seed, first_run + run), policy_key(seed, first_run + run)
        rounding = rounding_key(seed, first_run + run)
        for k in range(size):
            posterior_hat(hats[k], plan, parameters, state, k)
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                stream = child(key, t - 1)
                for k in range(size):
                    draws = child(stream, int(plan.arm[k]))
                    score[k] = plan.low[k] + plan.span[k] * sample_hat(hats[k], draws)
                chosen = argmax(score, key, t - 1)
                arm = int(plan.arm[chosen])
                reward = draw(rewards, arm, child(streams, arm), int(state.plays[arm]))
                observe(states[run], arm, reward, t - 1, rounding)
                posterior_hat(hats[chosen], plan, parameters, state, chosen)
                t += 1
            curves[run, c] = regret(gaps, states[run])
