"""Do the bounds of each assumption hold as often as promised, in worlds that attain them, and break where it is false?

``python -m benchmarks.coverage`` draws 2,000 worlds for each assumption. With a log of 2,000 rows each, all bounds
should hold at once in 80% of the worlds: it counts misses (refusals of the log too) and computes the chance of as many
or more if each miss had exactly probability 0.2. With an infinite log of worlds that violate the assumption by a factor
of two, it counts in how many the bounds break, or the log is refused.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

import meanbounds as mb
from benchmarks.attaining import WORLDS, contained
from meanbounds.support.tables import text_table

__all__ = ["broken", "missed"]

CONFIDENCE = 0.8
_METHODS = ("bernstein", "kl", "hoeffding", "betting")


def missed(name: str, method: str, worlds: int, rows: int, seed: int) -> int:
    """In how many worlds that attain the bounds some bound of a finite log does not hold."""
    rng = np.random.default_rng([seed, list(WORLDS).index(name)])
    count = 0
    for _ in range(worlds):
        world, assumption = WORLDS[name](rng, 1.0)
        try:
            found = mb.logs.bounds(world.counts(rows, rng), assumption, confidence=CONFIDENCE, method=method)
            count += not contained(found["all"], world)
        except mb.BoundsError:
            count += 1
    return count


def broken(name: str, worlds: int, seed: int) -> int:
    """In how many worlds that violate the assumption by a factor of two the bounds of an infinite log break."""
    rng = np.random.default_rng([seed, list(WORLDS).index(name)])
    count = 0
    for _ in range(worlds):
        world, assumption = WORLDS[name](rng, 2.0)
        try:
            count += not contained(mb.logs.bounds(world.infinite(), assumption, infinite=True)["all"], world, 1e-9)
        except mb.BoundsError:
            count += 1
    return count


def main() -> None:
    """Print a row for each assumption and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = []
    for name in WORLDS:
        wrong = broken(name, options.worlds, options.seed)
        for method in _METHODS:
            misses = missed(name, method, options.worlds, options.rows, options.seed)
            chance = float(stats.binom.sf(misses - 1, options.worlds, 1.0 - CONFIDENCE))
            table.append([name, method, str(misses), f"{chance:.3g}", f"{wrong / options.worlds:.1%}"])
    header = ["assumption", "method", f"misses of {options.worlds:,}", "chance of as many", "break if violated twice"]
    print(text_table(header, table, align="llrrr"))


if __name__ == "__main__":
    main()
