"""What each policy loses when the world changes and its bounds do not: `python -m benchmarks.changes`.

Bounds are right for 1,000 rounds. They are then taken to hold for ever, expire in time, are trusted less than fully, or
were never given.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

import meanbounds as mb
from benchmarks.contenders import share_of
from benchmarks.doubt import doubting
from benchmarks.pages import table
from benchmarks.played import release_seed

CHANGE = 1_000
ROUNDS = (1_000, 2_000, 6_000)
WORLD = mb.Changing([(0, mb.Bernoulli([0.9, 0.6, 0.5])), (CHANGE, mb.Bernoulli([0.4, 0.6, 0.8]))])
BOUNDS = mb.MeanBounds([0.85, 0.5, 0.4], [0.95, 0.7, 0.6])
KNOWN: Mapping[str, mb.Knowledge | None] = {
    "for ever": mb.Knowledge(BOUNDS),
    "expire in time": mb.Knowledge(BOUNDS, expires=CHANGE),
    "expire 1,000 rounds late": mb.Knowledge(BOUNDS, expires=2 * CHANGE),
    "trust 0.99": mb.Knowledge(BOUNDS, trust=0.99),
    "trust 0.9": mb.Knowledge(BOUNDS, trust=0.9),
    "none": None,
}


def lost(policy: mb.Policy, known: mb.Knowledge | None, runs: int, seed: int) -> str:
    """Mean regret after each of `ROUNDS`."""
    number = share_of(policy, runs, fewest=min(runs, 2))
    played = mb.simulate(
        {"policy": policy},
        WORLD,
        known,
        horizon=ROUNDS[-1],
        runs=number,
        seed=seed,
        checkpoints=ROUNDS,
        progress=False,
    )
    return " / ".join(f"{value:.0f}" for value in played.curves["policy"].mean(axis=0))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the mean regret of each policy, by what it takes its bounds to be."""
    parser = argparse.ArgumentParser(description="What policies lose when the world changes and their bounds do not.")
    parser.add_argument("--policies", nargs="*", help="labels of policies to play; all by default")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=release_seed(), help="of the rewards; by the release by default")
    given = parser.parse_args(arguments)
    chosen = {label: own for label, own in doubting().items() if given.policies is None or label in given.policies}
    rows = [
        [label, *(lost(policy, known, given.runs, given.seed) for known in KNOWN.values())]
        for label, policy in chosen.items()
    ]
    print(table([f"regret at {' / '.join(f'{t:,}' for t in ROUNDS)}", *KNOWN], rows))


if __name__ == "__main__":
    main()
