"""Policies in many worlds, with the bounds of each world and without any, on the same rewards."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import meanbounds as mb
from benchmarks.contenders import FEWEST_RUNS, share_of, starts_from_log
from meanbounds.paper.base import expecting
from meanbounds.paper.verdicts import LEVEL, less
from meanbounds.support.types import Floats
from meanbounds.worlds.kinds import World

Scores = Mapping[str, Floats]
"""For each policy its regret: worlds x runs x checkpoints."""


@dataclass(frozen=True)
class Setting:
    """Some worlds to play in: what they are, how many runs in each, and at which rounds to look."""

    name: str
    about: str
    worlds: Sequence[World]
    runs: int
    rounds: tuple[int, ...]
    drawn: bool = True  # whether the worlds are a sample of more such worlds
    spare: str = "runs"  # what slow policies play fewer of: "runs" of each world, "worlds", or "nothing"
    fewest: int = FEWEST_RUNS  # runs of slow policies in each world; more than a few where worlds are looked at singly

    @property
    def unit(self) -> str:
        """What pairs are called: worlds if these are a sample, or runs."""
        return "worlds" if self.drawn else "runs"


@dataclass(frozen=True)
class Played:
    """The regret of every policy in a setting, with bounds and without."""

    setting: Setting
    informed: Scores
    plain: Scores

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies."""
        return tuple(self.informed)

    def at(self, label: str, rounds: int, bounds: bool = True) -> Floats:
        """Regret after so many rounds: worlds x runs."""
        scores = self.informed if bounds else self.plain
        found: Floats = scores[label][:, :, self.setting.rounds.index(rounds)]
        return found

    def units(self, label: str, rounds: int, bounds: bool = True) -> Floats:
        """What is compared in pairs: the mean of each world, or each run where worlds are no sample."""
        regret = self.at(label, rounds, bounds)
        units: Floats = regret.mean(axis=1) if self.setting.drawn else regret.ravel()
        return units

    def pair(self, first: tuple[str, bool], second: tuple[str, bool], rounds: int) -> tuple[Floats, Floats]:
        """Units of two policies, each with or without bounds, over the worlds and runs that both have played."""
        one, other = self._shared(first, second, rounds)
        return (one.mean(axis=1), other.mean(axis=1)) if self.setting.drawn else (one.ravel(), other.ravel())

    def _shared(self, first: tuple[str, bool], second: tuple[str, bool], rounds: int) -> tuple[Floats, Floats]:
        one, other = (self.at(label, rounds, bounds) for label, bounds in (first, second))
        worlds, runs = min(len(one), len(other)), min(one.shape[1], other.shape[1])
        return one[:worlds, :runs], other[:worlds, :runs]

    def worse(
        self, label: str, rounds: int, than: str | None = None, level: float = LEVEL
    ) -> dict[str, tuple[float, float]]:
        """Worlds in which bounds make a policy significantly worse, with its mean regret with and without them.

        `than` names the policy to compare with; the same one without bounds by default.
        """
        pairs = self._shared((label, True), (label, False) if than is None else (than, True), rounds)
        found = {}
        for world, one, other in zip(self.setting.worlds, *pairs, strict=False):
            if less(other, one, level):
                found[world.name] = (float(one.mean()), float(other.mean()))
        return found


def play(setting: Setting, policies: Mapping[str, mb.Policy], seed: int) -> Played:
    """Let every policy play in every world, twice unless its plan is the same with the bounds and without.

    Policies that start from a log are left out where there is none.
    """
    if any(world.log is None for world in setting.worlds):
        policies = {label: policy for label, policy in policies.items() if not starts_from_log(policy)}
    parts = []
    for number, world in _told(setting):
        some = {label: policy for label, policy in policies.items() if number < _worlds_of(policy, setting)}
        parts.append(_play_in(world, setting, some, _seed(seed, number)))
    informed, plain = (
        {label: np.stack([part[told][label] for part in parts if label in part[told]]) for label in policies}
        for told in (0, 1)
    )
    return Played(setting, informed, plain)


