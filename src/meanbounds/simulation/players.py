"""Who plays in a simulation: policies in many runs side by side, compiled loops, or objects with pull and update."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meanbounds.evidence import Drift
from meanbounds.knowledge import Knowledge
from meanbounds.linear.oful import LinearPolicy
from meanbounds.policies.base import Policy, check_no_name
from meanbounds.policies.guarded import check_moving
from meanbounds.simulation.delays import Delay
from meanbounds.simulation.environments import Environment
from meanbounds.support.checks import shown
from meanbounds.support.types import Floats, Integers

__all__ = ["Play", "Played", "Task", "check_player", "play_for"]


@dataclass(frozen=True)
class Task:
    """What to play, and how long.

    Attributes
    ----------
    label
        What the result is called.
    player
        A policy, an object with `pull` and `update`, or a function from a seed to such an object.
    environment, knowledge
        Where rewards come from, and what the policy knows.
    seed, checkpoints
        The seed of the simulation, and the rounds at which the regret is kept; the last one is the horizon.
    delay, counts
        How late rewards come, and whether pending pulls count.
    considered
        Whether to record how many arms were considered in a round.
    compiled
        Whether a compiled loop may play.
    drift
        How to treat means that move; None if they stay.
    """

    label: str
    player: Any
    environment: Environment
    knowledge: Knowledge
    seed: int
    checkpoints: Integers
    delay: Delay | None = None
    counts: bool = False
    considered: bool = False
    compiled: bool = False
    drift: Drift | None = None

    @property
    def horizon(self) -> int:
        """How many rounds a run has."""
        return int(self.checkpoints[-1])


@dataclass
class Played:
    """The result of a block of runs.

    Attributes
    ----------
    curves
        Regret, shape (runs, checkpoints).
    plays
        How often each arm was played, shape (runs, arms).
    measures
        What else was recorded, each of the shape of `curves`.
    """

    curves: Floats
    plays: Integers
    measures: dict[str, Floats] = field(default_factory=dict)

    @classmethod
    def empty(cls, task: Task, runs: int) -> Played:
        """Room for the result of these runs."""
        arms = len(task.environment)
        return cls(np.zeros((runs, len(task.checkpoints))), np.zeros((runs, arms), dtype=np.int64))


Play = Callable[[Task, int, int, Callable[[int], None]], Played]
"""Plays runs of a task: takes the number of the first run, how many there are, and what to call with rounds done."""


def check_player(player: Any, labelled: bool = True) -> None:
    """Refuse what cannot play, with a word on what to give instead."""
    check_no_name(player)
    if isinstance(player, type) and issubclass(player, Policy | LinearPolicy):
        raise TypeError(f"give an object, not the class: did you mean mb.{player.__name__}()?")
    if isinstance(player, Policy | LinearPolicy):
        return
    plays = not isinstance(player, type) and hasattr(player, "pull") and hasattr(player, "update")
    if not (plays or callable(player)):
        raise TypeError(
            f"{shown(player)} cannot play: give a policy such as mb.GLUE(), an object with pull() and "
            f"update(arm, reward), or a function from a seed to such an object"
        )
    if not labelled:
        raise TypeError(f"{shown(player)} needs a label: give a mapping such as {{'mine': ...}}")


def play_for(task: Task, say: Callable[[str], None] = lambda _: None) -> Play:
    """How to play a task: by a compiled loop where there is one, it is wanted, and it plays what the policy says."""
    if isinstance(task.player, Policy):
        from meanbounds.simulation.batch import play_batch

        task.player.check_known(task.knowledge)
        if task.drift is not None:
            check_moving(task.player)
        if task.compiled and task.drift is None:
            from meanbounds.simulation.loops import loop_for

            loop = loop_for(task)
            if loop is not None:
                say(f"loading the compiled loop of {task.label}; the first time takes some seconds")
                if loop.follows(task):
                    return loop
                warnings.warn(
                    f"{task.label}: the compiled loop does not play what {type(task.player).__name__} says. Was its "
                    f"formula edited? It is played in numpy instead",
                    stacklevel=3,
                )
        return play_batch
    if task.drift is not None:
        raise ValueError(
            f"{task.label}: drift= is for policies for arms without features, such as mb.OptimisticGittins()"
        )
    if isinstance(task.player, LinearPolicy):
        from meanbounds.simulation.linear import play_linear

        return play_linear
    return play_object


def play_object(task: Task, first: int, runs: int, tick: Callable[[int], None]) -> Played:
    """Play objects with `pull` and `update`, one for each run."""
    from meanbounds.simulation.batch import Rewards

    environment, result = task.environment, Played.empty(task, runs)
    names = task.knowledge.bounds.arms
    positions = {arm: k for k, arm in enumerate(names)}
    rewards = Rewards(task, first, runs)
    for run in range(runs):
        own = task.player
        is_object = hasattr(own, "pull") and not isinstance(own, type)
        made = copy.deepcopy(own) if is_object else own(task.seed + first + run)
        if not (hasattr(made, "pull") and hasattr(made, "update")):
            raise TypeError(
                f"{task.label}: the function must return an object with pull() and update(); got {shown(made)}"
            )
        pulls, regret, place, own_row = np.zeros(len(names)), 0.0, 0, np.array([run])
        late = None if task.delay is None else task.delay.queue(task.seed, first + run, 1, task.horizon)
        for t in range(1, task.horizon + 1):
            for _, which, numbers, pulled in () if late is None else late.due(t):
                made.update(names[which[0]], float(rewards.draw(own_row, which, numbers, pulled)[0]))
            arm = made.pull()
            if arm not in positions:
                raise ValueError(f"{task.label}: pull() returned {shown(arm)}; the arms are {shown(list(names))}")
            k = positions[arm]
            gaps, _ = environment.gaps_from(t)
            regret += gaps[k]
            if late is None:
                made.update(arm, float(rewards.draw(own_row, np.array([k]), pulls[k : k + 1], t)[0]))
            else:
                late.send(t, np.array([k]), pulls[k : k + 1].copy())
            pulls[k] += 1
            if t == task.checkpoints[place]:
                result.curves[run, place] = regret
                place += 1
        result.plays[run] = pulls
        tick(task.horizon)
    return result
