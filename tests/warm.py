"""Compile the kernels that most tests need, on every core: `python -m tests.warm`, before the tests.

Each worker of pytest would compile what it meets first, most of it what the other one compiles at the same time, and
counting lines makes that a quarter slower. Here each kernel is compiled once and kept on disk. What is missing here is
compiled by the test that needs it: this changes when, and nothing else.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds import kernels
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.tables import State
from meanbounds.logs.confidence import METHODS
from meanbounds.policies import AnyPolicy
from meanbounds.simulation import Delay
from tests import naive, naive_doubt, naive_mixture, naive_prior
from tests.conftest import drop_stale_kernels

BOUNDS = mb.MeanBounds([0.3, 0.2], [0.8, 0.9])
PRIOR = mb.Prior(0.5, 8.0)
DOUBTED = mb.Knowledge(BOUNDS, trust=0.9)
EXPECTED = mb.Knowledge(BOUNDS, prior=PRIOR)
BOTH = mb.Knowledge(BOUNDS, prior=PRIOR, trust=0.9)
MIXED = mb.Knowledge(BOUNDS, prior=mb.Prior.mixture([PRIOR, mb.Prior(0.7, 8.0)], [0.5, 0.5]))
BOTH_MIXED = mb.Knowledge(BOUNDS, prior=MIXED.prior, trust=0.9)
WORLD = mb.Bernoulli([0.5, 0.6])

Step = tuple[Callable[[Any, mb.Knowledge], None], AnyPolicy, mb.Knowledge]


def compile_agent(policy: mb.Policy, known: mb.Knowledge) -> None:
    """What an agent calls."""
    agent = mb.Agent(policy, known, seed=1)
    for _ in range(3):
        agent.update(agent.pull(), 1.0)
    agent.probabilities()
    agent.decide()


def compile_loops(policy: mb.Policy, known: mb.Knowledge) -> None:
    """Simulations, fast and by the textbook, and one round of it."""
    plan, state = policy.plan(known), np.zeros((1, len(State._fields), 2))
    law, rounds = WORLD.rewards(BOUNDS.low, BOUNDS.high), np.array([3])
    block = Block(state, law, np.uint64(1), 0, policy.log_f(1, 3), 1, rounds, WORLD.gaps, np.empty((1, 1)))
    code = policy.code(plan)
    for play in (kernels.play, textbook.play):
        play(code, plan.table, policy.parameters_for(known), block)
    if code == policy.kernel:  # with a prior or doubts, no test asks for a round alone
        textbook.choose(code, plan.table, policy.parameters_for(known), state[0], 1.0, 3, np.uint64(1))


def compile_delays(policy: mb.Policy, known: mb.Knowledge) -> None:
    """Simulations with delayed rewards."""
    mb.simulate(policy, WORLD, known, horizon=3, runs=1, seed=1, delay=Delay(2), workers=1, progress=False)


def compile_linear() -> None:
    """Agents and simulations of arms with features; their policies share most, so one core compiles them all."""
    features = np.array([[1.0, 0.0], [0.0, 1.0]])
    world = mb.Linear(features, [0.5, 0.6], rewards="two-point")
    policies: list[AnyPolicy] = [mb.OFUL(), mb.ROFUL(), mb.LinearThompson()]
    for policy in policies:
        agent = mb.Agent(policy, mb.Knowledge(BOUNDS), seed=1, features=features)
        agent.update(agent.pull(), 1.0)
        agent.probabilities()
        mb.simulate(policy, world, BOUNDS, horizon=3, runs=1, seed=1, workers=1, progress=False)


def compile_logs() -> None:
    """Bounds from a log, each method, and the evaluation of another policy on it."""
    lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.8]]], [[0.8, 0.2]], arms=["a", "b"])
    for method in sorted(METHODS):
        mb.logs.bounds(lab.sample(500, seed=1), gap_low=0.5, gap_high=0.8, method=method)
    events = mb.logs.Events(arm=["a", "b"] * 50, reward=[0.0, 1.0] * 50, probability=[0.5] * 100)
    mb.logs.evaluate(events, least=0.5)


def jobs() -> list[Callable[[], None]]:
    """One policy of each kernel, those that take longest first, and neighbours that have little in common."""
    plain, doubting, informed, mixed_twins = (
        list({policy.kernel: policy for policy in reversed(policies)}.values())
        for policies in (list(naive.TWINS), naive_doubt.DOUBTING, list(naive_prior.TWINS), list(naive_mixture.TWINS))
    )
    certain = mb.Knowledge(BOUNDS)
    slow = [policy for policy in plain if isinstance(policy, (mb.IDS, mb.OptimisticGittins, mb.ThompsonSampling))]
    found: list[Step] = [(compile_agent, policy, certain) for policy in slow]
    found.append((compile_agent, mb.IDS(), DOUBTED))
    for step in (compile_agent, compile_loops, compile_delays):
        found += [(step, policy, certain) for policy in plain if (step, policy, certain) not in found]
        if step is not compile_delays:  # no test delays the rewards of all policies with doubted bounds
            found += [(step, policy, DOUBTED) for policy in doubting]
    found += [(compile_agent, policy, known) for policy in plain if policy.takes_prior for known in (EXPECTED, BOTH)]
    found += [(compile_loops, policy, EXPECTED) for policy in informed]
    found.append((compile_loops, mb.OptimisticGittins(), BOTH))
    mixed = [policy for policy in plain if policy.takes_mixture]
    found += [(compile_agent, policy, known) for policy in mixed for known in (MIXED, BOTH_MIXED)]
    found += [(compile_loops, policy, known) for policy in mixed_twins for known in (MIXED, BOTH_MIXED)]
    return [compile_linear, *(partial(step, policy, known) for step, policy, known in found), compile_logs]


def run(number: int) -> None:
    """Do one of the jobs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jobs()[number]()


def main() -> None:
    """Do all of them."""
    drop_stale_kernels()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, range(len(jobs()))))


if __name__ == "__main__":
    main()
