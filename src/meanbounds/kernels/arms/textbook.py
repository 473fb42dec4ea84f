"""One round of every policy, written as its definition says and chosen by the policy's code; agents run on this.

`meanbounds.kernels.fast` plays whole runs faster, with the same decisions.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.chances import index_chances, thompson_chances
from meanbounds.kernels.arms.gittins import choose_gittins, gittins_chances, gittins_scores
from meanbounds.kernels.arms.ids import choose_ids, ids_chances
from meanbounds.kernels.arms.imed import choose_imed, imed_scores
from meanbounds.kernels.arms.index import gaussian_index
from meanbounds.kernels.arms.kl import kl_index
from meanbounds.kernels.arms.logged import min_ucb_indices, with_log
from meanbounds.kernels.arms.mints import choose_mints, mints_chances
from meanbounds.kernels.arms.ossb import choose_ossb, ossb_scores
from meanbounds.kernels.arms.settle import settled_scores
from meanbounds.kernels.arms.tables import Plan, State, argmax, break_ties, plan_of, state_of
from meanbounds.kernels.arms.thompson import choose_thompson
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key, uniform
from meanbounds.support.types import Floats

__all__ = [
    "BOOST",
    "GAUSSIAN",
    "GITTINS",
    "IDS",
    "IMED",
    "KL",
    "LOGGED",
    "MINTS",
    "MIN_UCB",
    "OSSB",
    "THOMPSON",
    "chances",
    "choose",
    "indices",
    "observe",
    "play",
    "regret",
]

GAUSSIAN = 0
KL = 1
BOOST = 2
IMED = 3
OSSB = 4
THOMPSON = 5
GITTINS = 6
IDS = 7
MINTS = 8
MIN_UCB = 9
LOGGED = 32
"""Added to the code of a policy that starts from a log by arm, which the last rows of its plan hold."""


@compiled
def _fill(code: int, plan: Plan, state: State, log_f: float, out: Floats) -> None:
    for k in range(plan.arm.size):
        if code == GAUSSIAN:
            out[k] = gaussian_index(plan, state, k, log_f)
        else:
            out[k] = kl_index(plan, state, k, log_f, code == BOOST)


@compiled
def indices(code: int, plan_table: Floats, parameters: Floats, state_table: Floats, log_f: float, out: Floats) -> None:
    """Write each candidate's index; only for the codes that have one."""
    if code >= LOGGED:
        state_table, code = with_log(plan_table, state_table), code - LOGGED
    if code == MIN_UCB:
        min_ucb_indices(plan_table, state_table, log_f, out)
    elif code == GITTINS:
        gittins_scores(plan_of(plan_table), parameters, state_of(state_table), log_f, out, np.empty(out.size))
    else:
        _fill(code, plan_of(plan_table), state_of(state_table), log_f, out)


@compiled
def _settles(code: int, parameters: Floats) -> bool:
    """Whether the policy plays a leader that may be as good as any arm can be; see `settled_scores`."""
    return (code == IMED and parameters.size > 1 and parameters[1] == 1.0) or (
        code == THOMPSON and parameters.size > 3 and parameters[3] == 1.0
    )


@compiled
def _moments(code: int, parameters: Floats) -> float:
    """How many moments of the rewards a policy that settles takes into account."""
    return float(parameters[0] if code == IMED else parameters[2])


