"""Play a policy in many runs side by side: one step of numpy for each round, one row for each run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meanbounds.evidence.drift import Memory, doubted
from meanbounds.known import Known, Seen
from meanbounds.policies.base import Policy, choose
from meanbounds.simulation.players import Played, Task
from meanbounds.support.streams import Draws, child, stream, uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["TICK", "Rewards", "play_batch"]

TICK = 256
"""Rounds between two words on progress."""


def play_batch(task: Task, first: int, runs: int, tick: Callable[[int], None]) -> Played:
    """Play these runs of a policy for arms without features.

    Parameters
    ----------
    task
        What to play.
    first, runs
        The number of the first run, and how many there are.
    tick
        Called with the number of rounds done since the last call.
    """
    policy: Policy = task.player
    known, environment = Known.of([task.knowledge]), task.environment
    known = known if policy.uses_bounds else known.vacuous
    rows, arms = np.arange(runs), len(environment)
    rewards, keys = Rewards(task, first, runs), stream(task.seed, first + rows, "policy")
    seen, pulls, cache = Seen.empty(runs, arms), np.zeros((runs, arms)), dict[str, Any]()
    late = None if task.delay is None else task.delay.queue(task.seed, first, runs, task.horizon)
    memory = rewards.memory = None if task.drift is None else Memory(task.drift, runs, arms)
    trusted, restarts = known, 0.0
    gaps, changes = environment.gaps_from(1)
    regret, before = np.zeros(runs), np.zeros((runs, arms))  # of the stages that are over, and the pulls until then
    result, width, place = Played.empty(task, runs), np.zeros(runs), 0
    if task.considered:
        result.measures["considered"] = np.empty_like(result.curves)
    for t in range(1, task.horizon + 1):
        if t == changes:
            regret, before = regret + (pulls - before) @ gaps, pulls.copy()
            gaps, changes = environment.gaps_from(t)
        clock, supposed = np.array([float(t)]), seen
        if late is not None:
            for some, which, numbers, pulled in late.due(t):
                rewards.pay(seen, some, which, numbers, pulled)
            seen.pending = pulls - seen.plays
            if task.counts:
                supposed = seen.with_pending(known)
            else:
                clock = seen.plays.sum(axis=1) + 1.0
        if memory is not None:
            clock, supposed = memory.age + 1.0, memory.beside(seen)
            if memory.restarts.sum() > restarts:
                restarts, known, cache = memory.restarts.sum(), doubted(trusted, memory.restarts > 0.0), {}
            if late is not None and task.counts:
                clock, supposed = clock + (pulls - seen.plays).sum(axis=1), supposed.with_pending(known)
        draws = Draws(keys, t - 1)
        chosen = choose(policy, known, supposed, clock, draws, cache)
        if task.considered:
            width += _considered(policy, known, supposed, clock, draws, cache)
        flat = rows * arms + chosen
        numbers = pulls.reshape(-1)[flat]
        if late is None:
            rewards.pay(seen, rows, chosen, numbers, t)
        else:
            late.send(t, chosen, numbers)
        pulls.reshape(-1)[flat] += 1.0
        if t == task.checkpoints[place]:
            result.curves[:, place] = regret + (pulls - before) @ gaps
            if task.considered:
                result.measures["considered"][:, place] = width / t
            place += 1
        if t % TICK == 0:
            tick(TICK * runs)
    tick(task.horizon % TICK * runs)
    result.plays[:] = pulls
    return result


class Rewards:
    """The rewards of a block of runs: each follows from the seed, the run, the arm and the number of its pull."""

    def __init__(self, task: Task, first: int, runs: int) -> None:
        numbers, bounds = first + np.arange(runs), task.knowledge.bounds
        self._environment = task.environment
        self._keys = child(stream(task.seed, numbers, "rewards")[:, None], np.arange(len(bounds)))
        self._roundings = stream(task.seed, numbers, "rounding")
        self._updates = np.zeros(runs)
        self._low, self._width = bounds.low, bounds.high - bounds.low
        self.memory: Memory | None = None

    def draw(self, rows: Integers, arms: Integers, numbers: Floats, t: int) -> Floats:
        """The rewards of these pulls, in reward units."""
        return self._environment.at(t).reward(arms, uniform(self._keys[rows, arms], numbers))

    def pay(self, seen: Seen, rows: Integers, arms: Integers, numbers: Floats, t: int) -> None:
        """Add the rewards of these pulls to the statistics, in units of each arm's range."""
        reward = (self.draw(rows, arms, numbers, t) - self._low[arms]) / self._width[arms]
        graded = ((reward > 0.0) & (reward < 1.0)).any()  # others need no rounding
        roundings = uniform(self._roundings[rows], self._updates[rows]) if graded else 0.0 * reward
        seen.add(rows, arms, reward, roundings)
        if self.memory is not None:
            self.memory.add(rows, arms, reward, roundings)
        self._updates[rows] += 1.0


def _considered(policy: Policy, known: Known, seen: Seen, t: Floats, draws: Draws, cache: dict[str, Any]) -> Floats:
    """How many arms had a score above minus infinity."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = policy.scores(known, seen, t, draws, cache)
    scores = found[0] if isinstance(found, tuple) else found
    return np.count_nonzero(np.broadcast_to(scores, seen.plays.shape) > -np.inf, axis=1).astype(np.float64)
