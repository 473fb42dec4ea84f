"""What each policy loses when the world changes and its bounds do not.

Bounds are right for 1,000 rounds, or all the time. They are taken to hold for ever, expire, are trusted less than fully
or less and less, or were never given. `python -m benchmarks.changes` plays every policy that uses bounds and writes
docs/changes.md; with `--policies` it prints the tables of some.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import meanbounds as mb
from benchmarks.contenders import share_of
from benchmarks.doubt import doubting
from benchmarks.pages import kept_part, paragraph, table, table_rows, today
from benchmarks.played import release_seed
from meanbounds.support.writing import write_text_atomically

PAGE = Path(__file__).parents[1] / "docs" / "changes.md"
CHANGE = 1_000
HALF_LIVES = (100_000, 5_000)
ROUNDS = (1_000, 2_000, 6_000)
BEFORE, AFTER = mb.Bernoulli([0.9, 0.6, 0.5]), mb.Bernoulli([0.4, 0.6, 0.8])
WORLDS: Mapping[str, mb.Environment] = {
    "The world changes": mb.Changing([(0, BEFORE), (CHANGE, AFTER)]),
    "It stays the same": BEFORE,
}
BOUNDS = mb.MeanBounds([0.85, 0.5, 0.4], [0.95, 0.7, 0.6])
KNOWN: Mapping[str, mb.Knowledge | None] = {
    "for ever": mb.Knowledge(BOUNDS),
    "expire in time": mb.Knowledge(BOUNDS, expires=CHANGE),
    "expire 1,000 rounds late": mb.Knowledge(BOUNDS, expires=2 * CHANGE),
    "trust 0.99": mb.Knowledge(BOUNDS, trust=0.99),
    "trust 0.9": mb.Knowledge(BOUNDS, trust=0.9),
    **{f"half-life {rounds:,}": mb.Knowledge(BOUNDS, half_life=rounds) for rounds in HALF_LIVES},
    "none": None,
}


def lost(policy: mb.Policy, world: mb.Environment, known: mb.Knowledge | None, runs: int, seed: int) -> str:
    """Mean regret after each of `ROUNDS`."""
    played = mb.simulate(
        {"policy": policy},
        world,
        known,
        horizon=ROUNDS[-1],
        runs=share_of(policy, runs, fewest=min(runs, 2)),
        seed=seed,
        checkpoints=ROUNDS,
        progress=False,
    )
    return " / ".join(f"{value:.0f}" for value in played.curves["policy"].mean(axis=0))


def row_of(label: str, policy: mb.Policy, world: mb.Environment, runs: int, seed: int) -> str:
    """What a policy loses, by what it takes its bounds to be."""
    return table_rows([[label, *(lost(policy, world, known, runs, seed) for known in KNOWN.values())]])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the mean regret of each policy, and write the page if all were played."""
    parser = argparse.ArgumentParser(description="What policies lose when the world changes and their bounds do not.")
    parser.add_argument("--policies", nargs="*", help="labels of policies to play; all by default")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument(
        "-o", "--output", type=Path, help="the page to write; docs/changes.md if all policies are played"
    )
    parser.add_argument("--kept", type=Path, help="folder of rows that were played before, and that are kept there")
    parser.add_argument("--seed", type=int, default=release_seed(), help="of the rewards; by the release by default")
    given = parser.parse_args(arguments)
    chosen = {label: own for label, own in doubting().items() if given.policies is None or label in given.policies}
    parts = []
    for number, (title, world) in enumerate(WORLDS.items()):
        lines = [table([f"regret at {' / '.join(f'{t:,}' for t in ROUNDS)}", *KNOWN], [])]
        for label, policy in chosen.items():
            print(title, label, file=sys.stderr, flush=True)
            row = functools.partial(row_of, label, policy, world, given.runs, given.seed)
            lines.append(kept_part(given.kept, f"{number}-{given.runs}-{given.seed}-{label}", row))
        parts.append("\n".join([f"## {title}", "", *lines]))
    some = "" if given.policies is None else f" --policies {' '.join(given.policies)}"
    about = f"""Three arms with the means {_listed(BEFORE)} and, in the first table, {_listed(AFTER)} after {CHANGE:,}
    rounds. The bounds {BOUNDS.lower.tolist()} to {BOUNDS.upper.tolist()} are right before the change and leave out all
    arms but the first. Mean regret of {given.runs} runs against the best arm of the moment, by what a policy takes its
    bounds to be; docs/trust.md says what that means. Written by
    `python -m benchmarks.changes --runs {given.runs}{some}` on {today()} with meanbounds {mb.__version__}, seed
    {given.seed}. Slow policies play fewer of the runs."""
    text = "\n\n".join(["# What bounds cost that have grown old", paragraph(about), *parts]) + "\n"
    print(text)
    output = given.output or (PAGE if given.policies is None else None)
    if output is not None:
        write_text_atomically(output, text)


def _listed(world: mb.Environment) -> str:
    return ", ".join(f"{mean:g}" for mean in world.means)


if __name__ == "__main__":
    main()
