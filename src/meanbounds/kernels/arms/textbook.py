"""One round of every policy, written as its definition says and chosen by the policy's code; agents run on this.

`meanbounds.kernels.fast` plays whole runs faster, with the same decisions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.chances import index_chances, thompson_chances
from meanbounds.kernels.arms.codes import (
    BOOST,
    DOUBTED,
    GAUSSIAN,
    GITTINS,
    IDS,
    IMED,
    KL,
    LOGGED,
    MIN_UCB,
    MINTS,
    MIXED,
    OSSB,
    THOMPSON,
)
from meanbounds.kernels.arms.doubt import choose_doubted, doubted_chances, doubted_indices
from meanbounds.kernels.arms.estimates import parts_of
from meanbounds.kernels.arms.gittins import choose_gittins, gittins_chances, gittins_scores
from meanbounds.kernels.arms.ids import choose_ids, ids_chances
from meanbounds.kernels.arms.imed import choose_imed, imed_scores
from meanbounds.kernels.arms.index import gaussian_index
from meanbounds.kernels.arms.kl import kl_index
from meanbounds.kernels.arms.logged import min_ucb_indices, with_log
from meanbounds.kernels.arms.mints import choose_mints, mints_chances
from meanbounds.kernels.arms.mixed_priors import (
    certain,
    choose_mixed_draws,
    choose_mixed_gittins,
    choose_mixed_ids,
    mixed_gittins,
    mixed_gittins_chances,
    mixed_ids_chances,
    mixed_thompson_chances,
)
from meanbounds.kernels.arms.ossb import choose_ossb, ossb_scores
from meanbounds.kernels.arms.settle import settled_scores
from meanbounds.kernels.arms.tables import argmax, break_ties, pick, plan_of, state_of
from meanbounds.kernels.arms.thompson import choose_thompson
from meanbounds.kernels.compiling import compiled, inlined
from meanbounds.kernels.copying import copy_into
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key, uniform
from meanbounds.support.types import Floats

__all__ = [
    "BOOST",
    "DOUBTED",
    "GAUSSIAN",
    "GITTINS",
    "IDS",
    "IMED",
    "KL",
    "LOGGED",
    "MINTS",
    "MIN_UCB",
    "MIXED",
    "OSSB",
    "THOMPSON",
    "chances",
    "choose",
    "choose_by",
    "indices",
    "observe",
    "play",
    "play_for",
    "regret",
    "split",
]

# The codes of mixtures: policies that are kernels of their own.
_MIXED_THOMPSON, _MIXED_GITTINS, _MIXED_IDS = THOMPSON + MIXED, GITTINS + MIXED, IDS + MIXED


@inlined
def _with_own_log(doubted: bool, plan_table: Floats, table: Floats) -> Floats:
    """The statistics with the log of the plan; a doubted plan has it at the end of each of its two plans."""
    return with_log(parts_of(plan_table)[0] if doubted else plan_table, table)


@inlined
def _fill_indices(code: int, plan_table: Floats, parameters: Floats, table: Floats, log_f: float, out: Floats) -> None:
    plan, state = plan_of(plan_table), state_of(table)
    if code == MIN_UCB:
        min_ucb_indices(plan_table, table, log_f, out)
    elif code == GITTINS:
        gittins_scores(plan, parameters, state, log_f, out, np.empty(out.size))
    elif code == _MIXED_GITTINS:
        mixed_gittins(plan_table, plan_table, certain(out.size), table, log_f, out, np.empty(out.size))
    elif code == GAUSSIAN:
        for k in range(out.size):
            out[k] = gaussian_index(plan, state, k, log_f)
    else:
        for k in range(out.size):
            out[k] = kl_index(plan, state, k, log_f, code == BOOST)


@inlined
def _settled(code: int, plan_table: Floats, parameters: Floats, table: Floats, log_f: float, scores: Floats) -> bool:
    """Whether a leader that may be as good as any arm can be is played; see `settled_scores`."""
    plan, state = plan_of(plan_table), state_of(table)
    if code == IMED:
        return (
            parameters.size > 1 and parameters[1] == 1.0 and settled_scores(plan, parameters[0], state, log_f, scores)
        )
    if code == THOMPSON:
        return (
            parameters.size > 3 and parameters[3] == 1.0 and settled_scores(plan, parameters[2], state, log_f, scores)
        )
    if code == _MIXED_THOMPSON:
        seen = state_of(with_log(plan_table, table))
        return parameters[3] == 1.0 and settled_scores(plan, 1.0, seen, log_f, scores)
    return False


@inlined
def _place(
    code: int,
    plan_table: Floats,
    parameters: Floats,
    table: Floats,
    log_f: float,
    number: int,
    key: np.uint64,
) -> int:
    """Place in the plan of the arm to play."""
    plan, state, scores = plan_of(plan_table), state_of(table), np.empty(plan_table.shape[1])
    if _settled(code, plan_table, parameters, table, log_f, scores):
        k = argmax(scores, key, number)
    elif code == IMED:
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
    elif code == _MIXED_THOMPSON:
        k = choose_mixed_draws(plan_table, plan_table, certain(scores.size), table, number, key)
    elif code == _MIXED_GITTINS:
        k = choose_mixed_gittins(plan_table, table, log_f, number, key)
    elif code == _MIXED_IDS:
        k = choose_mixed_ids(plan_table, parameters, table, number, key)
    else:
        _fill_indices(code, plan_table, parameters, table, log_f, scores)
        best = scores.max()
        break_ties(plan, state, scores, best)
        k = pick(scores, best, key, number)
    return k


@inlined
def choose_by(
    code: int,
    logged: bool,
    plan_table: Floats,
    parameters: Floats,
    table: Floats,
    log_f: float,
    number: int,
    key: np.uint64,
) -> int:
    """Arm to play: its place among all arms; `number` is the round, counted from 0, that addresses random numbers.

    The caller's `code` and `logged` have to be constants, see `inlined`: `split` gives them for a policy. For bounds
    that may be wrong there is `choose_doubted`.
    """
    seen = with_log(plan_table, table) if logged else table
    k = _place(code, plan_table, parameters, seen, log_f, number, key)
    if logged:
        copy_into(state_of(seen).memory, state_of(table).memory)  # what the kernel remembers of its own
    return int(plan_table[0, k])


@inlined
def _fill_chances(code: int, plan_table: Floats, parameters: Floats, table: Floats, log_f: float, out: Floats) -> float:
    plan, state, scores = plan_of(plan_table), state_of(table), np.empty(out.size)
    if code == GITTINS:
        gittins_chances(plan, parameters, state, log_f, out)
    elif code == MINTS:
        mints_chances(plan, state, out)
    elif code == IDS:
        ids_chances(plan, parameters, state, out)
    elif code == _MIXED_GITTINS:
        mixed_gittins_chances(plan_table, table, log_f, out)
    elif code == _MIXED_IDS:
        mixed_ids_chances(plan_table, plan_table, certain(out.size), parameters, table, out)
    elif _settled(code, plan_table, parameters, table, log_f, scores):
        index_chances(scores, out)
    elif code == THOMPSON:
        return thompson_chances(plan_table, parameters, table, out)
    elif code == _MIXED_THOMPSON:
        return mixed_thompson_chances(plan_table, plan_table, certain(out.size), table, out)
    else:
        if code == IMED:
            imed_scores(plan, parameters, state, scores)
        elif code == OSSB:
            ossb_scores(plan, parameters, state, log_f, scores)
        else:
            _fill_indices(code, plan_table, parameters, table, log_f, scores)
            break_ties(plan, state, scores, scores.max())
        index_chances(scores, out)
    return 0.0


def split(code: int) -> tuple[int, bool, bool]:
    """The code without the mark of a log, whether it had one, and whether it has a mark of doubt, which stays."""
    own = code % DOUBTED
    return code - own + own % LOGGED, own >= LOGGED, code >= DOUBTED


# A kernel that could play every policy would take minutes to compile. So each is made for one code, when it is needed.
# Whether bounds are doubted is asked in the kernel itself: a branch is left out before anything is put in its place.


@functools.cache
def _indices_for(given: int) -> Callable[[Floats, Floats, Floats, float, Floats], None]:
    code, logged, doubted = split(given)

    @compiled
    def indices(plan_table: Floats, parameters: Floats, table: Floats, log_f: float, out: Floats) -> None:
        seen = _with_own_log(doubted, plan_table, table) if logged else table
        if doubted:
            doubted_indices(code, plan_table, parameters, seen, log_f, out, np.empty(out.size))
        else:
            _fill_indices(code, plan_table, parameters, seen, log_f, out)

    return indices


def indices(code: int, plan_table: Floats, parameters: Floats, table: Floats, log_f: float, out: Floats) -> None:
    """Write each candidate's index; only for the codes that have one."""
    _indices_for(code)(plan_table, parameters, table, log_f, out)


