"""Thompson sampling over whole runs: only the arm that was played gets a new envelope to sample from."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.inversion import inverts
from meanbounds.kernels.arms.logged import add_log, with_log
from meanbounds.kernels.arms.tables import argmax, clipped_mean, plan_of, state_of
from meanbounds.kernels.arms.textbook import LOGGED, THOMPSON, observe, regret
from meanbounds.kernels.arms.textbook import play as play_textbook
from meanbounds.kernels.arms.thompson import (
    HAT_SHAPE,
    in_raw_units,
    offered_floor,
    posterior_hat,
    sample_hat,
    shared_floor,
    takes_shared_floor,
)
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.inversion import play_inverted_for
from meanbounds.kernels.fast.settle import may_settle, settled_place
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key
from meanbounds.support.types import Floats

__all__ = ["play_logged_thompson", "play_rejected_for", "play_thompson"]


def play_thompson(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for Thompson sampling, however it draws."""
    (play_inverted_for if inverts(parameters) else play_rejected_for)(False)(plan_table, parameters, block)


def play_logged_thompson(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """The same with plays from a log or a prior; where a posterior may have a parameter below 1, by the textbook."""
    if parameters[0] + plan_table[-2:].min() < 1.0:
        play_textbook(THOMPSON + LOGGED, plan_table, parameters, block)
    else:
        (play_inverted_for if inverts(parameters) else play_rejected_for)(True)(plan_table, parameters, block)


@functools.cache
def play_rejected_for(logged: bool) -> Callable[[Floats, Floats, Block], None]:
    """`textbook.play` for Thompson sampling by rejection; the envelope (hat) of an arm is kept until it is played.

    Plays from a log or a prior are as in `play_inverted_for`.
    """

    @compiled
    def play(plan_table: Floats, parameters: Floats, block: Block) -> None:
        states, rewards, stops = block.states, block.rewards, block.stops
        seed, first_run, first_round = block.seed, block.first_run, block.first_round
        gaps, curves, log_f = block.gaps, block.curves, block.log_f
        plan = plan_of(plan_table)
        arms, low, span, lower, cap, high = plan.arm, plan.low, plan.span, plan.lower, plan.cap, plan.high
        size = arms.size
        hats = np.empty((size, HAT_SHAPE[0], HAT_SHAPE[1]))
        floors, rooms, score = np.empty(size), np.empty(size), np.empty(size)
        offered = np.empty(size)  # the floor that each candidate offers to those without one
        settling = parameters.size > 3 and parameters[3] == 1.0
        clipped, goals = np.empty(size), np.empty(size)
        able = may_settle(cap, goals)
        for run in range(states.shape[0]):
            table = states[run]
            known = with_log(plan_table, table) if logged else table
            own, state = state_of(table), state_of(known)
            streams, key = reward_key(seed, first_run + run), policy_key(seed, first_run + run)
            rounding = rounding_key(seed, first_run + run)
            shared = shared_floor(plan, parameters, state)
            sharing = 0  # candidates that take the shared floor
            for k in range(size):
                sharing += takes_shared_floor(parameters, state, int(arms[k]))
                offered[k] = offered_floor(plan, state, k)
                floors[k], rooms[k] = posterior_hat(hats[k], plan, parameters, state, k, shared)
                clipped[k] = clipped_mean(plan, state, k)
            t = first_round
            for c in range(stops.size):
                while t <= stops[c]:
                    stream, chosen = child(key, t - 1), -1
                    if settling:
                        budget, best = log_f[t - first_round], clipped.max()
                        moments = parameters[2]
                        chosen = settled_place(plan, state, moments, budget, able, goals, clipped, best, key, t - 1)
                    if chosen < 0:
                        for k in range(size):
                            x = sample_hat(hats[k], child(stream, int(arms[k])))
                            ends, bounds = (low[k], span[k], high[k]), (lower[k], cap[k])
                            score[k] = in_raw_units(x, (floors[k], rooms[k]), ends, bounds)
                        chosen = argmax(score, key, t - 1)
                    arm = int(plan.arm[chosen])
                    reward = draw(rewards, arm, child(streams, arm), int(own.plays[arm]))
                    observe(table, arm, reward, 1.0 - reward, t - 1, rounding)
                    if logged:
                        add_log(plan_table, table, known, chosen)
                    clipped[chosen] = clipped_mean(plan, state, chosen)
                    if sharing > 0:
                        if offered[chosen] == -np.inf and state.shortfall[arm] > 0.0:
                            sharing -= 1
                        offered[chosen] = offered_floor(plan, state, chosen)
                        before, shared = shared, offered.max()
                        for k in range(size if shared != before else 0):
                            if offered[k] == -np.inf:
                                floors[k], rooms[k] = posterior_hat(hats[k], plan, parameters, state, k, shared)
                    floors[chosen], rooms[chosen] = posterior_hat(hats[chosen], plan, parameters, state, chosen, shared)
                    t += 1
                curves[run, c] = regret(gaps, table)

    return play