@compiled
def choose(
    code: int,
    plan_table: Floats,
    parameters: Floats,
    state_table: Floats,
    log_f: float,
    number: int,
    key: np.uint64,
) -> int:
    """Arm to play: its place among all arms. `number` is the round, counted from 0, that addresses random numbers."""
    own, logged = state_table, code >= LOGGED
    if logged:
        state_table, code = with_log(plan_table, state_table), code - LOGGED
    plan, state = plan_of(plan_table), state_of(state_table)
    if _settles(code, parameters):
        scores = np.empty(plan.arm.size)
        if settled_scores(plan, _moments(code, parameters), state, log_f, scores):
            return int(plan.arm[argmax(scores, key, number)])
    if code == IMED:
        k = choose_imed(plan, parameters, state, number, key)
    elif code == OSSB:
        k = choose_ossb(plan, parameters, state, log_f, number, key)
    elif code == THOMPSON:
        k = choose_thompson(plan, parameters, state, number, key)
    elif code == GITTINS:
        k = choose_gittins(plan, parameters, state, log_f, number, key)
    elif code == MINTS:
        k = choose_mints(plan, state, number, key)
    elif code == IDS:
        k = choose_ids(plan, parameters, state, number, key)
    else:
        scores = np.empty(plan.arm.size)
        indices(code, plan_table, parameters, state_table, log_f, scores)
        break_ties(plan, state, scores)
        k = argmax(scores, key, number)
    if logged:
        state_of(own).memory[:] = state.memory  # what the kernel remembers of its own
    return int(plan.arm[k])


@compiled
def chances(code: int, plan_table: Floats, parameters: Floats, state_table: Floats, log_f: float, out: Floats) -> float:
    """Write each candidate's chance of being the one that `choose` plays; the state stays as it is.

    Returns the estimated error: 0 but for Thompson sampling, see `thompson_chances`.
    """
    if code >= LOGGED:
        state_table, code = with_log(plan_table, state_table), code - LOGGED
    plan, state = plan_of(plan_table), state_of(state_table)
    if code == GITTINS:
        gittins_chances(plan, parameters, state, log_f, out)
        return 0.0
    if code == MINTS:
        mints_chances(plan, state, out)
        return 0.0
    if code == IDS:
        ids_chances(plan, parameters, state, out)
        return 0.0
    scores = np.empty(plan.arm.size)
    if _settles(code, parameters) and settled_scores(plan, _moments(code, parameters), state, log_f, scores):
        index_chances(scores, out)
        return 0.0
    if code == THOMPSON:
        return thompson_chances(plan_table, parameters, state_table, out)
    if code == IMED:
        imed_scores(plan, parameters, state, scores)
    elif code == OSSB:
        ossb_scores(plan, parameters, state, log_f, scores)
    else:
        indices(code, plan_table, parameters, state_table, log_f, scores)
        break_ties(plan, state, scores)
    index_chances(scores, out)
    return 0.0


@compiled
def observe(state_table: Floats, arm: int, reward: float, shortfall: float, number: int, key: np.uint64) -> None:
    """Add a reward (in units of the arm's range); `key` rounds it at random to 0 or 1, for posteriors.

    ``shortfall`` is 1 - reward, which a caller that knows the reward itself can compute with more digits.
    """
    state = state_of(state_table)
    state.plays[arm] += 1.0
    state.total[arm] += reward
    state.squares[arm] += reward * reward
    state.shortfall[arm] += shortfall
    state.shortfall_squares[arm] += shortfall * shortfall
    if uniform(key, number) < reward:
        state.ones[arm] += 1.0


@compiled
def regret(gaps: Floats, state_table: Floats) -> float:
    """Pseudo-regret so far: each arm's gap times its plays, summed in the order of the arms."""
    plays = state_of(state_table).plays
    value = 0.0
    for arm in range(gaps.size):
        value += gaps[arm] * plays[arm]
    return value


@compiled
def play(code: int, plan_table: Floats, parameters: Floats, block: Block) -> None:
    """Play a block of runs, round by round."""
    states, log_f, stops = block.states, block.log_f, block.stops
    for run in range(states.shape[0]):
        table = states[run]
        plays = state_of(table).plays
        streams = reward_key(block.seed, block.first_run + run)
        key = policy_key(block.seed, block.first_run + run)
        rounding = rounding_key(block.seed, block.first_run + run)
        t = block.first_round
        for c in range(stops.size):
            while t <= stops[c]:
                arm = choose(code, plan_table, parameters, table, log_f[t - block.first_round], t - 1, key)
                reward = draw(block.rewards, arm, child(streams, arm), int(plays[arm]))
                observe(table, arm, reward, 1.0 - reward, t - 1, rounding)
                t += 1
            block.curves[run, c] = regret(block.gaps, table)