@functools.cache
def _choose_for(given: int) -> Callable[[Floats, Floats, Floats, float, int, np.uint64], int]:
    code, logged, doubted = split(given)

    @compiled
    def choose(plan_table: Floats, parameters: Floats, table: Floats, log_f: float, number: int, key: np.uint64) -> int:
        if doubted:
            arm = choose_doubted(code, logged, plan_table, parameters, table, log_f, number, key)
        else:
            arm = choose_by(code, logged, plan_table, parameters, table, log_f, number, key)
        return arm

    return choose


def choose(
    code: int, plan_table: Floats, parameters: Floats, table: Floats, log_f: float, number: int, key: np.uint64
) -> int:
    """Arm to play: its place among all arms; see `choose_by`."""
    return _choose_for(code)(plan_table, parameters, table, log_f, number, key)


@functools.cache
def _chances_for(given: int) -> Callable[[Floats, Floats, Floats, float, Floats], float]:
    code, logged, doubted = split(given)

    @compiled
    def chances(plan_table: Floats, parameters: Floats, table: Floats, log_f: float, out: Floats) -> float:
        seen = _with_own_log(doubted, plan_table, table) if logged else table
        if doubted:
            error = doubted_chances(code, plan_table, parameters, seen, log_f, out)
        else:
            error = _fill_chances(code, plan_table, parameters, seen, log_f, out)
        return error

    return chances


