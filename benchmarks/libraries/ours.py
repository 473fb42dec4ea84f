"""`simulate`, with compiled loops (`compiled=True`) and without; `pull` and `update` of `Agent` and `LinearAgent`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import meanbounds as mb
from benchmarks.workloads import MEANS, Game, LinearArms, draws
from meanbounds.simulation.loops import loop_for
from meanbounds.simulation.players import Task

DISTRIBUTION, PINS = "meanbounds", ()

_LABELS = "UCB BUCB ImprovedUCB GLUE KLUCB BKLUCB BIMED ThompsonSampling OptimisticGittins IDS"
POLICIES: dict[str, Any] = {label: getattr(mb, label)() for label in _LABELS.split()}
LINEAR_POLICIES: dict[str, Any] = {
    "OFUL": mb.OFUL(),
    "R-OFUL, clip": mb.ROFUL(index="clip"),
    "R-OFUL, exact": mb.ROFUL(),
    "LinearThompson": mb.LinearThompson(),
}
_ROUNDS = {  # of simulations in numpy, at 5 and at 50 arms
    "ThompsonSampling": (1_000, 200),
    "OptimisticGittins": (1_000, 200),
    "IDS": (100, 50),
}
_RUNS = 200


def games() -> dict[str, Game]:
    """The workloads, and for each policy "loop GLUE P5", "numpy GLUE P5", "agent GLUE P5"; "tighten"."""
    found: dict[str, Game] = {}
    environment: Any
    for name, label in (("W1", "UCB"), ("W2", "KLUCB"), ("W3", "UCB")):
        environment = mb.Bernoulli(MEANS[name])
        found[name] = _simulated(POLICIES[label], environment, compiled=True)
        found[f"numpy {name}"] = _simulated(POLICIES[label], environment, rounds=2_000)
    for name in ("W4a", "W4b"):
        arms = LinearArms.of(name)
        environment = mb.simulation.Linear(arms.features, arms.theta, offered=arms.offered)
        found[f"numpy {name}"] = _simulated(mb.OFUL(), environment, rounds=500)
    for label, policy in POLICIES.items():
        for name, rounds in zip(("P5", "P50"), _ROUNDS.get(label, (2_000, 2_000)), strict=True):
            environment = mb.Bernoulli(MEANS[name])
            if has_loop(policy, environment):
                found[f"loop {label} {name}"] = _simulated(policy, environment, compiled=True)
            found[f"numpy {label} {name}"] = _simulated(policy, environment, rounds=rounds)
            found[f"agent {label} {name}"] = Game(partial(_pull, policy, MEANS[name]), 5_000)
    paper, offers = mb.simulation.paper_linear(1), _offers(2_000)
    features = LinearArms.of("W4a").features  # those of the paper's setting
    for label, policy in LINEAR_POLICIES.items():
        found[f"numpy {label}"] = _simulated(policy, paper.environment, paper.bounds, rounds=1_000)
        fresh = mb.LinearAgent(policy, paper.bounds, features, seed=1)
        found[f"agent {label}"] = Game(partial(_pull_linear, fresh, *offers), len(offers[0]))
    found["tighten"] = Game(lambda rounds: [mb.linear.tighten(features, paper.bounds) for _ in range(rounds)], 1)
    return found


def _simulated(policy: Any, environment: Any, bounds: Any = None, rounds: int = 10_000, compiled: bool = False) -> Game:
    def play(horizon: int) -> mb.Regret:
        more: dict[str, Any] = {"compiled": compiled, "workers": 1, "progress": False}
        return mb.simulate(policy, environment, bounds, horizon=horizon, runs=_RUNS, seed=1, **more)

    return Game(play, rounds, _RUNS)


def has_loop(policy: Any, environment: Any) -> bool:
    """Whether a compiled loop plays this policy where nothing is known."""
    known = mb.Knowledge(mb.MeanBounds.vacuous(len(environment)))
    return loop_for(Task("", policy, environment, known, 1, np.array([10]))) is not None


def _pull(policy: Any, means: Sequence[float], rounds: int) -> None:
    agent: Any = mb.Agent(policy, mb.MeanBounds.vacuous(len(means)), seed=1)
    for draw in draws(rounds):
        arm = agent.pull()
        agent.update(arm, 1.0 if draw < means[arm] else 0.0)


def _offers(rounds: int) -> Any:
    """Arms on offer in each round, and what every arm would pay."""
    environment, rng = mb.simulation.paper_linear(1).environment, np.random.default_rng(2)
    offers = rng.random((rounds, 100)).argpartition(10, axis=1)[:, :10]
    rewards = environment.reward(np.tile(np.arange(100), rounds), rng.random(100 * rounds))
    return offers.tolist(), rewards.reshape(rounds, 100).tolist()


def _pull_linear(fresh: mb.LinearAgent, offers: Any, rewards: Any, rounds: int) -> None:
    agent = copy.deepcopy(fresh)
    for offered, pays in zip(offers[:rounds], rewards, strict=False):
        arm = agent.pull(offered)
        agent.update(arm, pays[arm])
