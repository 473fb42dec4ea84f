"""What meanbounds is measured by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from unittest import mock

import meanbounds as mb
from benchmarks.contestants.base import Floats
from benchmarks.timing import Case
from benchmarks.workloads import HORIZON, RUNS, SEED, LinearWorkload, Setting
from meanbounds import kernels
from meanbounds.policies import AnyPolicy

POLICIES: Mapping[str, AnyPolicy] = {"UCB": mb.UCB(), "KL-UCB": mb.KLUCB()}

ALL_CORES = "meanbounds, all cores"
ONE_THREAD = "meanbounds, one thread"
EXACT = "R-OFUL, exact"
FAST_LOOP, PLAIN_LOOP = "fast loop", "plain loop"
LOOP_RUNS = 20
WORKERS: Mapping[str, int | None] = {ALL_CORES: None, ONE_THREAD: 1}


def simulate(
    policy: AnyPolicy,
    means: Floats,
    bounds: mb.MeanBounds | None = None,
    horizon: int = HORIZON,
    runs: int = RUNS,
    workers: int | None = None,
) -> mb.Regret:
    """Play on Bernoulli arms."""
    return _simulate(policy, mb.Bernoulli(means), bounds, horizon, runs, workers)


def _simulate(
    policy: AnyPolicy,
    environment: mb.Environment,
    bounds: mb.MeanBounds | None,
    horizon: int,
    runs: int,
    workers: int | None,
) -> mb.Regret:
    return mb.simulate(
        policy, environment, bounds, horizon=horizon, runs=runs, seed=SEED, workers=workers, progress=False
    )


def simulations(policy: AnyPolicy, means: Floats) -> list[Case]:
    """On all cores and on one thread."""
    environment = mb.Bernoulli(means)
    return [_simulation(label, policy, environment, None, RUNS, workers) for label, workers in WORKERS.items()]


def bounded(label: str, policy: AnyPolicy, setting: Setting) -> Case:
    """A policy that uses bounds; a slow one plays fewer runs at many arms."""
    slow = isinstance(policy, mb.IDS) and len(setting.means) > 10
    return _simulation(label, policy, mb.Bernoulli(setting.means), setting.bounds, RUNS // 10 if slow else RUNS, None)


def on_one_thread(label: str, policy: AnyPolicy, setting: Setting) -> Case:
    """The same on one thread, with the fewer runs the more arms there are: what a decision takes."""
    runs = max(1, RUNS // (2 * len(setting.means)))
    return _simulation(label, policy, mb.Bernoulli(setting.means), setting.bounds, runs, 1)


def linear_simulations(workload: LinearWorkload) -> list[Case]:
    """OFUL on all cores and on one thread."""
    return [
        _simulation(label, mb.OFUL(), workload.environment, None, RUNS, workers) for label, workers in WORKERS.items()
    ]


def linear_bounded(label: str, policy: AnyPolicy, workload: LinearWorkload) -> Case:
    """A linear policy that is given bounds, whether it uses them or not; slow ones play fewer runs."""
    slow = isinstance(policy, mb.LinearThompson) or (isinstance(policy, mb.ROFUL) and policy.index == "exact")
    return _simulation(label, policy, workload.environment, workload.bounds, RUNS // 10 if slow else RUNS, None)


def linear_decided(workload: LinearWorkload) -> list[Case]:
    """R-OFUL with exact indices on one thread: what a decision takes."""
    return [_simulation(EXACT, mb.ROFUL(), workload.environment, workload.bounds, RUNS // 10, 1)]


def linear_loops(workload: LinearWorkload) -> list[Case]:
    """OFUL with the fast loop, and with the plain one that makes the same decisions."""
    fast = _simulation(FAST_LOOP, mb.OFUL(), workload.environment, None, LOOP_RUNS, 1)

    def plain(horizon: int) -> object:
        with mock.patch.object(kernels, "play_linear", kernels.linear.play):
            return fast.play(horizon)

    return [fast, replace(fast, label=PLAIN_LOOP, play=plain)]


def _simulation(
    label: str,
    policy: AnyPolicy,
    environment: mb.Environment,
    bounds: mb.MeanBounds | None,
    runs: int,
    workers: int | None,
) -> Case:
    def play(horizon: int) -> mb.Regret:
        return _simulate(policy, environment, bounds, horizon, runs, workers)

    return Case(label, HORIZON, runs, play)


def call(policy: AnyPolicy, bounds: mb.MeanBounds, means: Floats, draws: Floats) -> mb.Agent:
    """Pull and update, a round for each uniform draw."""
    agent = mb.Agent(policy, bounds, seed=SEED)
    arms = dict(zip(bounds.arms, means, strict=True))
    for draw in draws:
        arm = agent.pull()
        agent.update(arm, 1.0 if draw < arms[arm] else 0.0)
    return agent
