"""Play a policy for arms with features in many runs side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanbounds.linear.oful import LinearPolicy
from meanbounds.simulation.batch import TICK, Rewards
from meanbounds.simulation.environments import Linear
from meanbounds.simulation.players import Played, Task
from meanbounds.support.checks import shown
from meanbounds.support.streams import Draws, stream

__all__ = ["play_linear"]


def play_linear(task: Task, first: int, runs: int, tick: Callable[[int], None]) -> Played:
    """Play these runs; see `meanbounds.simulation.players.Play`. Regret is against the best arm on offer."""
    policy: LinearPolicy = task.player
    environment = task.environment
    if not isinstance(environment, Linear):
        raise TypeError(
            f"{policy} learns from features: play it in mb.simulation.Linear(features, theta); got {shown(environment)}"
        )
    if task.delay is not None:
        raise ValueError(f"{policy} learns from features: rewards come at once in its simulations; leave delay out")
    rows = np.arange(runs)
    state = policy.start(environment.arms(task.knowledge.bounds), runs, task.knowledge)
    rewards, keys = Rewards(task, first, runs), stream(task.seed, first + rows, "policy")
    pulls, regret, width = np.zeros((runs, len(environment))), np.zeros(runs), np.zeros(runs)
    result, place = Played.empty(task, runs), 0
    result.measures["contradictions"] = np.zeros_like(result.curves)
    if task.considered:
        result.measures["considered"] = np.empty_like(result.curves)
    offered, best = None, float(environment.means.max())
    for t in range(1, task.horizon + 1):
        if environment.offered is not None:
            offered = environment.offers(task.seed, first + rows, t)
            best = environment.means[offered].max(axis=1)
        chosen = policy.choose(state, offered, Draws(keys, t - 1))
        reward = rewards.draw(rows, chosen, pulls[rows, chosen], t)
        policy.learn(state, chosen, reward)
        pulls[rows, chosen] += 1.0
        regret += best - environment.means[chosen]
        if task.considered:
            kept = state.allowed[0].kept(state.everything if offered is None else offered)
            width += np.count_nonzero(kept, axis=1)
        if t == task.checkpoints[place]:
            result.curves[:, place] = regret
            result.measures["contradictions"][:, place] = state.contradictions
            if task.considered:
                result.measures["considered"][:, place] = width / t
            place += 1
        if t % TICK == 0:
            tick(TICK * runs)
    tick(task.horizon % TICK * runs)
    result.plays[:] = pulls
    return result
