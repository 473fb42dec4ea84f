"""Compiled loops: play whole runs as the policies would, decision for decision, some ten to hundred times faster.

There are loops for the package's own policies with certain bounds, the uniform prior and rewards of 0 and 1 or uniform
ones that come at once. Everything else is played in numpy. The loops need numba: ``pip install ".[fast]"``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from meanbounds.known import Known, Seen
from meanbounds.policies import (
    BIMED,
    BKLUCB,
    BUCB,
    GLUE,
    IDS,
    KLUCB,
    UCB,
    ImprovedUCB,
    OptimisticGittins,
    ThompsonSampling,
)
from meanbounds.policies.base import choose
from meanbounds.policies.settling import leaders
from meanbounds.posterior import posterior
from meanbounds.simulation.batch import Rewards
from meanbounds.simulation.environments import Bernoulli, Environment, Uniform
from meanbounds.simulation.players import Played, Task
from meanbounds.support.optional import import_optional
from meanbounds.support.streams import Draws, stream, uniform
from meanbounds.support.types import Floats

__all__ = ["law_of", "loop_for"]

_TRIED = 200_000, 150  # the first rounds; of these twice as many in which a loop has to decide as its policy does

_INDEX: dict[type, tuple[int, Callable[[Any, Known], Floats]]] = {
    UCB: (0, lambda _, known: known.worst_proxy),
    BUCB: (0, lambda _, known: known.worst_proxy),
    ImprovedUCB: (0, lambda _, known: known.proxy),
    GLUE: (0, lambda policy, known: policy.proxy(known)),
    KLUCB: (1, lambda _, known: known.worst_proxy),
    BKLUCB: (1, lambda _, known: known.worst_proxy),
}

_STATISTICS: dict[type, str] = {BIMED: "bimed", ThompsonSampling: "thompson", OptimisticGittins: "gittins"}


def loop_for(task: Task) -> _Loop | None:
    """The loop that plays this task; None if there is none."""
    policy, knowledge = task.player, task.knowledge
    plain = knowledge.is_certain and knowledge.prior is None and task.delay is None and not task.considered
    if not plain or type(task.environment) not in (Bernoulli, Uniform) or getattr(policy, "moments", 1) != 1:
        return None
    if type(policy) in _INDEX:
        return _Loop("index", _index_arguments)
    if type(policy) in _STATISTICS:
        return _Loop(_STATISTICS[type(policy)], _statistics_arguments)
    if type(policy) is IDS:
        return _Loop("ids", _ids_arguments)
    return None


class _Loop:
    """Plays runs of a task by one of the compiled functions."""

    releases_lock = True  # blocks can be played on threads

    def __init__(self, module: str, arguments: Callable[[Task, Known], tuple[Any, ...]]) -> None:
        self._module, self._arguments = module, arguments

    def __call__(
        self, task: Task, first: int, runs: int, tick: Callable[[int], None], gaps: Floats | None = None
    ) -> Played:
        """Play the runs; see `meanbounds.simulation.players.Play`. By default gaps are those of the environment."""
        import_optional("numba", "fast", "compiled loops")
        loop = getattr(
            import_optional(f"{__name__}.{self._module}_loop", "fast", "compiled loops"), f"play_{self._module}"
        )
        known = Known.of([task.knowledge])
        known = known if task.player.uses_bounds else known.vacuous
        law, played = law_of(task.environment, known), Played.empty(task, runs)
        rounds = np.arange(1.0, task.horizon + 1.0)
        log_f = np.ascontiguousarray(np.broadcast_to(task.player.log_f(rounds), rounds.shape))
        loop(
            *self._arguments(task, known),
            law,
            log_f,
            task.checkpoints,
            task.environment.gaps if gaps is None else gaps,
            np.uint64(task.seed),
            first,
            played.curves,
            played.plays,
        )
        tick(runs * task.horizon)
        return played

    def follows(self, task: Task) -> bool:
        """Whether the loop decides as the policy, whose formula may have been edited: some rounds of four runs tell."""
        horizon, rows, arms = min(task.horizon, _TRIED[0]), np.arange(4), len(task.environment)
        rounds, known = np.arange(horizon), Known.of([task.knowledge])
        trial = replace(task, checkpoints=rounds + 1)
        # With gaps 0, 1, 2, ... the regret of a round is the number of the arm.
        regret = self(trial, 0, len(rows), lambda _: None, np.arange(arms, dtype=np.float64)).curves
        played = np.diff(regret, axis=1, prepend=0.0).astype(np.int64)
        # Rounds in which a run changes arms tell most: there, indices or draws are close.
        changes = np.flatnonzero((np.diff(played, axis=1, prepend=0) != 0).any(axis=0))
        changes = changes[np.linspace(0, changes.size - 1, _TRIED[1]).astype(np.int64)] if changes.size else changes
        tried = np.union1d(np.geomspace(1, horizon, _TRIED[1]).astype(np.int64) - 1, changes)
        parts = np.searchsorted(tried, rounds, side="right")
        rewards, seen = Rewards(trial, 0, len(rows)), Seen.empty(tried.size * rows.size, arms)
        tables = seen.plays, seen.total, seen.squares, seen.ones
        for row in rows:
            own, pulls = played[row], np.empty(horizon)
            for k in range(arms):
                pulls[own == k] = np.arange(np.count_nonzero(own == k))
            reward = rewards.draw(np.full(horizon, row), own, pulls, 1)
            reward = (reward - known.low[0, own]) / known.width[0, own]
            ones = uniform(stream(task.seed, row, "rounding"), rounds) < reward
            for part, values in zip(tables, (np.ones(horizon), reward, reward * reward, ones), strict=True):
                sums = np.bincount(parts * arms + own, values, arms * (tried.size + 1)).reshape(-1, arms)
                part[row * tried.size : (row + 1) * tried.size] = sums[:-1].cumsum(axis=0)
        draws = Draws(np.repeat(stream(task.seed, rows, "policy"), tried.size), np.tile(tried, rows.size))
        known = known if task.player.uses_bounds else known.vacuous
        chosen = choose(task.player, known, seen, np.tile(tried + 1.0, rows.size), draws, {})
        return np.array_equal(chosen, played[:, tried].reshape(-1))


def _index_arguments(task: Task, known: Known) -> tuple[Any, ...]:
    kind, proxy_of = _INDEX[type(task.player)]
    places = np.flatnonzero(known.possible[0])
    cap = np.full(known.upper.shape, np.inf) if isinstance(task.player, UCB) else known.upper
    columns = (known.low, known.width, known.lower, known.upper, cap, proxy_of(task.player, known))
    arms = np.stack([np.broadcast_to(column, known.low.shape)[0, places] for column in columns])
    return kind, arms, known.scale, places


def _statistics_arguments(task: Task, known: Known) -> tuple[Any, ...]:
    """What is known of arms that may be played, the size of rewards, the positions of these arms."""
    places, seen = np.flatnonzero(known.possible[0]), Seen.empty(*known.low.shape)
    able, goal, share = leaders(known, seen, np.zeros_like(known.low), np.ones((1, 1)))
    share = np.where(able & getattr(task.player, "settle", False), share, 0.0)
    parts = posterior(known, seen).parts
    columns = [known.low, known.width, known.lower, known.upper, (goal - known.low) / known.width, share]
    return np.stack([column[0, places] for column in (*columns, parts.lower[0], parts.upper[0])]), known.scale, places


def _ids_arguments(task: Task, known: Known) -> tuple[Any, ...]:
    """Arms that may be played, in the units of the policy's integrals, its power, the positions of these arms."""
    possible, low, width = task.player.candidates(known)
    places = np.flatnonzero(possible[0])
    bounds = ((own - known.low) / known.width for own in (known.lower, known.upper))
    columns = ((known.low - low) / width, known.width / width, *bounds)
    return np.stack([column[0, places] for column in columns]), float(task.player.power), places


def law_of(environment: Environment, known: Known) -> Floats:
    """The law of each arm's rewards, as `loop_streams.reward` reads it: a column for each arm."""
    low, width = known.low[0], known.width[0]
    if isinstance(environment, Uniform):
        start, reach = environment.interval
        return np.stack([np.ones_like(low), start, reach, low, width])
    share = environment.share if isinstance(environment, Bernoulli) else low
    ends = (environment.high - low) / width, (environment.low - low) / width
    return np.stack([np.zeros_like(low), share, *ends, width])
