"""Replay a finding, or run some of the fuzzer in this process.

python -m tests.fuzzing --seed 1 --call 4567     replay the episode up to this call
python -m tests.fuzzing --seed 1 --mutant 89     replay the episode up to this mutant
python -m tests.fuzzing --seed 1 --calls 20000 --mutants 2000
"""

from __future__ import annotations

import argparse
import sys

from tests.fuzzing.batches import in_words, run_here, run_in_children
from tests.fuzzing.episodes import LENGTH, PARTS, run_episode


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    for part in PARTS:
        parser.add_argument(f"--{part}", type=int, help=f"replay the episode up to this {part}")
        parser.add_argument(f"--{part}s", type=int, default=0, help=f"how many {part}s to run")
    parser.add_argument("--workers", type=int, default=1, help="child processes; 0 runs in this one")
    given = parser.parse_args()
    findings = []
    for part in PARTS:
        number, many = getattr(given, part), getattr(given, f"{part}s")
        if number is not None:
            episode, last = divmod(number, LENGTH[part])
            findings += run_episode(part, given.seed, episode, last=last, progress=print)
        elif many and given.workers:
            findings += run_in_children(part, given.seed, many, workers=given.workers, show=True)
        elif many:
            findings += run_here(part, given.seed, range(-(-many // LENGTH[part])))
    print(in_words(findings))
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