def chances(code: int, plan_table: Floats, parameters: Floats, table: Floats, log_f: float, out: Floats) -> float:
    """Write each candidate's chance of being the one that `choose` plays; the state stays as it is.

    Returns the estimated error: 0 but for Thompson sampling, see `thompson_chances`.
    """
    return _chances_for(code)(plan_table, parameters, table, log_f, out)


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


@functools.cache
def play_for(given: int) -> Callable[[Floats, Floats, Block], None]:
    """The loop that plays a block of runs of policies with this code."""
    code, logged, doubted = split(given)

    @compiled
    def play(plan_table: Floats, parameters: Floats, block: Block) -> None:
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
                    budget = log_f[t - block.first_round]
                    if doubted:
                        arm = choose_doubted(code, logged, plan_table, parameters, table, budget, t - 1, key)
                    else:
                        arm = choose_by(code, logged, plan_table, parameters, table, budget, t - 1, key)
                    reward = draw(block.rewards, arm, child(streams, arm), int(plays[arm]))
                    observe(table, arm, reward, 1.0 - reward, t - 1, rounding)
                    t += 1
                block.curves[run, c] = regret(block.gaps, table)

    return play


def play(code: int, plan_table: Floats, parameters: Floats, block: Block) -> None:
    """Play a block of runs, round by round."""
    play_for(code)(plan_table, parameters, block)
