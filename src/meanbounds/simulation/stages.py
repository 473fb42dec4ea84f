"""Simulations of arms without features, in stages: the world may change, and bounds may stop to count."""

from __future__ import annotations

import functools
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanbounds import kernels
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.tables import State
from meanbounds.kernels.random.rewards import Rewards
from meanbounds.knowledge import Knowledge
from meanbounds.policies import Policy
from meanbounds.policies.exploration import Exploration, log_f
from meanbounds.simulation.changing import Changing
from meanbounds.simulation.environments import Environment
from meanbounds.support.types import Floats

__all__ = ["WINDOW", "Stage", "StagedTask", "check_undated", "shared_log_f", "stages_of"]

WINDOW = 1 << 20
"""Rounds for which log f is tabulated at once."""


@functools.lru_cache(maxsize=4)
def shared_log_f(f: Exploration, first: int, last: int) -> Floats:
    """Log f of these rounds; blocks of runs share the table, so do not write to it."""
    return log_f(f, first, last)


class Stage(NamedTuple):
    """Rounds in which nothing changes, up to the first one of the next stage."""

    first: int
    kernel: int
    plan: Floats
    rewards: Rewards
    gaps: Floats


def check_undated(known: Knowledge) -> None:
    """Refuse bounds that expire on a date: a simulation has none.

    Examples
    --------
    >>> import meanbounds as mb
    >>> check_undated(mb.Knowledge(mb.MeanBounds([0.8], [1.0]), expires="2027-01-31"))
    Traceback (most recent call last):
    ValueError: a simulation has rounds and no dates: give expires as a number of rounds, not 2027-01-31
    """
    if isinstance(known.expires, datetime):
        raise ValueError(
            f"a simulation has rounds and no dates: give expires as a number of rounds, not {known.expires:%Y-%m-%d}"
        )


def stages_of(policy: Policy, environment: Environment, known: Knowledge, horizon: int) -> tuple[Stage, ...]:
    """The stages of a simulation: they start where the world changes and where what is known of it does.

    Parameters
    ----------
    policy, environment, known, horizon
        As for `meanbounds.simulate`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> world = mb.Changing([(0, mb.Bernoulli([0.9])), (10, mb.Bernoulli([0.2]))])
    >>> known = mb.Knowledge(mb.MeanBounds([0.8], [1.0]), expires=5)
    >>> stages = stages_of(mb.GLUE(), world, known, 100)
    >>> [(stage.first, float(stage.plan[3, 0]), float(stage.rewards.parameters[0, 0])) for stage in stages]
    [(1, 0.8, 0.9), (6, 0.0, 0.9), (11, 0.0, 0.2)]
    """
    bounds = known.bounds
    starts: tuple[int, ...] = environment.starts if isinstance(environment, Changing) else (0,)
    worlds = environment.environments if isinstance(environment, Changing) else (environment,)
    found = []
    for start in sorted({0, *starts, *known.changes}):
        if start >= horizon:
            break
        world = worlds[int(np.searchsorted(starts, start, side="right")) - 1]
        plan = policy.plan(known.after(start))
        law = world.rewards(bounds.low, bounds.high)
        found.append(Stage(start + 1, policy.code(plan), plan.table, law, world.gaps))
    return tuple(found)


class StagedTask(NamedTuple):
    """Arms without features, all of them on offer in each round, in stages; see `meanbounds.simulation.tasks.Task`."""

    stages: tuple[Stage, ...]
    parameters: Floats
    f: Exploration
    seed: int
    rounds: NDArray[np.int64]
    textbook: bool

    def curves_and_plays(self, first_run: int, runs: int) -> tuple[Floats, NDArray[np.int64]]:
        """Play stage after stage: kernels reckon regret with the gaps of one stage, so the rest is added here."""
        states = np.zeros((runs, len(State._fields), self.stages[0].gaps.size))
        curves, before = np.empty((runs, self.rounds.size)), np.zeros(runs)
        horizon = int(self.rounds[-1])
        ends = [*(stage.first - 1 for stage in self.stages[1:]), horizon]
        play = kernels.textbook.play if self.textbook else kernels.play
        for stage, end in zip(self.stages, ends, strict=True):
            offset = before - states[:, 0] @ stage.gaps
            for first in range(stage.first, min(end, horizon) + 1, WINDOW):
                last = min(first + WINDOW - 1, end, horizon)
                inside = (self.rounds >= first) & (self.rounds <= last)
                stops = np.union1d(self.rounds[inside], [last])
                window, table = np.empty((runs, stops.size)), shared_log_f(self.f, first, last)
                seed = np.uint64(self.seed)
                block = Block(states, stage.rewards, seed, first_run, table, first, stops, stage.gaps, window)
                play(stage.kernel, stage.plan, self.parameters, block)
                window += offset[:, None]
                curves[:, inside], before = window[:, : inside.sum()], window[:, -1]
        return curves, states[:, 0].astype(np.int64)
