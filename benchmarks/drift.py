"""What it costs and gains to follow means that move, beside other libraries' own policies for that.

Usage: python -m benchmarks.drift [--quick] [--alone] [--write docs/live.md]. Prints a table of regret as a ratio to the
same policy without `mb.evidence.Drift`, which is `mb.OptimisticGittins()`: five options, 10,000 rounds. `--alone`
leaves out the libraries.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import meanbounds as mb
from benchmarks.gain import write
from meanbounds.evidence import Drift
from meanbounds.simulation import Changing
from meanbounds.support.types import Floats

ARMS, ROUNDS, SEED = 5, 10_000, 20_261
OURS = {
    "restart and cap": Drift(),
    "restart": Drift(cap=None),
    "and half-life 2,000": Drift(half_life=2_000),
}
Make = Callable[[np.random.Generator], mb.simulation.Environment]


def stages(*means: Floats) -> mb.simulation.Environment:
    """Means that follow each other after equal times."""
    step = ROUNDS // len(means)
    return Changing([(1 + place * step, mb.Bernoulli(own)) for place, own in enumerate(means)])


def with_best(means: Floats, value: float) -> Floats:
    """The same with another mean in place of the largest."""
    found = means.copy()
    found[means.argmax()] = value
    return found


def rises(rng: np.random.Generator) -> mb.simulation.Environment:
    """Another option becomes better than the best."""
    means = rng.uniform(0.2, 0.6, ARMS)
    after = means.copy()
    after[means.argmin()] = means.max() + 0.2
    return stages(means, after)


def drops(low: float, high: float) -> Make:
    """The best option becomes worse than all others."""

    def make(rng: np.random.Generator) -> mb.simulation.Environment:
        means = rng.uniform(low, high, ARMS)
        return stages(means, with_best(means, 0.5 * means.min()))

    return make


def slow(rng: np.random.Generator) -> mb.simulation.Environment:
    """All means move along lines, from one draw to another."""
    first, last = rng.uniform(0.2, 0.8, (2, ARMS))
    return stages(*(first + share * (last - first) for share in np.linspace(0.0, 1.0, 50)))


WORLDS: dict[str, Make] = {
    "still": lambda rng: mb.Bernoulli(rng.uniform(0.0, 1.0, ARMS)),
    "still, rare": lambda rng: mb.Bernoulli(rng.uniform(0.0, 0.1, ARMS)),
    "best drops": drops(0.3, 0.7),
    "drops, rare": drops(0.02, 0.1),
    "another rises": rises,
    "slow drift": slow,
    "four resets": lambda rng: stages(*rng.uniform(0.0, 1.0, (5, ARMS))),
}


class River:
    """River's way: a statistic over a window."""

    def __init__(self, seed: int) -> None:
        bandit, utils, stats = (importlib.import_module(f"river.{name}") for name in ("bandit", "utils", "stats"))
        self.policy = bandit.UCB(delta=1, reward_obj=utils.Rolling(stats.Mean, window_size=1_000), seed=seed)

    def pull(self) -> int:
        return int(self.policy.pull(range(ARMS)))

    def update(self, arm: int, reward: float) -> None:
        self.policy.update(arm, reward)


def pymab(name: str, **given: Any) -> Callable[[int], Any]:
    """One of pymab's policies for means that move."""

    class Player:
        def __init__(self, seed: int) -> None:
            kind = getattr(importlib.import_module("pymab.policies"), name)
            self.policy, self.rng = kind(n_arms=ARMS, **given), np.random.default_rng(seed)

        def pull(self) -> int:
            return int(self.policy.select_action(rng=self.rng))

        def update(self, arm: int, reward: float) -> None:
            self.policy.update(action=arm, reward=reward)

    return Player


class Bayesian:
    """bayesianbandits: Thompson sampling with forgetting."""

    def __init__(self, seed: int) -> None:
        bb = importlib.import_module("bayesianbandits")
        learners = [bb.DirichletClassifier({0: 1.0, 1: 1.0}) for _ in range(ARMS)]
        arms = [bb.Arm(k, reward_function=lambda p: p[..., 1], learner=own) for k, own in enumerate(learners)]
        self.agent = bb.Agent(arms, bb.ThompsonSampling(), random_seed=seed)

    def pull(self) -> int:
        return int(self.agent.pull()[0])

    def update(self, arm: int, reward: float) -> None:
        self.agent.select_for_update(arm).update(np.array([int(reward)]))
        self.agent.decay(decay_rate=0.999)


OTHERS: dict[str, Callable[[int], Any]] = {
    "river, UCB, window 1,000": River,
    "pymab, Thompson, window 1,000": pymab("SlidingWindowBernoulliThompsonSamplingPolicy", window_size=1_000),
    "pymab, Thompson, discount .999": pymab("DiscountedBernoulliThompsonSamplingPolicy", discount_factor=0.999),
    "pymab, CUSUM-UCB": pymab("CUSUMUCBPolicy"),
    "pymab, Page-Hinkley-UCB": pymab("PageHinkleyUCBPolicy"),
    "bayesianbandits, decay .999": Bayesian,
}


def table(problems: int, runs: int, others: dict[str, Callable[[int], Any]], few: int) -> dict[str, list[float]]:
    """Regret of each player as a ratio to the policy that expects no change, for each kind of world."""
    found: dict[str, list[float]] = {name: [] for name in (*OURS, *others)}
    for place, make in enumerate(WORLDS.values()):
        sums = dict.fromkeys(("plain", *OURS, *others), 0.0)
        for number in range(problems):
            world = make(np.random.default_rng([SEED, place, number]))
            given: dict[str, Any] = {"horizon": ROUNDS, "seed": number, "checkpoints": 1, "progress": False}
            for name, drift in {"plain": None, **OURS}.items():
                played = mb.simulate({name: mb.OptimisticGittins()}, world, runs=runs, drift=drift, **given)
                sums[name] += played.final[name].mean()
            if others and number < few:
                played = mb.simulate(others, world, runs=1, workers=1, **given)
                for name in others:
                    sums[name] += played.final[name].mean() * problems / few
        for name, own in found.items():
            own.append(sums[name] / sums["plain"])
    return found


def main() -> None:
    """Print the table, and write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look")
    parser.add_argument("--alone", action="store_true", help="without other libraries")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    options = parser.parse_args()
    sizes = (3, 8, 1) if options.quick else (10, 32, 3)
    found = table(sizes[0], sizes[1], {} if options.alone else OTHERS, sizes[2])
    rows = [["", *WORLDS], ["---", *["---:"] * len(WORLDS)]]
    rows += [[name, *(f"{ratio:.2f}" for ratio in ratios)] for name, ratios in found.items()]
    for row in rows:
        print(*row, sep=" | ")
    if options.write:
        write(options.write, "drift: python -m benchmarks.drift --write docs/live.md", rows)


if __name__ == "__main__":
    main()
