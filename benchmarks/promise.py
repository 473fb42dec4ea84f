"""Measure the promise to experts in made-up worlds: how often it breaks, and what the guard costs and gains.

Usage: ``python -m benchmarks.promise [--worlds 200] [--rounds 5000] [--rows 1000 10000] [--write promise]``.
Worlds have five options and six kinds of hidden case; experts are of eight kinds.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import meanbounds as mb
from benchmarks.gain import DOCS, write
from meanbounds.known import Known, Seen
from meanbounds.policies.base import choose
from meanbounds.support.streams import Draws, stream, uniform
from meanbounds.support.types import Floats

WORLDS = {"hidden matters much": 1.0, "somewhat": 0.5, "little": 0.2}
EXPERTS = ("right", "err in 5%", "err in 20%", "wrong ideas", "know half", "prefer one", "favour the worst", "habit")
PROMISES: dict[str, mb.Promise | None] = {
    "none": None,
    "at-least-0.95": mb.Promise(at_least=0.95),
    "at-least-0.98": mb.Promise(at_least=0.98),
    "margin-0.01": mb.Promise(margin=0.01),
    "margin-0.005": mb.Promise(margin=0.005),
    "failures-14%": mb.Promise(failures=0.14),
    "failures-14%-total-30": mb.Promise(failures=0.14, total=30.0),
}
POLICIES = {
    "gittins": mb.OptimisticGittins(f="t + 1000"),
    "thompson": mb.ThompsonSampling(),
    "bimed": mb.BIMED(),
}
ARMS, HIDDEN, GAP = 5, 6, 0.03


@dataclass
class World:
    """Options, hidden kinds of case, and experts who see them."""

    means: Floats  # (hidden, arms)
    shares: Floats  # of each hidden kind
    choices: Floats  # (hidden, arms)

    @property
    def options(self) -> Floats:
        """The mean of each option."""
        return self.shares @ self.means

    @property
    def value(self) -> float:
        """What the experts earn."""
        return float(self.shares @ (self.choices * self.means).sum(axis=1))

    def log(self, rows: int, rng: np.random.Generator) -> mb.logs.Counts:
        """A log of the experts."""
        cells = rng.multinomial(rows, (self.shares[:, None] * self.choices).ravel()).reshape(self.means.shape)
        count, total = (part.sum(axis=0)[None].astype(float) for part in (cells, rng.binomial(cells, self.means)))
        return mb.logs.Counts((None,), tuple(range(ARMS)), count=count, total=total, squares=total)


def world(experts: str, matters: float, rng: np.random.Generator) -> World:
    """Draw a world with experts of this kind."""
    means = (1.0 - matters) * rng.uniform(0.2, 0.8, ARMS) + matters * rng.uniform(size=(HIDDEN, ARMS))
    shares, rows = rng.dirichlet(np.ones(HIDDEN)), np.arange(HIDDEN)
    idea, errors = means.copy(), {"err in 5%": 0.05, "err in 20%": 0.2}.get(experts, 0.0)
    if experts == "wrong ideas":
        idea += rng.normal(0.0, 0.15, means.shape)
    elif experts == "know half":
        for pair in rows.reshape(-1, 2):
            idea[pair] = shares[pair] @ means[pair]
    elif experts == "prefer one":
        idea[:, rng.integers(ARMS)] += 0.15
    choices = np.full(means.shape, errors / (ARMS - 1))
    choices[rows, idea.argmax(axis=1)] = 1.0 - errors
    if experts == "favour the worst":
        choices *= 0.4
        choices[:, (shares @ means).argmin()] += 0.6
    elif experts == "habit":
        choices *= 0.4
        choices[rows, rng.integers(ARMS, size=HIDDEN)] += 0.6
    return World(means, shares, choices)


def known(worlds: list[World], rows: int, policy: mb.policies.Policy, promise: Any, seed: int) -> tuple[Any, Known]:
    """The policy of an agent from a log of each world, and what these agents know, a row for each."""
    rng, knowledge, eligible = np.random.default_rng(seed), [], []
    for own in worlds:
        agent = mb.logs.agent(own.log(rows, rng), policy=policy, promise=promise, seed=0)
        knowledge.append(agent.knowledge())
        eligible.append([arm not in agent.forbidden() for arm in agent.arms])
    return agent.policy, Known.of(knowledge).among(np.array(eligible))


@dataclass
class Played:
    """What came of some runs: by run, the gain on the experts, the worst moment, the share of questions."""

    gain: Floats
    below: Floats  # the most by which the sum of means was below what was promised; 0 if it never was
    asked: Floats


def play(worlds: list[World], policy: Any, given: Known, promise: Any, rounds: int, seed: int) -> Played:
    """Play one run in each world; rewards are 0 or 1."""
    means = np.array([[*own.options, own.value] for own in worlds])
    value, rows = means[:, ARMS], np.arange(len(worlds))
    seen, cache, keys = Seen.empty(*means.shape), dict[str, Any](), stream(seed, rows, "policy")
    rewards, earned, below = stream(seed, rows, "rewards"), np.zeros(len(rows)), np.zeros(len(rows))
    low, high = np.zeros(len(rows)), np.ones(len(rows))
    for t in range(1, rounds + 1):
        arms = choose(policy, given, seen, np.array([float(t)]), Draws(keys, t - 1), cache)
        mean = means[rows, arms]
        earned += mean
        reward = (uniform(rewards, t) < mean).astype(np.float64)
        seen.add(rows, arms, reward, 0.0 * reward)
        if promise is not None:
            allowed = np.min(promise.budgets(value, np.full(len(rows), float(t)), low, high), axis=0)
            below = np.maximum(below, t * value - allowed - earned - 1e-9)
    return Played(earned - rounds * value, below, seen.plays[:, ARMS] / rounds)


def table(given: argparse.Namespace) -> list[list[str]]:
    """Play every promise after logs of every size."""
    rng = np.random.default_rng(given.seed)
    kinds = [(experts, matters) for experts in EXPERTS for matters in WORLDS.values()]
    worlds = [world(*kind, rng) for kind in kinds for _ in range(given.worlds)] * given.runs
    gap = np.array([own.options.max() - own.value for own in worlds])
    value, better, best = np.array([own.value for own in worlds]), gap >= GAP, gap <= 0.0
    rows = [["rows", "decisions", "promise", "broken", "gain", "asked", "loss", "asked"]]
    rows.append(["---:", "---:", "---", "---:", "---:", "---:", "---:", "---:"])
    print(f"{len(worlds):,} runs; an option is better in {better.sum():,}, none in {best.sum():,}", flush=True)
    for size in given.rows:
        for name in given.promises:
            start, promise = time.process_time(), PROMISES[name]
            policy, what = known(worlds, size, POLICIES[given.policy], promise, given.seed)
            found = play(worlds, policy, what, promise, given.rounds, given.seed)
            gain = found.gain[better].sum() / (given.rounds * gap[better].sum())
            loss = -found.gain[best].sum() / (given.rounds * value[best].sum())
            broken = "" if promise is None else f"{(found.below > 0.0).mean():.2%}"
            asked = f"{found.asked[better].mean():.0%}", f"{found.asked[best].mean():.0%}"
            cells = [f"{size:,}", f"{given.rounds:,}", name, broken, f"{gain:.0%}", asked[0], f"{loss:.2%}", asked[1]]
            rows.append(cells)
            print(*cells, f"({(time.process_time() - start) / 60.0:.1f} minutes)", flush=True)
    return rows


def main() -> None:
    """Print the table; write it into the page unless something was asked for that makes it another one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.promise", description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=200, help="of each of 24 kinds")
    parser.add_argument("--runs", type=int, default=1, help="logs and runs in each world")
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--policy", choices=POLICIES, default="gittins")
    parser.add_argument("--promises", nargs="+", choices=PROMISES, default=list(PROMISES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", metavar="NAME", help="write the table with this name into docs/promise.md")
    given = parser.parse_args()
    rows = table(given)
    if given.write:
        command = "python -m benchmarks.promise " + " ".join(sys.argv[1:])
        write(DOCS / "promise.md", f"{given.write}: {command}", rows)


if __name__ == "__main__":
    main()
