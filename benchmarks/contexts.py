"""What it is worth that contexts learn from each other: regret with ``pool=True`` as a share of that without.

Usage: ``python -m benchmarks.contexts [--worlds 10] [--decisions 20000]``. A world has 100 contexts, such as wards, 4
options, and something hidden that the experts see who wrote the log of 100 rows in each. Options differ in all contexts
alike, in each context by itself, and with what is hidden. Agents have no promise and no experts to ask.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.special import expit

import meanbounds as mb
from benchmarks.columns import EXPERTS, HIDDEN, Run, play
from benchmarks.promise import POLICIES
from meanbounds.support.types import Floats

CONTEXTS, ARMS, ROWS = 100, 4, 100
OWN = {"alike": 0.0, "somewhat": 0.3, "their own": 1.0}  # how much contexts differ, on the scale of log odds


def world(own: float, experts: str, decisions: int, rng: np.random.Generator) -> tuple[mb.logs.Counts, Any, Floats]:
    """The counts of a log, the contexts of coming cases, and the mean of each option in each of these."""
    alike, ideas = rng.normal(0.0, 0.5, ARMS), rng.normal(0.0, 0.15, (HIDDEN, ARMS))
    here, hidden = rng.normal(0.0, own, (CONTEXTS, 1, ARMS)), rng.normal(0.0, 0.8, (HIDDEN, ARMS))
    given = expit(alike + here + hidden + rng.normal(0.0, 0.5, (CONTEXTS, 1, 1)))
    kinds = rng.integers(HIDDEN, size=(CONTEXTS, ROWS))
    means = np.take_along_axis(given, kinds[..., None], axis=1)
    choices = (means + ideas[kinds] * (experts == "wrong ideas")).argmax(axis=2)
    random, usual = rng.integers(ARMS, size=kinds.shape), rng.integers(ARMS, size=(CONTEXTS, 1))
    some = rng.random(kinds.shape) < {"err in 20%": 0.2, "habit": 0.6}.get(experts, 0.0)
    choices = np.where(some, usual if experts == "habit" else random, choices)
    wins = rng.random(kinds.shape) < np.take_along_axis(means, choices[..., None], axis=2)[..., 0]
    chosen = choices[..., None] == np.arange(ARMS)
    count, total = chosen.sum(axis=1), (chosen & wins[..., None]).sum(axis=1)
    names = tuple(f"ward {n}" for n in range(CONTEXTS))
    counts = mb.logs.Counts(names, tuple(range(ARMS)), count, total, total)
    return counts, rng.integers(CONTEXTS, size=decisions), given.mean(axis=1)


def shares(own: float, experts: str, policy: Any, worlds: int, decisions: int) -> Floats:
    """The regret with pooling as a share of that without, in each world."""
    runs, chances, expected = list[Run](), [], []
    for seed in range(worlds):
        rng = np.random.default_rng([36, seed])
        counts, place, means = world(own, experts, decisions, rng)
        order = [int(str(name).split()[1]) for name in counts.contexts]
        given: dict[str, Any] = {"promise": None, "expert": False, "policy": policy, "seed": seed}
        for pool in (False, True):
            agent = mb.logs.agent(counts, include=range(ARMS), pool=pool, **given)
            runs.append(Run(agent, np.argsort(order)[place], seed))
        chances.append(means[place])
        expected.append(means[place].max(axis=1))
    chosen, _ = play(runs, policy, np.stack(chances, axis=1), np.ones(worlds, dtype=np.int64), 1)
    lost = [(expected[n // 2] - chances[n // 2][np.arange(decisions), arm]).sum() for n, arm in enumerate(chosen.T)]
    return np.array(lost[1::2]) / np.array(lost[::2])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=10)
    parser.add_argument("--decisions", type=int, default=20_000)
    options = parser.parse_args()
    for name in ("gittins", "thompson"):
        for how, own in OWN.items():
            for experts in EXPERTS:
                found = shares(own, experts, POLICIES[name], options.worlds, options.decisions)
                error = found.std(ddof=1) / len(found) ** 0.5
                print(
                    f"{name}, {how}, {experts}: {found.mean():.2f} ± {error:.2f}, worst {found.max():.2f}", flush=True
                )


if __name__ == "__main__":
    main()
