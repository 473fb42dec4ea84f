"""What a prior that is learned is worth: regret over 30 problems and more, with fresh means and fresh rewards.

Usage: python -m benchmarks.learning [tables ...] [--runs N]. The default is a look of some minutes; with 10,001 runs
the first table takes a quarter of an hour.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies import Policy
from meanbounds.policies.base import Cache, choose
from meanbounds.support.streams import Draws, stream, uniform
from meanbounds.support.types import Floats

_BLOCK = 500  # runs side by side
Means = Callable[[np.random.Generator, int], Floats]


class Problem(NamedTuple):
    """How means come about; the number of rounds; and the share of the runs that are played."""

    means: Means
    rounds: int = 500
    share: float = 1.0


class Way(NamedTuple):
    """A policy, and whether its prior is learned."""

    policy: Callable[[int], Policy]
    learned: bool


def beta(a: float, b: float, arms: int = 10) -> Means:
    """Means from a Beta distribution."""
    return lambda rng, runs: rng.beta(a, b, (runs, arms))


def between(low: float, high: float, arms: int = 10) -> Means:
    """Means that are uniform between two numbers."""
    return lambda rng, runs: low + (high - low) * rng.random((runs, arms))


def fixed(*means: float) -> Means:
    """The same means in each run."""
    return lambda rng, runs: np.tile(np.array(means), (runs, 1))


def mixed(share: float, first: Means, second: Means) -> Means:
    """Each mean comes from the first with this probability, else from the second."""

    def draw(rng: np.random.Generator, runs: int) -> Floats:
        one, other = first(rng, runs), second(rng, runs)
        return np.where(rng.random(one.shape) < share, one, other)

    return draw


TARGETS = {
    "uniform": (Problem(between(0.0, 1.0)), 14.7),
    "half range": (Problem(between(0.25, 0.75)), 25.0),
    "Beta(1, 8)": (Problem(beta(1, 8)), 22.5),
    "Beta(8, 1)": (Problem(beta(8, 1)), 9.0),
}
KNOWN = {
    "hard": Problem(fixed(0.5, *[0.48] * 9)),
    "Beta(1, 8), K 2": Problem(beta(1, 8, 2)),
    "uniform, K 2, T 100": Problem(between(0.0, 1.0, 2), 100),
    "uniform, K 50": Problem(between(0.0, 1.0, 50), 500, 0.2),
    "clusters .2 / .6": Problem(mixed(0.5, fixed(*[0.2] * 10), fixed(*[0.6] * 10))),
    "one .9, nine .1, T 100": Problem(fixed(0.9, *[0.1] * 9), 100),
    "four .9, one .3, T 100": Problem(fixed(*[0.9] * 4, 0.3), 100),
    "Beta(2, 50), T 5,000": Problem(beta(2, 50), 5_000, 0.1),
    "one .15, nine .05, T 5,000": Problem(fixed(0.15, *[0.05] * 9), 5_000, 0.1),
    "one .3, 49 x .05, T 5,000": Problem(fixed(0.3, *[0.05] * 49), 5_000, 0.02),
    ".02 against .025, T 10,000": Problem(fixed(0.025, 0.02), 10_000, 0.1),
    "Beta(8, 1), T 10,000": Problem(beta(8, 1), 10_000, 0.1),
}
OWN = {  # fixed before any was played
    "Beta(3, 97)": Problem(beta(3, 97)),
    "Beta(3, 97), K 4, T 2,000": Problem(beta(3, 97, 4), 2_000, 0.3),
    "Beta(1, 30), K 20, T 2,000": Problem(beta(1, 30, 20), 2_000, 0.15),
    "Beta(1, 3)": Problem(beta(1, 3)),
    "Beta(5, 5)": Problem(beta(5, 5)),
    "Beta(40, 60), K 6": Problem(beta(40, 60, 6)),
    "Beta(.3, .3)": Problem(beta(0.3, 0.3)),
    "Beta(30, 2), K 5, T 2,000": Problem(beta(30, 2, 5), 2_000, 0.3),
    "Beta(3, 1), K 3": Problem(beta(3, 1, 3)),
    "one .5, nine .45": Problem(fixed(0.5, *[0.45] * 9)),
    "one .04, four .02, T 3,000": Problem(fixed(0.04, *[0.02] * 4), 3_000, 0.2),
    "most 0.01, some uniform": Problem(mixed(0.8, fixed(*[0.01] * 10), between(0.0, 1.0))),
    "most 0.99, some uniform": Problem(mixed(0.8, fixed(*[0.99] * 10), between(0.0, 1.0))),
    "one .1 among nine .9": Problem(fixed(0.1, *[0.9] * 9)),
    "uniform, K 5, T 200": Problem(between(0.0, 1.0, 5), 200),
}
MANY = {**{name: problem for name, (problem, _) in TARGETS.items()}, **KNOWN, **OWN}

TODAY = "OptimisticGittins"
PLAIN = {
    TODAY: Way(lambda _: mb.OptimisticGittins(), False),
    "f=t+100": Way(lambda _: mb.OptimisticGittins(f="t + 100"), False),
}
LEARNED = {
    "learned": Way(lambda _: mb.OptimisticGittins(f="t + 100"), True),
    "learned, horizon": Way(lambda rounds: mb.OptimisticGittins(horizon=rounds), True),
    "Thompson": Way(lambda _: mb.ThompsonSampling(), False),
    "Thompson learned": Way(lambda _: mb.ThompsonSampling(), True),
}
SLOW = {"IDS": Way(lambda _: mb.IDS(), False), "IDS learned": Way(lambda _: mb.IDS(), True)}


def known_of(lower: Floats, upper: Floats, trust: float, learned: bool) -> Known:
    """What is known, with a row for each run."""
    low, high = np.zeros_like(lower), np.ones_like(lower)
    return Known.trusted(np.full_like(lower, trust), lower, upper, low, high, learned=np.full((len(lower), 1), learned))


def play(policy: Policy, means: Floats, known: Known, rounds: int, seed: int, grade: float = 0.0) -> Floats:
    """The regret of each run; with a grade, rewards are Beta distributed around the mean instead of 0 and 1."""
    rows, seen, cache, regret = np.arange(len(means)), Seen.empty(*means.shape), Cache(), np.zeros(len(means))
    keys, rewards, rounding = (stream(seed, rows, use) for use in ("policy", "rewards", "rounding"))
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        for t in range(rounds):
            arms = choose(policy, known, seen, np.full(len(rows), t + 1.0), Draws(keys, t), cache)
            mean = means[rows, arms]
            if grade:
                reward = rng.beta(np.maximum(mean * grade, 1e-9), np.maximum((1.0 - mean) * grade, 1e-9))
            else:  # the n-th reward of an arm is the same under every policy
                number = seen.plays[rows, arms].astype(np.int64) * means.shape[1] + arms
                reward = (uniform(rewards, number) < mean).astype(np.float64)
            seen.add(rows, arms, reward, uniform(rounding, np.full(len(rows), t)))
            regret += means.max(axis=1) - mean
    return regret


def compare(
    name: str, problem: Problem, ways: dict[str, Way], runs: int, seed: int, kind: str = "", grade: float = 0.0
) -> dict[str, float]:
    """Mean regret of each way, printed with its standard error and its ratio to the first way."""
    runs, rng, start = max(20, round(runs * problem.share)), np.random.default_rng([seed, *name.encode()]), time.time()
    means = problem.means(rng, runs)
    lower, upper, trust = bounds(kind, means, rng)
    found = {label: np.zeros(runs) for label in ways}
    for label, way in ways.items():
        policy = way.policy(problem.rounds)
        for part in (slice(n, n + _BLOCK) for n in range(0, runs, _BLOCK)):
            known = known_of(lower[part], upper[part], trust, way.learned)
            found[label][part] = play(policy, means[part], known, problem.rounds, seed + part.start, grade)
    first = next(iter(found.values())).mean()
    cells = [
        f"{label} {own.mean():.2f} ± {own.std() / runs**0.5:.2f} ({own.mean() / first:.2f})"
        for label, own in found.items()
    ]
    print(f"{name} {kind}, {runs} runs, {time.time() - start:.0f} s:", "; ".join(cells), flush=True)
    return {label: float(own.mean()) for label, own in found.items()}


def bounds(kind: str, means: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, float]:
    """No bounds; caps on half of the arms; bounds on both sides; the same, of which a tenth are wrong and doubted."""
    below, above, wrong = rng.random((3, *means.shape))
    if kind == "caps":
        capped = np.arange(means.shape[1]) % 2 == 0
        return np.zeros_like(means), np.where(capped, means + above * (1.0 - means), 1.0), 1.0
    lower, upper = np.maximum(0.0, means - 0.3 * below), np.minimum(1.0, means + 0.3 * above)
    if kind == "doubted":
        shift = np.where(wrong < 0.1, 0.3, 0.0)
        return np.minimum(0.9, lower + shift), np.minimum(1.0, upper + shift), 0.9
    return (lower, upper, 1.0) if kind == "both" else (np.zeros_like(means), np.ones_like(means), 1.0)


def summary(rows: list[dict[str, float]]) -> None:
    """Geometric means of the ratios to today's policy, and the worst where that loses more than 1."""
    for label in rows[0]:
        ratios = np.array([row[label] / row[TODAY] for row in rows if TODAY in row])
        worst = max((row[label] / row[TODAY] for row in rows if row[TODAY] > 1.0), default=np.nan)
        print(f"{label}: geometric mean {np.exp(np.log(ratios).mean()):.3f}, worst {worst:.2f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables that are named."""
    tables = ["target", "many", "bounds", "graded"]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("tables", nargs="*", choices=[[], *tables], help="default: all")
    parser.add_argument("--runs", type=int, default=200, help="of a problem with 500 rounds")
    parser.add_argument("--seed", type=int, default=2026)
    given = parser.parse_args(arguments)
    for table in given.tables or tables:
        print(f"{table}:")
        if table == "target":
            ways = {TODAY: PLAIN[TODAY], **{label: LEARNED[label] for label in ("learned", "learned, horizon")}}
            for name, (problem, most) in TARGETS.items():
                found = compare(name, problem, ways, given.runs, given.seed)["learned"]
                print(f"  at most {most}: {'yes' if found <= most else 'NO'}")
        elif table == "many":
            summary([compare(name, problem, PLAIN | LEARNED, given.runs, given.seed) for name, problem in MANY.items()])
        elif table == "bounds":
            ways, kinds = PLAIN | {"learned": LEARNED["learned"]}, ("caps", "both", "doubted")
            some = [(name, TARGETS[name][0], kind) for name in TARGETS for kind in kinds]
            summary([compare(name, own, ways, given.runs, given.seed, kind) for name, own, kind in some])
        else:
            two = {
                TODAY: Way(lambda _: mb.OptimisticGittins(moments=2), False),
                "learned": Way(lambda _: mb.OptimisticGittins(f="t + 100", moments=2), True),
            }
            four = {name: problem for name, (problem, _) in TARGETS.items()}.items()
            summary([compare(name, own, two, given.runs, given.seed, grade=4.0) for name, own in four])
            summary([compare(name, own, PLAIN | SLOW, max(20, given.runs // 10), given.seed) for name, own in four])


if __name__ == "__main__":
    main()
