"""Play agents in an environment: slower than `simulate`, and for whatever has `pull` and `update`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.knowledge import Knowledge
from meanbounds.simulation.environments import Environment
from meanbounds.simulation.regret import Regret
from meanbounds.simulation.run import check_fit, checkpoint_rounds, describe, read_size
from meanbounds.support.checks import as_mapping, shown
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats, Integers

__all__ = ["Player", "simulate_agents"]


class Player(Protocol):
    """Whatever decides and learns, such as `meanbounds.Agent` or `meanbounds.ArtificialReplay`."""

    def pull(self) -> Arm:
        """Choose an arm."""

    def update(self, arm: Arm, reward: float) -> None:
        """Learn a reward."""


def simulate_agents(
    agents: Mapping[str, Callable[[int], Any]],
    environment: Environment,
    bounds: MeanBounds | None = None,
    *,
    horizon: int = 1_000,
    runs: int = 20,
    seed: Seed = None,
    checkpoints: int | list[int] = 200,
) -> Regret:
    """Play agents, many runs each, and record the regret; for agents that are more than a policy.

    The rewards are those of `meanbounds.simulate` with the same environment and seed, so the results can be compared
    run by run. A round takes some microseconds, where `simulate` takes a fraction of one.

    Parameters
    ----------
    agents
        For each label a function that makes an agent for one run, from a seed of its own. That of run 0 is `seed`, so
        an agent with this seed plays as in run 0 of `meanbounds.simulate`.
    environment, bounds, horizon, runs, seed, checkpoints
        As for `meanbounds.simulate`. The bounds name the arms and their ranges; agents need not use them.

    Examples
    --------
    A hundred past rewards of each arm, used as they are needed:

    >>> import numpy as np
    >>> import meanbounds as mb
    >>> environment, bounds = mb.Bernoulli([0.9, 0.8]), mb.MeanBounds.vacuous(2)
    >>> def with_past(seed: int) -> mb.ArtificialReplay:
    ...     past = np.random.default_rng(seed).random((2, 100)) < [[0.9], [0.8]]
    ...     return mb.ArtificialReplay(mb.Agent(mb.UCB(), bounds, seed=seed), dict(enumerate(past.astype(float))))
    >>> def without(seed: int) -> mb.Agent:
    ...     return mb.Agent(mb.UCB(), bounds, seed=seed)
    >>> regret = mb.simulation.simulate_agents(
    ...     {"replay": with_past, "from nothing": without}, environment, horizon=200, runs=10, seed=7
    ... )
    >>> bool(regret.final["replay"].mean() < regret.final["from nothing"].mean())
    True
    """
    if not isinstance(environment, Environment):
        raise TypeError(f"environment must be one such as mb.Bernoulli([0.9, 0.8]); got {shown(environment)}")
    named = _labelled(agents)
    if bounds is None:
        bounds = MeanBounds.vacuous(len(environment), low=environment.low, high=environment.high)
    bounds = Knowledge.of(bounds).bounds
    check_fit(environment, bounds)
    horizon, runs = read_size("horizon", horizon), read_size("runs", runs)
    rounds, number = checkpoint_rounds(checkpoints, horizon), as_seed(seed)
    curves = {label: np.empty((runs, rounds.size)) for label in named}
    plays = {label: np.zeros((runs, len(bounds)), dtype=np.int64) for label in named}
    for label, make in named.items():
        for run in range(runs):
            own = number if run == 0 else int(child(np.uint64(number), run)) >> 1
            agent = make(own)
            if not (hasattr(agent, "pull") and hasattr(agent, "update")):
                raise TypeError(f"{label}: the function must return an agent, with pull and update; got {shown(agent)}")
            _play(agent, environment, bounds, number, run, rounds, curves[label][run], plays[label][run])
    about = {label: {"agent": getattr(make, "__qualname__", repr(make))} for label, make in named.items()}
    return Regret(rounds, curves, plays, describe(about, environment, bounds, horizon, runs, number), {})


def _labelled(agents: Any) -> dict[str, Callable[[int], Player]]:
    """The functions by label; anything else is refused."""
    named = dict(as_mapping("agents", agents))
    for label, make in named.items():
        if not (isinstance(label, str) and callable(make)):
            raise TypeError(
                f"agents must be a mapping from labels to functions that make an agent from a seed; got {shown(label)} "
                f"and {shown(make)}"
            )
    if not named:
        raise ValueError("give at least one agent")
    return named


def _play(
    agent: Player,
    environment: Environment,
    bounds: MeanBounds,
    seed: int,
    run: int,
    rounds: Integers,
    curve: Floats,
    plays: Integers,
) -> None:
    """One run; fills in the regret at the checkpoints and the plays."""
    law, gaps = environment.rewards(bounds.low, bounds.high), environment.gaps
    key, span = np.uint64(reward_key(np.uint64(seed), run)), bounds.high - bounds.low
    streams = [np.uint64(child(key, k)) for k in range(len(bounds))]
    t = 0
    for place, stop in enumerate(rounds.tolist()):
        while t < stop:
            arm = agent.pull()
            k = bounds.position(arm)
            reward = bounds.low[k] + span[k] * draw(law, k, streams[k], int(plays[k]))
            agent.update(arm, min(float(bounds.high[k]), float(reward)))
            plays[k] += 1
            t += 1
        curve[place] = float(gaps @ plays)