def _worlds_of(policy: mb.Policy, setting: Setting) -> int:
    """In how many of the worlds, the first ones, a policy plays."""
    size = len(setting.worlds)
    return share_of(policy, size, fewest=2) if setting.spare == "worlds" else size


def _told(setting: Setting) -> Iterable[tuple[int, World]]:
    """The worlds with their numbers; says on the way how far it has come."""
    size = len(setting.worlds)
    for number, world in enumerate(setting.worlds):
        if number % max(1, size // 10) == 0:
            print(f"{setting.name}: world {number + 1} of {size}", file=sys.stderr, flush=True)
        yield number, world


def _seed(seed: int, number: int) -> int:
    return int(np.random.default_rng([seed, number]).integers(2**32))


def _play_in(world: World, setting: Setting, policies: Mapping[str, mb.Policy], seed: int) -> tuple[Scores, Scores]:
    """Regret in one world with its bounds and without: for each policy, runs x checkpoints."""
    own = {label: _plainest(_with_log(policy, world), world) for label, policy in policies.items()}
    differ = {policy for policy in own.values() if not _same_plan(policy, world)}
    with_bounds = _simulate(set(own.values()), world, world.bounds, setting, seed)
    without = with_bounds | _simulate(differ, world, world.nothing, setting, seed)
    return ({label: with_bounds[policy] for label, policy in own.items()}), (
        {label: without[policy] for label, policy in own.items()}
    )


def _with_log(policy: mb.Policy, world: World) -> mb.Policy:
    """Hand the world's log to a policy that starts from one."""
    if not starts_from_log(policy):
        return policy
    change: dict[str, Any] = {"log": world.log}
    return dataclasses.replace(policy, **change)


def _plainest(policy: mb.Policy, world: World) -> mb.Policy:
    """With rewards of 0 and 1 the second moment changes nothing, and need not be played."""
    if isinstance(world.environment, mb.Bernoulli) and getattr(policy, "moments", 1) == 2:
        change: dict[str, Any] = {"moments": 1}
        return dataclasses.replace(policy, **change)
    return policy


def _same_plan(policy: mb.Policy, world: World) -> bool:
    one, other = policy.plan(world.bounds), policy.plan(world.nothing)
    return one.table.shape == other.table.shape and np.array_equal(one.table, other.table, equal_nan=True)


def _simulate(
    policies: Iterable[mb.Policy], world: World, bounds: mb.MeanBounds, setting: Setting, seed: int
) -> dict[mb.Policy, Floats]:
    """Regret of each policy; those that are slow play fewer runs, the first ones."""
    by_runs: dict[int, list[mb.Policy]] = {}
    for policy in policies:
        runs = share_of(policy, setting.runs, setting.fewest) if setting.spare == "runs" else setting.runs
        by_runs.setdefault(runs, []).append(policy)
    found: dict[mb.Policy, Floats] = {}
    for runs, some in by_runs.items():
        with expecting("is outside its bounds"):
            regret = mb.simulate(
                {repr(policy): policy for policy in some},
                world.environment,
                bounds,
                horizon=setting.rounds[-1],
                runs=runs,
                seed=seed,
                checkpoints=setting.rounds,
                progress=False,
            )
        found |= {policy: regret.curves[repr(policy)] for policy in some}
    return found


def scaled(setting: Setting, share: float) -> Setting:
    """A share of the worlds, or of the runs where worlds are no sample."""
    if setting.drawn:
        return dataclasses.replace(setting, worlds=setting.worlds[: max(2, math.ceil(share * len(setting.worlds)))])
    return dataclasses.replace(setting, runs=max(FEWEST_RUNS, math.ceil(share * setting.runs)))


def drawn(make: Callable[[int], World], size: int) -> list[World]:
    """The first worlds of a kind."""
    return [make(number) for number in range(size)]


def release_seed(version: str = mb.__version__) -> int:
    """The seed of a release: 10,302 for version 1.3.2, so that each release draws new worlds."""
    parts = [int("".join(c for c in part if c.isdigit()) or 0) for part in version.split(".")[:3]]
    major, minor, patch = [*parts, 0, 0, 0][:3]
    return 10_000 * major + 100 * minor + patch
